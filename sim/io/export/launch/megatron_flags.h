// Writes a job as a command line of Megatron-LM.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::io {

/// Returns the launch line of the model's program, torchrun first, one "--flag value" an entry. Data, tokenizer,
/// learning rate and checkpoints are left to the user. Source: Megatron-LM main of August 2026,
/// megatron/training/arguments.py and the dataclasses in megatron/core that its arguments come from.
[[nodiscard]] std::vector<std::string> megatron_command(const job::Job& job);

/// Returns the program that trains the model: pretrain_gpt.py, pretrain_bert.py or pretrain_t5.py.
[[nodiscard]] const char* megatron_program(const model::Transformer& model);

/// Lists the parts of the job that the command line cannot express; empty when it expresses everything.
[[nodiscard]] std::vector<std::string> megatron_remarks(const job::Job& job);

}  // namespace foretoken::io
