// The sharding of weights and optimizer states by DeepSpeed and FSDP, beside arguments of the Trainer.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/tuning/read_tuning.h"

namespace foretoken::io::launch::tuning {

/// Asks for the stage of ZeRO of a recipe of the alignment handbook without accelerate's file, which decides about it.
void ask_for_sharding_of_handbook(const Json& document, std::optional<std::int64_t> gpus, Report& report);

/// Maps the stage of ZeRO, and what moves to the host. Asks where a file decides that is not there, and where a program
/// of the user's own states nothing. `deepspeed` is the configuration, where it is at hand.
void map_trainer_sharding(const Settings& settings, const Json* deepspeed, std::optional<std::int64_t> gpus,
                          Defaults defaults, Report& report);

/// Refuses a batch of DeepSpeed's configuration that differs from that of the arguments: the Trainer stops there.
/// "auto", and a step whose GPUs nobody knows, are not compared.
void check_batch_of_deepspeed(const Settings& settings, const Json& deepspeed, Report& report);

}  // namespace foretoken::io::launch::tuning
