// The name of a task in a deadlock: its work, its place in the pipeline and its ranks.
#pragma once

#include "sim/des/deadlock.h"
#include "sim/ranks/unfold.h"

namespace foretoken::ranks {

/// Returns names for des::describe_deadlock. Ranks are the job's: stage by stage, tensor fastest. In a folded step a
/// stage stands for all its ranks. The names refer to their arguments, which must outlive them.
[[nodiscard]] des::Names names_of(const step::LoweredStep& step);
[[nodiscard]] des::Names names_of(const step::LoweredStep& step, const UnfoldedStep& unfolded);

}  // namespace foretoken::ranks
