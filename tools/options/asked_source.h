// Makes the question of a command that searches, from a file or from options only.
#pragma once

#include <string>
#include <vector>

#include "sim/study/scenario_source.h"
#include "tools/options/open_options.h"
#include "tools/options/question_options.h"

namespace foretoken::tools {

struct AskedSource {
  study::ScenarioSource source;
  std::vector<std::string> sets;  ///< overrides, in order
};

/// Returns the scenario that `argument` names, or without one the question that the options state. Then the assumptions
/// about its batch go to standard error.
[[nodiscard]] AskedSource asked_source(const std::string& argument, QuestionOptions asked, const OpenOptions& open,
                                       const std::string& command);

}  // namespace foretoken::tools
