// Reads numbers with a unit letter behind them.
#include "tools/options/quantity.h"

#include <fmt/format.h>

#include <initializer_list>
#include <string_view>
#include <utility>

#include "sim/base/error.h"
#include "sim/base/parse_count.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::tools {
namespace {

// Returns the number times the factor of its letter: "2M" is 2e6. Returns 0 for any other text.
double scaled(const std::string& text, std::initializer_list<std::pair<std::string_view, double>> letters) {
  std::string_view letter = text;
  const std::optional<double> value = take_number<double>(letter, 0);
  for (const auto& [name, factor] : letters)
    if (value && name == letter) return *value * factor;
  return 0;
}

[[noreturn]] void refuse_quantity(const std::string& option, const std::string& text, const char* expected) {
  throw ConfigError({{option + " " + printable(text, 60), "", fmt::format("expected {}", expected)}});
}

}  // namespace

double parse_count(const std::string& option, const std::string& text) {
  const double value = foretoken::parse_count(text).value_or(0);
  if (value <= 0 || value > 1e18)
    refuse_quantity(option, text, "a number above 0, at most 1e18, for instance 300B, 2M or 1.5e12");
  return value;
}

double parse_seconds(const std::string& option, const std::string& text) {
  const double value = scaled(
      text, {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}});
  if (value <= 0 || value > 1e12)
    refuse_quantity(option, text, "a time with its unit, above 0, for instance 30ms, 90s, 10m, 36h, 30d or 6w");
  return value;
}

}  // namespace foretoken::tools
