// Downhill simplex (Nelder and Mead 1965): finds the arguments that make a function of a few numbers small.
#pragma once

#include <functional>
#include <vector>

namespace foretoken::fit {

using Arguments = std::vector<double>;
using Objective = std::function<double(const Arguments&)>;

/// Returns a local minimum near `start`. It restarts from its own result until that no longer helps. `step` is the
/// first size of the simplex along every axis. Deterministic.
[[nodiscard]] Arguments minimise(const Objective& objective, Arguments start, double step, int evaluations = 2000);

}  // namespace foretoken::fit
