// Flattens objects of JSON into columns.
#include "tools/text/json_csv.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/report/text/csv.h"

namespace foretoken::tools {
namespace {

using Json = nlohmann::ordered_json;
using CsvCells = std::vector<std::pair<std::string, std::string>>;  // column, field

std::string field_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return report::csv_field(value.get_ref<const std::string&>());
  return value.dump();
}

bool is_interval(const Json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
}

void add_cells(const std::string& column, const Json& value, CsvCells& cells) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) add_cells(column.empty() ? key : column + '.' + key, member, cells);
  } else if (is_interval(value)) {
    cells.emplace_back(column + ".low", field_of(value[0]));
    cells.emplace_back(column + ".high", field_of(value[1]));
  } else if (!value.is_array()) {
    cells.emplace_back(column, field_of(value));
  }
}

// Drops columns such as "result" that are empty in one row and an object in another.
void drop_empty_parents(std::vector<std::string>& columns) {
  std::erase_if(columns, [&](const std::string& parent) {
    return std::ranges::any_of(columns, [&](const std::string& column) { return column.starts_with(parent + '.'); });
  });
}

}  // namespace

std::string csv_of(const nlohmann::ordered_json& rows) {
  std::vector<CsvCells> lines;
  std::vector<std::string> columns;
  for (const Json& row : rows) {
    add_cells("", row, lines.emplace_back());
    for (const auto& [column, field] : lines.back())
      if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
  }
  drop_empty_parents(columns);
  std::string text;
  const auto add = [&](auto field) {
    for (std::size_t c = 0; c < columns.size(); ++c) text += (c > 0 ? "," : "") + field(columns[c]);
    text += '\n';
  };
  add([](const std::string& column) { return report::csv_field(column); });
  for (const CsvCells& line : lines)
    add([&](const std::string& column) {
      const auto cell = std::ranges::find(line, column, &CsvCells::value_type::first);
      return cell == line.end() ? std::string() : cell->second;
    });
  return text;
}

}  // namespace foretoken::tools
