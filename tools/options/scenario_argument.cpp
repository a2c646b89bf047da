// Reads the SCENARIO argument of a command.
#include "tools/options/scenario_argument.h"

#include "tools/options/lines.h"

namespace foretoken::tools {

study::ScenarioSource scenario_source(const std::string& argument) {
  if (argument != "-") return study::ScenarioSource(argument);
  return {read_standard_input(), argument};
}

}  // namespace foretoken::tools
