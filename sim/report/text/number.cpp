// Chooses the digits and the unit of a number.
#include "sim/report/text/number.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/grouped.h"
#include "sim/base/noun.h"
#include "sim/base/parse_number.h"

namespace foretoken::report {
namespace {

struct Unit {
  double size;
  const char* name;
};

// Returns the largest unit that is no larger than the value. `units` falls in size.
template <std::size_t N>
std::string with_unit(double value, const Unit (&units)[N], int digits) {
  const Unit* unit = std::find_if(std::begin(units), std::end(units) - 1,
                                  [&](const Unit& u) { return std::abs(value) >= u.size * 0.99999; });
  return significant(value / unit->size, digits) + " " + unit->name;
}

}  // namespace

std::string chance(double part) {
  if (part > 0.99) return "> 99 %";
  if (part < 0.01) return "< 1 %";
  return fmt::format("{:.0f} %", 100 * part);
}

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{:g}", value);
  const std::string rounded = fmt::format("{:.{}e}", value, digits - 1);  // rounding comes first: 9.9996 becomes 10.00
  std::string_view power = std::string_view(rounded).substr(rounded.find('e') + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  const int exponent = parse_number<int>(power).value_or(0);
  constexpr int kMostZeros = 15;  // more of them cannot be read
  if (std::abs(exponent) > kMostZeros) return fmt::format("{:.{}g}", value, digits);
  return grouped(fmt::format("{:.{}f}", *parse_number<double>(rounded), std::max(0, digits - 1 - exponent)));
}

std::string plain(double value, int digits) {
  std::string text = significant(value, digits);
  if (text.find('.') == std::string::npos) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string whole(double value) { return grouped(fmt::format("{:.0f}", value)); }

std::string counted(double count, std::string_view one, std::string_view many) {
  return whole(count) + ' ' + noun(count, one, many);
}

std::string in_words(double value) {
  static constexpr Unit kUnits[] = {{1e12, " trillion"}, {1e9, " billion"}, {1e6, " million"}};
  for (const Unit& unit : kUnits)
    if (std::abs(value) >= unit.size) return plain(value / unit.size) + unit.name;
  return plain(value, 6);
}

std::string time_text(Seconds time) {
  static constexpr Unit kUnits[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
  return time.value() == 0 ? "0 s" : with_unit(time.value(), kUnits, 4);
}

std::string days_text(double days) {
  static constexpr Unit kUnits[] = {{365.25, "years"}, {1, "days"}, {1.0 / 24, "hours"}, {1.0 / 1440, "minutes"}};
  return days == 0 ? "0 days" : with_unit(days, kUnits, 3);
}

std::string binary_bytes(Bytes bytes) {
  static constexpr Unit kUnits[] = {
      {kGiB * 1024, "TiB"}, {kGiB, "GiB"}, {kGiB / 1024, "MiB"}, {1024, "KiB"}, {1, "bytes"}};
  return bytes.value() == 0 ? "0 GiB" : with_unit(bytes.value(), kUnits, 3);
}

std::string decimal_bytes(Bytes bytes) {
  static constexpr Unit kUnits[] = {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}};
  return bytes.value() == 0 ? "0 GB" : with_unit(bytes.value(), kUnits, 3);
}

std::string gib(Bytes bytes) { return grouped(fmt::format("{:.1f}", bytes.value() / kGiB)); }

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

}  // namespace foretoken::report
