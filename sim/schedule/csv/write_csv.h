// Writes a program in PyTorch's CSV format, without messages: PyTorch adds them when it loads the file.
#pragma once

#include <optional>
#include <string>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Returns the reason why the format cannot hold `program`, or nothing when it can. PyTorch has no schedule that moves
/// activations, repeats forward passes or updates weights in between, and none with two copies of the model.
[[nodiscard]] std::optional<std::string> why_no_csv(const Program& program);

/// Returns one line a stage: "0F0,0F1,2F0". Reading it gives the same program, up to Program::warm_up. The format
/// `compute_only` of PyTorch's `_load_csv` takes it. Precondition: `why_no_csv` returns nothing.
[[nodiscard]] std::string to_csv(const Program& program);

}  // namespace foretoken::schedule
