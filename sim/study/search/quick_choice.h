// Chooses the open keys of a question by a search, where a user wants one answer and not a list.
#pragma once

#include <cstddef>
#include <string>

#include "sim/base/process/watch.h"
#include "sim/io/scenario/open_scenario.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

struct QuickChoice {
  std::string scenario;        ///< the question as JSON, with every key chosen
  std::string words;           ///< "TP8 PP2 DP4, micro-batch 1, ..."
  std::size_t considered = 0;  ///< configurations
};

/// Returns the fastest configuration that fits. Shows its progress to `watch`, which cannot stop it. Throws ConfigError
/// when none is valid or none fits.
[[nodiscard]] QuickChoice choose_quickly(const io::OpenScenario& question, const trust::Evidence& evidence,
                                         std::size_t threads, const Watch& watch = {});

}  // namespace foretoken::study
