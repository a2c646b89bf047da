// Reads a number and multiplies it by the power that its letter names.
#include "sim/base/parse_count.h"

#include <cmath>

#include "sim/base/parse_number.h"

namespace foretoken {

std::optional<double> parse_count(std::string_view text, double thousand) {
  constexpr struct {
    std::string_view letter;
    int power;
  } kLetters[] = {{"", 0}, {"k", 1}, {"K", 1}, {"M", 2}, {"B", 3}, {"G", 3}, {"T", 4}};
  const std::optional<double> number = take_number<double>(text, 0);
  if (!number) return std::nullopt;
  for (const auto& [letter, power] : kLetters) {
    if (text != letter) continue;
    double value = *number;
    for (int i = 0; i < power; ++i) value *= thousand;
    // 2.3k is a whole number, though 2.3 is no sum of powers of two.
    const double whole = std::round(value);
    return std::abs(value - whole) <= 1e-12 * value ? whole : value;
  }
  return std::nullopt;
}

}  // namespace foretoken
