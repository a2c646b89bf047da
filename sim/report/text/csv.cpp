// Quotes fields of CSV, and marks text that a spreadsheet would take for a formula.
#include "sim/report/text/csv.h"

#include <algorithm>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::report {
namespace {

// OWASP, "CSV Injection": what starts with one of these is a formula to a spreadsheet.
bool is_formula(std::string_view text) {
  constexpr std::string_view kStarts = "=+-@";
  return !text.empty() && kStarts.find(text.front()) != kStarts.npos && !parse_number<double>(text);
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field;
  if (is_formula(text)) field = '\'';
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    field += printable(rest.substr(0, end), kAnyLength);
    if (end < rest.size()) field += '\n';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (field.find_first_of(",;\"\n") == field.npos) return field;
  std::string quoted = "\"";
  for (const char c : field) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace foretoken::report
