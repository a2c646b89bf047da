// Reads case files. The scenario of a row is the set's base, with that of a launch file and then the row's own merged
// over it (RFC 7396).
#include "validate/case_set.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/json/document.h"
#include "sim/io/json/node.h"

namespace foretoken::validate {
namespace {

template <class Quantity>
std::optional<Quantity> find_quantity(const io::Node& node, std::string_view key) {
  const auto value = node.find_number(key, io::kPositive);
  return value ? std::optional(Quantity(*value)) : std::nullopt;
}

Measured read_measured(const io::Node& node) {
  node.allow_only(
      {"step_time_s", "peak_bytes", "last_stage_peak_bytes", "layer_forward_s", "layer_backward_s", "out_of_memory"});
  Measured measured;
  measured.step_time = find_quantity<Seconds>(node, "step_time_s");
  measured.peak_memory = find_quantity<Bytes>(node, "peak_bytes");
  measured.last_stage_peak = find_quantity<Bytes>(node, "last_stage_peak_bytes");
  if (measured.peak_memory && measured.last_stage_peak)
    node.complain("last_stage_peak_bytes", "expected only without peak_bytes");
  measured.layer_forward = find_quantity<Seconds>(node, "layer_forward_s");
  measured.layer_backward = find_quantity<Seconds>(node, "layer_backward_s");
  measured.out_of_memory = node.boolean_or("out_of_memory", false);
  const bool ran = measured.step_time || measured.peak_memory || measured.last_stage_peak || measured.layer_forward ||
                   measured.layer_backward;
  if (ran == measured.out_of_memory) node.complain("expected either measured values or \"out_of_memory\": true");
  return measured;
}

/// Returns the scenario that a launch file makes with the overrides of the row; an empty object where none is named.
nlohmann::json launched(const io::Node& node) {
  const std::optional<io::Node> stated = node.find_object("launch");
  if (!stated) return nlohmann::json::object();
  stated->allow_only({"file", "overrides"});
  io::launch::Launch launch{.files = {node.source().folder / io::path_of_text(stated->text("file"))}};
  for (const io::Node& word : stated->find_array("overrides").value_or(std::vector<io::Node>()))
    launch.words.push_back(word.as_text());
  io::launch::Report report = io::launch::read_launch(launch, node.findings());
  for (const io::launch::Refused& refused : report.refused)
    stated->complain("file", fmt::format("refused: {}: {}", refused.setting, refused.because));
  report.scenario.erase("name");
  return report.scenario;
}

Case read_case(const io::Node& node, const CaseSet& set, const nlohmann::json& base) {
  node.allow_only({"id", "quality", "fitted", "launch", "scenario", "measured", "notes"});
  Case row;
  row.id = node.text("id");
  row.quality = node.text_or("quality", set.quality);
  row.fitted = node.boolean_or("fitted", false);
  row.notes = node.text_or("notes", "");
  row.measured = read_measured(node.object("measured"));
  nlohmann::json scenario = base;
  scenario.merge_patch(launched(node));
  scenario.merge_patch(node.object("scenario").value());
  scenario["name"] = row.id;
  row.scenario = scenario.dump();
  return row;
}

CaseSet read(const io::Node& root) {
  root.allow_only({"set", "title", "source", "quality", "notes", "residues", "base", "rows"});
  CaseSet set;
  set.name = root.text("set");
  set.title = root.text("title");
  set.source = root.text("source");
  set.quality = root.text("quality");
  set.notes = root.text_or("notes", "");
  set.residues = root.text_or("residues", "");
  const nlohmann::json& base = root.object("base").value();
  std::set<std::string> ids;
  for (const io::Node& node : root.array("rows")) {
    Case row = read_case(node.as_object(), set, base);
    if (!ids.insert(row.id).second) node.complain("id", fmt::format("expected a new name, found \"{}\" again", row.id));
    set.cases.push_back(std::move(row));
  }
  return set;
}

}  // namespace

std::vector<std::string> case_set_names() { return io::list_names(kCaseSets); }

CaseSet read_case_set(const std::string& name_or_path) {
  io::Findings findings;
  std::optional<std::filesystem::path> file;
  if (io::is_path(name_or_path)) {
    file = name_or_path;
  } else {
    file = io::find_data_file(kCaseSets, name_or_path);
  }
  if (!file) findings.complaints.push_back({name_or_path, "", io::unknown_name(kCaseSets, name_or_path)});
  findings.throw_if_wrong();
  const auto document = io::document_from_file(*file, findings);
  findings.throw_if_wrong();
  CaseSet set = read(document->root(findings));
  findings.throw_if_wrong();
  return set;
}

}  // namespace foretoken::validate
