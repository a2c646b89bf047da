// Takes a launch file in place of a scenario.
#include "sim/io/scenario/launch_document.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/io/import/launch/read_launch.h"

namespace foretoken::io {

std::optional<Document> launch_document(const std::filesystem::path& path, std::span<const std::string> sets,
                                        const ScriptVariables& variables, Findings& findings) {
  launch::Launch asked;
  asked.files = {path};
  asked.sets.assign(sets.begin(), sets.end());
  asked.variables = variables;
  const launch::Report report = launch::read_launch(asked, findings);
  const std::string file = printable(path.string());
  for (const launch::Refused& one : report.refused)
    findings.complaints.push_back(
        {file, "",
         fmt::format("{}: {}; foretoken import {} --allow goes on without a setting", one.setting, one.because, file)});
  for (const launch::Asked& one : report.asked)
    findings.complaints.push_back(
        {file, "", fmt::format("missing {}: {}; try --set {}=VALUE", one.key, one.because, one.key)});
  for (const launch::Assumed& one : report.assumed)  // a misspelt variable would change nothing
    if (one.key.starts_with("--env ")) findings.complaints.push_back({file, "", one.key + ": " + one.because});
  if (!findings.complaints.empty()) return std::nullopt;
  findings.notes.assumptions.push_back(fmt::format("{} settings of {} are assumed; foretoken import {} lists them.",
                                                   report.assumed.size(), report.framework, file));
  return Document{nlohmann::json(report.scenario), Source{.file = file, .folder = path.parent_path()}, "",
                  printable(path.stem().string())};
}

}  // namespace foretoken::io
