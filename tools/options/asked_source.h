// Makes the question of a command that searches, from a file or from options only.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/base/error.h"
#include "sim/study/scenario_source.h"
#include "tools/options/open_options.h"
#include "tools/options/question_options.h"

namespace foretoken::tools {

struct AskedSource {
  study::ScenarioSource source;
  std::vector<std::string> sets;  ///< overrides, in order
  int stated_zero_stage = 0;      ///< of a scenario whose stage is freed
};

/// Returns the scenario that `argument` names, or without one the question that the options state. Then the assumptions
/// about its batch go to standard error.
[[nodiscard]] AskedSource asked_source(const std::string& argument, QuestionOptions asked, const OpenOptions& open,
                                       const std::string& command);

/// Refuses contradicting options, then calls `run`. Complaints that it throws name --fix and the options of a question
/// as they were given.
template <class Run>
int with_given_names(QuestionOptions asked, const OpenOptions& open, Run run) {
  asked.gpus = open.gpus;
  refuse_contradiction(asked, open.fixes);
  return with_given_names(asked, [&] {
    try {
      return run();
    } catch (const ConfigError& error) {
      throw ConfigError(with_fixes_named(error.complaints(), open));
    }
  });
}

}  // namespace foretoken::tools
