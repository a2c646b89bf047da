// The SCENARIO argument of a command: a file, a name, or standard input. --env states variables of a launch script.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sim/study/scenario_source.h"

namespace foretoken::tools {

/// Adds --env. `words` receives NAME=VALUE of each.
void add_env_option(CLI::App& command, std::vector<std::string>& words);

/// Returns the variables that words of --env state. Throws ConfigError for a word that is not NAME=VALUE; `command` is
/// named in the complaint.
[[nodiscard]] io::ScriptVariables script_variables(const std::vector<std::string>& words, const std::string& command);

/// Returns the scenario that `argument` names. "-" reads all of standard input, which can be read only once. Throws
/// ConfigError for variables beside standard input, which holds no script.
[[nodiscard]] study::ScenarioSource scenario_source(const std::string& argument, io::ScriptVariables variables = {});

}  // namespace foretoken::tools
