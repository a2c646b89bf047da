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
  for (std::size_t at = 0; at < text.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = at; i < text.size() && i < at + 8; ++i)
      word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i - at));
    digest = hash(digest ^ word);
  }
  return digest;
}

}  // namespace foretoken
