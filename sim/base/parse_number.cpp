// Rounds to decimal digits by writing the number and reading it again.
#include "sim/base/parse_number.h"

#include <array>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken {

double round_to_digits(double value, int digits) {
  expects(digits >= 1 && digits <= std::numeric_limits<double>::max_digits10, "a number has 1 to 17 digits");
  if (!std::isfinite(value)) return value;
  std::array<char, 32> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific, digits - 1);
  expects(error == std::errc{}, "17 digits and an exponent fit 32 characters");
  std::from_chars(text.data(), end, value);
  return value;
}

}  // namespace foretoken
