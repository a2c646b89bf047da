// Puts plans into a fixed, well-mixed order. Any beginning of a plan then covers all its kinds and sizes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibration/import/sample_json.h"

namespace foretoken::measure {

/// Hashes a text by FNV-1a with splitmix64's final mixing: the same on every machine.
[[nodiscard]] constexpr std::uint64_t mixed(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

/// Sorts by the hash of each sample's key and `salt`, drops repeated samples, and leaves the first `most`. A plan
/// joined from parts chosen in this way needs another salt: otherwise the chosen samples would all come first.
template <class T>
void spread(std::vector<T>& samples, std::size_t most, std::string_view salt = {}) {
  std::vector<std::pair<std::pair<std::uint64_t, std::string>, T>> keyed;
  keyed.reserve(samples.size());
  for (const T& sample : samples) {
    std::string key = measured::key_of(measured::Sample(sample));
    const std::uint64_t hash = mixed(key + std::string(salt));
    keyed.push_back({{hash, std::move(key)}, sample});
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  keyed.erase(std::unique(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first == b.first; }),
              keyed.end());
  samples.clear();
  for (std::size_t i = 0; i < keyed.size() && i < most; ++i) samples.push_back(std::move(keyed[i].second));
}

}  // namespace foretoken::measure
