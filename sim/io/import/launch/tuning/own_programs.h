// Training programs of the user's own: a model and a batch, under names that are not the Trainer's.
#pragma once

#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/tuning/other_programs.h"

namespace foretoken::io::launch::tuning {

/// Returns true for arguments that name a model of language, or any model and a length of sequences, beside a batch, or
/// a file of DeepSpeed that may hold one, and a learning rate or a number of steps.
[[nodiscard]] bool is_own_program(const std::vector<Argument>& arguments);

/// Gives such arguments the Trainer's names. Asks for a batch whose name does not say whether a GPU or all have it.
void take_own_names(std::vector<Argument>& arguments, Origins& origins, Report& report);

/// Takes --zero_stage out beside a configuration of DeepSpeed that states a stage. Asks where they differ.
void settle_stage(const Json& config, std::vector<Argument>& arguments, Report& report);

/// Takes --zero_stage beside a file of DeepSpeed that is not there: the stage counts where the file's name says none.
void take_stage_beside_file(std::vector<Argument>& arguments, Report& report);

/// Adds the precision of DeepSpeed's configuration where no argument states one. The Trainer refuses another.
void take_precision_of_deepspeed(const Json& config, std::vector<Argument>& arguments, Origins& origins);

/// Adds what DeepSpeed's configuration states where no argument does: the precision, and the batch.
void take_settings_of_deepspeed(const Json& config, std::vector<Argument>& arguments, Origins& origins);

/// Adds the same, each where no argument states it, from a file that accelerate's file names. Asks where they differ.
void take_settings_beside_accelerate(const Json& config, std::vector<Argument>& arguments, Origins& origins,
                                     Report& report);

}  // namespace foretoken::io::launch::tuning
