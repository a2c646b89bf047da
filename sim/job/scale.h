// Scales hardware: one property of the machines or of the software times a factor.
#pragma once

#include "sim/job/patch.h"

namespace foretoken::job {

/// Multiplies a property on every kind of node. A rate may stand in several laws, such as memory bandwidth in matrix
/// products and in element-wise kernels. It is scaled in all of them. Precondition: `key` is no choice.
void scale(Key key, double factor, Question& question);

/// Returns true when the machines of the question have the property: NVLink, or a network that the job uses.
[[nodiscard]] bool has_property(Key key, const Question& question);

}  // namespace foretoken::job
