// Counts of GPUs and hosts that a script takes from the machine on which it runs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/io/import/launch/shell/lexer.h"
#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// Returns what a command counts that asks the machine: `nvidia-smi -L | wc -l`, python that prints
/// torch.cuda.device_count(), `scontrol show hostnames $SLURM_JOB_NODELIST | wc -l` and `sort -u $PBS_NODEFILE | wc
/// -l`. Options of a scheduler, CUDA_VISIBLE_DEVICES and the user say it; nothing where they do not, and for other
/// commands. `expand` gives the fields of a word.
[[nodiscard]] std::optional<std::string> counted_output(std::vector<Token> tokens, const Machine& machine,
                                                        const std::function<Texts(std::string_view)>& expand);

}  // namespace foretoken::io::shell
