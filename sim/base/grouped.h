// Commas between the thousands of a number.
#pragma once

#include <algorithm>
#include <string>

namespace foretoken {

/// Puts commas between thousands: "-1536.25" becomes "-1,536.25".
[[nodiscard]] inline std::string grouped(std::string digits) {
  const std::size_t start = digits.starts_with('-') ? 1 : 0;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > start + 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

}  // namespace foretoken
