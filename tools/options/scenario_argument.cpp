// Reads the SCENARIO argument of a command.
#include "tools/options/scenario_argument.h"

#include <iostream>
#include <iterator>

namespace foretoken::tools {

study::ScenarioSource scenario_source(const std::string& argument) {
  if (argument != "-") return study::ScenarioSource(argument);
  return {std::string(std::istreambuf_iterator<char>(std::cin), {}), argument};
}

}  // namespace foretoken::tools
