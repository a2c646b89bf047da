// Reads the SCENARIO argument of a command.
#include "tools/options/scenario_argument.h"

#include <utility>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tools/options/lines.h"

namespace foretoken::tools {

void add_env_option(CLI::App& command, std::vector<std::string>& words) {
  command.add_option("--env", words, "Set a variable of the script; it wins over its assignments")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
}

io::ScriptVariables script_variables(const std::vector<std::string>& words, const std::string& command) {
  io::ScriptVariables variables;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      throw ConfigError({{command, "", "--env: expected NAME=VALUE, found " + in_quotes(word)}});
    variables.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return variables;
}

study::ScenarioSource scenario_source(const std::string& argument, io::ScriptVariables variables) {
  if (argument != "-") return study::ScenarioSource(argument, std::move(variables));
  if (!variables.empty())
    throw ConfigError({{"-", "", "--env states variables of a launch script; give the script as a file"}});
  return {read_standard_input(), argument};
}

}  // namespace foretoken::tools
