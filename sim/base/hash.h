// A fixed hash, the same on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace foretoken {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of the result depends on every bit of `x`.
[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

/// The bytes of `text` in their order, eight at a time, on from `before`. Finds changes; no secret is kept by it.
[[nodiscard]] constexpr std::uint64_t hash(std::string_view text, std::uint64_t before = 0) {
  std::uint64_t digest = hash(before ^ text.size());
  const auto word = [&](std::size_t at, std::size_t bytes) {
    std::uint64_t little_endian = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      little_endian |= std::uint64_t{static_cast<unsigned char>(text[at + i])} << (8 * i);
    return little_endian;
  };
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) digest = hash(digest ^ word(at, 8));
  if (at < text.size()) digest = hash(digest ^ word(at, text.size() - at));
  return digest;
}

}  // namespace foretoken
