// The sources of the numbers that a job takes from its profiles and its runtime.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::step {

/// Returns one line for every used number: "profile NAME: PART: source", then "runtime NAME: number: source".
[[nodiscard]] std::vector<std::string> source_notes(const job::Job& job);

}  // namespace foretoken::step
