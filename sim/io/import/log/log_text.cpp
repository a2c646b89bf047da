// Finds numbers and clocks in a line.
#include "sim/io/import/log/log_text.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

#include "sim/base/parse_number.h"

namespace foretoken::io::log {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Takes a number with commas between thousands: "10,050.5".
std::optional<double> take_grouped(std::string_view& text) {
  constexpr std::size_t kLongest = 40;
  std::string digits;
  std::size_t at = 0;
  for (; at < text.size() && at < kLongest; ++at) {
    const char c = text[at];
    const bool group = c == ',' && at > 0 && at + 3 < text.size() && is_digit(text[at + 1]) && is_digit(text[at + 2]) &&
                       is_digit(text[at + 3]);
    if (group) continue;
    if (!is_digit(c) && c != '.' && c != '-' && c != 'e' && c != 'E' && c != '+') break;
    digits += c;
  }
  std::string_view rest = digits;
  const std::optional<double> value = take_number<double>(rest);
  if (value) text.remove_prefix(at - std::min(at, rest.size()));
  return value;
}

std::optional<double> factor_of(char letter) {
  constexpr std::string_view kLetters = "KMBGT";
  constexpr std::array kFactors{1e3, 1e6, 1e9, 1e9, 1e12};
  const std::size_t at = kLetters.find(letter);
  return at == kLetters.npos ? std::nullopt : std::optional(kFactors[at]);
}

// Days since 1970-01-01 of a civil date (Howard Hinnant, "chrono-compatible low-level date algorithms").
std::int64_t days_of(std::int64_t year, int month, int day) {
  year -= month <= 2 ? 1 : 0;
  const std::int64_t era = year / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

// Reads `text` against a form in which 'd' is a digit; any other character stands for itself.
bool is_like(std::string_view text, std::string_view form) {
  if (text.size() < form.size()) return false;
  for (std::size_t at = 0; at < form.size(); ++at)
    if (form[at] == 'd' ? !is_digit(text[at]) : text[at] != form[at]) return false;
  return true;
}

int whole_at(std::string_view text, std::size_t from, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(from, count)) value = 10 * value + (c - '0');
  return value;
}

double time_at(std::string_view text, std::size_t from) {
  double seconds = 3600.0 * whole_at(text, from, 2) + 60.0 * whole_at(text, from + 3, 2) + whole_at(text, from + 6, 2);
  std::size_t at = from + 8;
  if (at + 1 < text.size() && (text[at] == '.' || text[at] == ',')) {
    double part = 0.1;
    for (++at; at < text.size() && is_digit(text[at]) && part > 1e-7; ++at, part /= 10)
      seconds += part * (text[at] - '0');
  }
  return seconds;
}

}  // namespace

std::optional<std::string_view> after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  const std::size_t start = rest.find_first_not_of(" \t:=");
  rest.remove_prefix(start == rest.npos ? rest.size() : start);
  return rest;
}

std::optional<double> number_after(std::string_view line, std::string_view key) {
  std::optional<std::string_view> rest = after(line, key);
  if (!rest) return std::nullopt;
  const std::optional<double> value = take_grouped(*rest);
  if (!value || rest->empty()) return value;
  const std::optional<double> factor = factor_of(rest->front());
  return factor && std::isfinite(*value * *factor) ? *value * *factor : *value;
}

std::optional<double> positive_after(std::string_view line, std::string_view key) {
  const std::optional<double> value = number_after(line, key);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> ungrouped_after(std::string_view line, std::string_view key) {
  constexpr std::size_t kLongest = 40;
  const std::optional<std::string_view> rest = after(line, key);
  if (!rest) return std::nullopt;
  std::string text(rest->substr(0, kLongest));
  if (const std::size_t comma = text.find_first_not_of("0123456789"); comma < text.size() && text[comma] == ',') {
    const std::size_t end = text.find_first_not_of("0123456789", comma + 1);
    if (end < text.size() && text[end] == '.') return positive_after(line, key);  // thousands: "1,037.5"
    text[comma] = '.';
  }
  std::string_view number = text;
  const std::optional<double> value = take_number<double>(number);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<double> clock_in(std::string_view line) {
  constexpr std::string_view kIso = "dddd-dd-dd dd:dd:dd", kIsoT = "dddd-dd-ddTdd:dd:dd", kUs = "dd/dd/dddd dd:dd:dd";
  constexpr std::size_t kFront = 80;
  for (std::size_t at = 0; at < std::min(line.size(), kFront); ++at) {
    if (!is_digit(line[at])) continue;
    const std::string_view text = line.substr(at);
    if (is_like(text, kIso) || is_like(text, kIsoT))
      return 86400.0 * static_cast<double>(days_of(whole_at(text, 0, 4), whole_at(text, 5, 2), whole_at(text, 8, 2))) +
             time_at(text, 11);
    if (is_like(text, kUs))
      return 86400.0 * static_cast<double>(days_of(whole_at(text, 6, 4), whole_at(text, 0, 2), whole_at(text, 3, 2))) +
             time_at(text, 11);
  }
  return std::nullopt;
}

}  // namespace foretoken::io::log
