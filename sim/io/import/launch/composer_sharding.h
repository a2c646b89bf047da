// Reads how Composer shares weights, gradients and optimizer states: the section fsdp_config.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch {

/// Keys of Composer's FSDPConfig (composer/utils/parallelism.py) that no shape here has.
inline constexpr std::string_view kComposerFsdpUnmodelled =
    "fsdp_config.process_group fsdp_config.ignored_modules fsdp_config.te_shard_fp8_weight fsdp_config.device_mesh";

/// Its keys of loading, saving and logs, and reentrant recomputing, which costs as much as the other kind.
inline constexpr std::string_view kComposerFsdpKeys =
    "fsdp_config.activation_checkpointing_reentrant fsdp_config.te_checkpoint_wrapper "
    "fsdp_config.load_monolith_rank0_only fsdp_config.load_planner fsdp_config.save_planner "
    "fsdp_config.load_fsdp_monolith_rank0_only fsdp_config.sharded_ckpt_prefix_dir fsdp_config.state_dict_type "
    "fsdp_config.sync_module_states fsdp_config.use_orig_params fsdp_config.verbose fsdp_config.flatten_parameters "
    "fsdp_config.min_params";

/// Maps the sharding, its types, its offload and its degrees. `precision` is the trainer's: "amp_bf16". Without the
/// section every rank holds everything.
void map_composer_sharding(const Settings& settings, const std::string& precision, Report& report);

}  // namespace foretoken::io::launch
