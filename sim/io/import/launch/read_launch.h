// Reads the launch files of training frameworks into scenarios.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "sim/io/import/launch/report.h"
#include "sim/io/json/node.h"

namespace foretoken::io::launch {

/// A launch as the user hands it over.
struct Launch {
  std::vector<std::filesystem::path> files{};                    ///< one; several are merged as GPT-NeoX merges them
  std::vector<std::string> words{};                              ///< behind --: arguments of the script, then flags
  std::vector<std::pair<std::string, std::string>> variables{};  ///< of a script or a YAML file; they win over its own
  std::vector<std::string> sets{};                               ///< KEY=VALUE of the scenario; they win over the file
  std::string row{};                                             ///< of a file with several runs
  std::vector<std::string> allow{};                              ///< refused settings to go on without
};

/// Reads a launch. Nothing is executed. Complains about files that cannot be read, or that belong to no known
/// framework. Settings that cannot be mapped stand in the report.
[[nodiscard]] Report read_launch(const Launch& launch, Findings& findings);

/// Reads the text of one file. Its name tells the kind of the file; files that it names are looked for beside it.
[[nodiscard]] Report read_launch_text(const std::string& text, const std::filesystem::path& name, const Launch& launch,
                                      Findings& findings);

/// Returns true for the name of a file that may be a launch: a script, or one that ends in .yaml, .yml, .toml or .csv.
[[nodiscard]] bool is_launch_file(const std::filesystem::path& path);

/// Returns true for a DeepSpeed configuration, whose name ends in .json as that of a scenario.
[[nodiscard]] bool is_launch_document(const nlohmann::json& document);

}  // namespace foretoken::io::launch
