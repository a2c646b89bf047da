// The SCENARIO argument of a command: a file, a name, or standard input.
#pragma once

#include <string>

#include "sim/study/scenario_source.h"

namespace foretoken::tools {

/// Returns the scenario that `argument` names. "-" reads all of standard input, which can be read only once.
[[nodiscard]] study::ScenarioSource scenario_source(const std::string& argument);

}  // namespace foretoken::tools
