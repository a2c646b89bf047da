// Splits the lines of comma-separated tables.
#include "calibration/import/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <stdexcept>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"

namespace foretoken::measured {
namespace {

constexpr std::size_t kTwice = static_cast<std::size_t>(-1);  // place of a name that two columns have
constexpr std::int64_t kLargestDimension = std::int64_t{1} << 31;

/// A column that no row has, or that every row has twice.
struct WrongColumn : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

std::string_view take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

Columns columns_of(std::string_view line) {
  Columns columns;
  const std::vector<std::string> names = split_csv(line);
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::string name = names[i];
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    const auto [place, is_new] = columns.emplace(std::move(name), i);
    if (!is_new) place->second = kTwice;
  }
  return columns;
}

}  // namespace

std::vector<std::string> split_csv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      fields.emplace_back();
    else if (c != '\r')
      fields.back() += c;
  }
  for (std::string& field : fields) {
    field.erase(0, field.find_first_not_of(" \t"));
    field.erase(field.find_last_not_of(" \t") + 1);
  }
  return fields;
}

const std::string& CsvRow::text(const std::string& column) const {
  const auto found = columns_->find(column);
  if (found == columns_->end()) throw WrongColumn(fmt::format("no column {}", column));
  if (found->second == kTwice) throw WrongColumn(fmt::format("column {} stands twice; keep one", column));
  if (found->second >= fields_.size())
    throw std::invalid_argument(fmt::format("{}: missing, the row has {} fields", column, fields_.size()));
  return fields_[found->second];
}

std::optional<std::string> CsvRow::find(std::initializer_list<const char*> names) const {
  for (const char* name : names)
    if (has(name)) return text(name);
  return std::nullopt;
}

double CsvRow::number(const std::string& column) const {
  const std::string& field = text(column);
  if (const auto value = parse_positive(field)) return *value;
  throw std::invalid_argument(fmt::format("{}: expected a number above 0, found {}", column, in_quotes(field)));
}

std::int64_t CsvRow::dimension(const std::string& column) const {
  const double value = number(column);
  if (value != std::floor(value) || value > static_cast<double>(kLargestDimension))
    throw std::invalid_argument(fmt::format("{}: expected a whole number, found {}", column, in_quotes(text(column))));
  return static_cast<std::int64_t>(value);
}

bool CsvRow::passes(const RowChoice& choice) const {
  return std::all_of(choice.where.begin(), choice.where.end(), [&](const ColumnTest& test) {
    const std::string& field = text(test.column);
    if (!test.one_of.empty()) return std::find(test.one_of.begin(), test.one_of.end(), field) != test.one_of.end();
    const auto value = parse_number<double>(field);
    return value && *value >= test.least.value_or(*value) && *value <= test.most.value_or(*value);
  });
}

void read_csv(std::string_view text, const std::string& file, const std::function<void(const Columns&)>& header,
              const std::function<void(const CsvRow&)>& row) {
  Complaints complaints;
  std::optional<Columns> columns;
  std::size_t rows = 0, header_line = 0;
  const auto complain = [&](std::size_t line, const std::invalid_argument& error) {
    complaints.push_back({fmt::format("{}:{}", file, line), "", error.what()});
  };
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = take_line(text);
    if (line.empty() || line == "\r" || line.front() == '#') continue;
    const bool first = !columns;
    try {
      if (first) {
        header_line = number;
        columns = columns_of(line);
        header(*columns);
      } else {
        ++rows;
        row(CsvRow(*columns, line));
      }
    } catch (const WrongColumn& error) {
      complain(header_line, error);
      break;  // every row would say the same
    } catch (const std::invalid_argument& error) {
      complain(number, error);
      if (first) break;
    }
  }
  if (rows == 0 && complaints.empty()) complaints.push_back({file, "", "no rows"});
  if (!complaints.empty()) throw ConfigError(complaints.listed());
}

}  // namespace foretoken::measured
