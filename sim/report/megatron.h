// A scenario as a command line of Megatron-LM.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::report {

/// The launch line of `pretrain_gpt.py`, one "--flag value" an entry, torchrun first. Flags of Megatron-LM main
/// (megatron/training/arguments.py and the dataclasses in megatron/core that arguments are generated from, August
/// 2026). Data, tokenizer, learning rate and checkpoints are the user's.
[[nodiscard]] std::vector<std::string> megatron_command(const job::Job& job);

/// Parts of the job that the command line cannot state; empty when it states everything.
[[nodiscard]] std::vector<std::string> megatron_remarks(const job::Job& job);

}  // namespace foretoken::report
