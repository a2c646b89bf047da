// The facts of a job that a launch file may state, as texts, so that two jobs can be compared by name.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::io {

/// A fact that two jobs state differently: "precision_recipe.gradients", "4", "2".
struct Difference {
  std::string key, before, after;
};

/// Returns the facts in which `after` differs from `before`, by the names of a scenario's keys. Names of models are no
/// facts.
[[nodiscard]] std::vector<Difference> differences(const job::Job& before, const job::Job& after);

/// Returns the keys of all facts that a job may have.
[[nodiscard]] std::vector<std::string> fact_keys();

}  // namespace foretoken::io
