// Reads keys of the section fsdp_config that several frameworks share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch {

/// Keys of files, loading and wrapping. PyTorch's names, of accelerate and the Trainer with and without `fsdp_` before
/// them: accelerate, utils/dataclasses.py (FullyShardedDataParallelPlugin); transformers, training_args.py
/// (fsdp_config); axolotl, utils/schemas/fsdp.py.
inline constexpr std::string_view kFsdpKeysWithoutEffect =
    "fsdp_config.transformer_layer_cls_to_wrap fsdp_config.fsdp_transformer_layer_cls_to_wrap "
    "fsdp_config.state_dict_type fsdp_config.fsdp_state_dict_type fsdp_config.final_state_dict_type "
    "fsdp_config.fsdp_final_state_dict_type fsdp_config.cpu_ram_efficient_loading "
    "fsdp_config.fsdp_cpu_ram_efficient_loading fsdp_config.sync_module_states fsdp_config.fsdp_sync_module_states "
    "fsdp_config.use_orig_params fsdp_config.fsdp_use_orig_params fsdp_config.cpu_offload_pin_memory "
    "fsdp_config.fsdp_cpu_offload_pin_memory fsdp_config.version fsdp_config.fsdp_version fsdp_config.verbose";

/// Returns the stage of ZeRO of a sharding strategy by its name or number; none for others. The numbers are
/// accelerate's: accelerate, utils/constants.py (FSDP_SHARDING_STRATEGY).
[[nodiscard]] std::optional<std::int64_t> stage_of_strategy(const std::string& strategy);

/// The argument fsdp of the Trainer: "full_shard auto_wrap offload".
struct FsdpWords {
  std::string strategy{};  ///< empty: none is named
  bool moves_parameters = false;
  bool wraps = false;  ///< "auto_wrap": a policy makes units of the model
};
[[nodiscard]] FsdpWords fsdp_words(const std::string& text);

/// Notes backward_prefetch, forward_prefetch and limit_all_gathers: runtimes gather the weights of one layer ahead, and
/// those of two layers at most. Refuses policies that PyTorch does not have.
void note_order_of_gathers(const Settings& settings);

/// Notes that each layer is a unit of sharding. Refuses units of a stated size and a whole model as one unit, unless
/// every rank keeps its weights (stage 0). Units that neither a policy nor `words` ask for are assumed.
void note_units(const Settings& settings, std::int64_t stage, const FsdpWords& words = {});

}  // namespace foretoken::io::launch
