// Nouns by their count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

/// GPU for one, GPUs for others; `many` where it is not `one` and an s.
[[nodiscard]] inline std::string noun(double count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + 's' : std::string(many);
}

/// 1 GPU, 1536 GPUs: in complaints and names, with the digits that users type. All other text for people takes
/// report::counted, which sets thousands apart.
[[nodiscard]] inline std::string with_noun(std::int64_t count, std::string_view one, std::string_view many = {}) {
  return std::to_string(count) + ' ' + noun(static_cast<double>(count), one, many);
}

}  // namespace foretoken
