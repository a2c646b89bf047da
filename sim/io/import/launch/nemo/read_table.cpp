// Splits a CSV file into columns by name. Numbers are written as 8.0; an empty field states nothing.
//
// Layout: NVIDIA/NeMo, scripts/performance/recommended_model_configs; other tables lack dp_size or the last columns.
#include "sim/io/import/launch/nemo/read_table.h"

#include <fmt/format.h>

#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/nemo/recommended_run.h"

namespace foretoken::io::launch::nemo {
namespace {

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace

bool is_run_table(std::string_view text) {
  const std::string_view header = text.substr(0, text.find('\n'));
  for (const std::string_view column : {"model", "num_gpus", "tp_size", "mbs", "gbs"})
    if (header.find(column) == header.npos) return false;
  return true;
}

void read_run_table(std::string_view text, const std::string& row, Report& report) {
  report.framework = "NeMo";
  const std::vector<std::string_view> lines = lines_in(text);
  const std::int64_t line = row.empty() && lines.size() == 2 ? 2 : whole_of(row).value_or(0);
  if (line < 2 || std::cmp_greater(line, lines.size()))
    return report.ask("row",
                      fmt::format("the table has a run on each line; choose one with --row 2 to {}", lines.size()));
  const auto names = fields_of(lines.front());
  auto values = fields_of(lines[static_cast<std::size_t>(line) - 1]);
  if (values.size() > names.size())
    return report.refuse("row", fmt::format("line {} has {} fields for {} columns", line, values.size(), names.size()));
  if (values.size() < names.size())
    report.approximate("row",
                       fmt::format("line {} lacks its last {} of {} fields, which pandas.read_csv takes as empty", line,
                                   names.size() - values.size(), names.size()));
  values.resize(names.size());
  Json columns = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) columns[printable(names[i], 60)] = printable(values[i], 120);
  const Settings settings(columns, report);
  const auto text_in = [&](const char* name) { return settings.text({name}).value_or(""); };
  map_recommended_run(settings,
                      {.model = text_in("model") + "_" + text_in("size"),
                       .task = text_in("task"),
                       .dtype = text_in("dtype"),
                       .fp8_recipe = "delayed"},  // --fp8_recipe ds, scripts/performance/argument_parser.py
                      report);
  report.gpu_of_launch = settings.text({"system", "gpu"}).value_or("");
  settings.sort_rest({});
}

}  // namespace foretoken::io::launch::nemo
