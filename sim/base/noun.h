// Writes counted nouns: 1 GPU, 2 GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace foretoken {

/// Returns "GPU" for 1 and "GPUs" for any other count. Give `many` where the plural is not `one` plus s.
[[nodiscard]] inline std::string noun(double count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return std::string(one);
  return many.empty() ? std::string(one) + 's' : std::string(many);
}

/// Returns "1536 GPUs", for complaints and names: digits stand as users type them. Other text uses report::counted,
/// which writes "1,536 GPUs".
[[nodiscard]] inline std::string with_noun(std::int64_t count, std::string_view one, std::string_view many = {}) {
  return std::to_string(count) + ' ' + noun(static_cast<double>(count), one, many);
}

}  // namespace foretoken
