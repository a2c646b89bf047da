// A fixed hash, the same on every machine.
#pragma once

#include <cstdint>

namespace foretoken {

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): every bit of the result depends on every bit of `x`.
[[nodiscard]] constexpr std::uint64_t hash(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31U);
}

}  // namespace foretoken
