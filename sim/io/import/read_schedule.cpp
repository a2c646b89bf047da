// Reads schedules of PyTorch, and keeps scenarios with such a file independent of their folder.
#include "sim/io/import/read_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/parse_json.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;
using schedule::CsvFault;
using schedule::ImportedSchedule;

std::optional<std::string> text_of_file(const fs::path& path, const std::string& file, Findings& findings) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    findings.complaints.push_back({file, "", "expected a CSV file of a schedule, found a directory or device"});
    return std::nullopt;
  }
  return read_text_file(path, file, findings);
}

std::optional<ImportedSchedule> read_file(const Node& node) {
  const Node reference = node.child("file");
  if (!reference.is_text()) {
    reference.expected("the path of a CSV file");
    return std::nullopt;
  }
  const fs::path path = node.source().folder / path_of_text(reference.as_reference());
  if (path.string().find('\0') != std::string::npos) {
    reference.complain(in_quotes(path.string()) + " is no file name");
    return std::nullopt;
  }
  const std::string shown = printable(path.string());
  const std::optional<std::string> text = text_of_file(path, shown, node.findings());
  return text ? read_schedule_text(*text, shown, node.findings()) : std::nullopt;
}

std::optional<ImportedSchedule> read_rows(const Node& node) {
  std::vector<std::string> rows;
  const std::size_t before = node.findings().complaints.size();
  for (const Node& row : node.array("rows")) {
    rows.push_back(row.is_text() ? row.as_reference() : std::string());
    if (!row.is_text()) row.expected("the actions of one rank, like \"0F0,0B0\"");
    if (rows.back().find('\n') != std::string::npos)
      row.complain("expected one row, found several lines; try an array");
  }
  if (node.findings().complaints.size() > before) return std::nullopt;
  auto read = schedule::read_csv(fmt::format("{}", fmt::join(rows, "\n")));
  if (ImportedSchedule* const imported = std::get_if<ImportedSchedule>(&read)) return std::move(*imported);
  const CsvFault& fault = *std::get_if<CsvFault>(&read);
  const std::string place = rows.empty() ? std::string() : fmt::format("/{}", fault.row - 1);
  node.findings().complaints.push_back({node.source().file, node.pointer() + "/rows" + place,
                                        fmt::format("column {}: {}", fault.column, fault.message)});
  return std::nullopt;
}

}  // namespace

std::optional<ImportedSchedule> read_schedule_text(std::string_view text, const std::string& file, Findings& findings) {
  auto read = schedule::read_csv(text);
  if (ImportedSchedule* const imported = std::get_if<ImportedSchedule>(&read)) return std::move(*imported);
  const CsvFault& fault = *std::get_if<CsvFault>(&read);
  findings.complaints.push_back({fmt::format("{}:{}:{}", file, fault.row, fault.column), "", fault.message});
  return std::nullopt;
}

std::optional<schedule::Schedule> read_own_schedule(const Node& node) {
  const std::size_t before = node.findings().complaints.size();
  node.allow_only({"file", "name", "rows"});
  const bool has_rows = node.has("rows");
  for (const char* key : {"file", "name"})
    if (node.has(key) && has_rows == (std::string_view(key) == "file"))
      node.complain(key, has_rows
                             ? "expected a file or rows, found both; try rows null"
                             : "expected only with rows; try {\"file\": \"schedule.csv\"}, or the name of a schedule");
  if (node.findings().complaints.size() > before) return std::nullopt;
  std::optional<ImportedSchedule> imported = has_rows ? read_rows(node) : read_file(node);
  if (!imported) return std::nullopt;
  const std::string stated = has_rows ? node.text_or("name", "own") : node.text("file");
  std::string name = has_rows ? stated : printable(path_of_text(stated).filename().string());
  if (schedule::find_schedule(name)) name += " (file)";  // no answer shows it as the schedule of that name
  node.findings().notes.assumptions.push_back(
      fmt::format("schedule {}: {}", stated, fmt::join(imported->remarks, "; ")));
  return schedule::own_schedule(std::move(name), *std::move(imported));
}

bool refers_to_schedule_file(const nlohmann::json& schedule) {
  if (!schedule.is_object()) return false;
  const auto file = schedule.find("file"), rows = schedule.find("rows");
  return file != schedule.end() && file->is_string() && (rows == schedule.end() || rows->is_null());
}

void inline_schedule(nlohmann::json& schedule, const fs::path& folder) {
  if (!refers_to_schedule_file(schedule)) return;
  Findings findings;
  const std::string name = schedule.at("file").get<std::string>();
  const std::optional<std::string> text = text_of_file(folder / path_of_text(name), name, findings);
  if (!text) return;
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    std::string& row = rows.emplace_back(text->substr(at, end - at)).get_ref<std::string&>();
    if (row.ends_with('\r')) row.pop_back();
    at = end + 1;
  }
  schedule.erase("file");
  schedule["name"] = text_of_path(path_of_text(name).filename());
  schedule["rows"] = std::move(rows);
}

void anchor_schedule(nlohmann::json& schedule, const fs::path& folder) {
  if (!refers_to_schedule_file(schedule)) return;
  std::error_code error;
  const fs::path path = path_of_text(schedule.at("file").get<std::string>());
  schedule["file"] = text_of_path(fs::absolute(folder / path, error));
}

}  // namespace foretoken::io
