// Reads scenarios: resolves every name, fills in every default and checks every rule.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/io/scenario/launch_document.h"
#include "sim/io/scenario/open_scenario.h"
#include "sim/job/made.h"

namespace foretoken::io {

/// Reads a scenario file, or a shipped scenario by name. `sets` are overrides KEY.KEY=VALUE, applied in order. A launch
/// script may stand for a scenario, and is read with `variables`; a scenario takes none. Throws
/// ConfigError with every complaint about this file, the files that it names and the overrides.
[[nodiscard]] job::Made read_scenario_file(const std::filesystem::path& path, std::span<const std::string> sets = {},
                                           const ScriptVariables& variables = {});

/// Reads a scenario from a text, for instance a line of standard input. Complaints name it `origin`. Relative paths
/// start at the current folder.
[[nodiscard]] job::Made read_scenario_text(std::string_view text, const std::string& origin,
                                           std::span<const std::string> sets = {});

/// Reads a scenario with open keys, for a search. Degrees, schedule and batch are not checked yet.
[[nodiscard]] OpenScenario read_open_scenario_file(const std::filesystem::path& path,
                                                   std::span<const std::string> sets = {},
                                                   const ScriptVariables& variables = {});
[[nodiscard]] OpenScenario read_open_scenario_text(std::string_view text, const std::string& origin,
                                                   std::span<const std::string> sets = {});

/// Returns the files that a reading of the scenario opens: its own, and those that it names. Complains about none.
[[nodiscard]] std::vector<ReadFile> files_of_scenario(const std::filesystem::path& path,
                                                      std::span<const std::string> sets = {},
                                                      const ScriptVariables& variables = {});
[[nodiscard]] std::vector<ReadFile> files_of_scenario(std::string_view text, const std::string& origin,
                                                      std::span<const std::string> sets = {});

/// Returns the question as JSON with bases and overrides merged in and absolute paths. Throws ConfigError for a file
/// that cannot be read or merged. The rules of scenarios are not checked.
[[nodiscard]] std::string merged_scenario_file(const std::filesystem::path& path,
                                               std::span<const std::string> sets = {},
                                               const ScriptVariables& variables = {});
[[nodiscard]] std::string merged_scenario_text(std::string_view text, const std::string& origin,
                                               std::span<const std::string> sets = {});

}  // namespace foretoken::io
