// Writes both ends of a range with the unit and the decimals of its upper end.
#include "sim/report/text/range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "sim/report/text/number.h"

namespace foretoken::report {
namespace {

constexpr int kDigits = 3;

struct Scale {
  double size;
  std::string_view name;
};

constexpr Scale kWords[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}, {1, ""}};
constexpr Scale kLetters[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "k"}, {1, ""}};

// Returns the unit of an amount. `units` falls in size; the last one takes every smaller amount.
template <std::size_t N>
const Scale& unit_of(double value, const Scale (&units)[N]) {
  return *std::find_if(std::begin(units), std::end(units) - 1, [&](const Scale& each) { return value >= each.size; });
}

template <std::size_t N>
std::string range_in(Range range, const Scale (&units)[N]) {
  const Scale& unit = unit_of(range.high, units);
  return number_range({range.low / unit.size, range.high / unit.size}) + std::string(unit.name);
}

}  // namespace

std::optional<Range> range_of(const Metrics& m, double value) {
  if (!m.interval) return std::nullopt;
  return Range{value * (m.interval->low / m.step_time), value * (m.interval->high / m.step_time)};
}

std::optional<Range> range_of_rate(const Metrics& m, double value) {
  if (!m.interval) return std::nullopt;
  return Range{value * (m.step_time / m.interval->high), value * (m.step_time / m.interval->low)};
}

std::string in_words3(double amount) {
  const double digit = amount > 0 ? std::pow(10, std::floor(std::log10(amount)) - 2) : 1;
  const double rounded = std::round(amount / digit) * digit;
  const Scale& unit = unit_of(rounded, kWords);
  return unit.name.empty() ? in_words(rounded) : significant(rounded / unit.size, kDigits) + std::string(unit.name);
}

std::string number_range(Range range) {
  const std::string high = significant(range.high, kDigits);
  const std::size_t point = high.find('.');
  const int decimals = point == high.npos ? 0 : static_cast<int>(high.size() - point - 1);
  const std::string low =
      range.high < 1000 ? fmt::format("{:.{}f}", range.low, decimals) : significant(range.low, kDigits);
  return low + "-" + high;
}

std::string time_range(Range seconds) {
  static constexpr Scale kUnits[] = {{1, " s"}, {1e-3, " ms"}, {1e-6, " us"}};
  return range_in(seconds, kUnits);
}

std::string days_range(Range days) {
  static constexpr Scale kUnits[] = {{365.25, " years"}, {1, " days"}, {1.0 / 24, " hours"}, {1.0 / 1440, " minutes"}};
  return range_in(days, kUnits);
}

std::string letters_range(Range amount) { return range_in(amount, kLetters); }

std::string letters(double amount) {
  const Scale& unit = unit_of(amount, kLetters);
  return significant(amount / unit.size, kDigits) + std::string(unit.name);
}

std::string words_range(Range amount) { return range_in(amount, kWords); }

}  // namespace foretoken::report
