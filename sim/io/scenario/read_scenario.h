// Scenarios: the question, with every name resolved, every default filled in and every rule checked.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/io/scenario/open_scenario.h"
#include "sim/job/made.h"

namespace foretoken::io {

/// Reads a scenario file, or a scenario of ours by name. `sets` are overrides KEY.KEY=VALUE, applied in order.
/// Throws ConfigError with every complaint about this file, the files it names and the overrides.
[[nodiscard]] job::Made read_scenario_file(const std::filesystem::path& path, std::span<const std::string> sets = {});

/// The same for text, for instance a line of standard input. `origin` is what complaints call it; relative paths start
/// at the current folder.
[[nodiscard]] job::Made read_scenario_text(std::string_view text, const std::string& origin,
                                           std::span<const std::string> sets = {});

/// The same with keys left open, to be searched: nothing is asked of degrees, schedule and batch yet.
[[nodiscard]] OpenScenario read_open_scenario_file(const std::filesystem::path& path,
                                                   std::span<const std::string> sets = {});
[[nodiscard]] OpenScenario read_open_scenario_text(std::string_view text, const std::string& origin,
                                                   std::span<const std::string> sets = {});

/// The files that a reading of the scenario opens: its own, and those that it names. What is wrong with them is not
/// said here.
[[nodiscard]] std::vector<ReadFile> files_of_scenario(const std::filesystem::path& path,
                                                      std::span<const std::string> sets = {});
[[nodiscard]] std::vector<ReadFile> files_of_scenario(std::string_view text, const std::string& origin,
                                                      std::span<const std::string> sets = {});

/// The question itself as JSON, bases and overrides merged in, paths absolute: what read_scenario_file reads. Throws
/// ConfigError for what cannot be read or merged; whether it is a sound scenario is not asked.
[[nodiscard]] std::string merged_scenario_file(const std::filesystem::path& path,
                                               std::span<const std::string> sets = {});
[[nodiscard]] std::string merged_scenario_text(std::string_view text, const std::string& origin,
                                               std::span<const std::string> sets = {});

}  // namespace foretoken::io
