// The defaults of a submission's variables, which stand beside its config_*.sh.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::mlperf {

struct Default {
  std::string value, from;
};
/// Keys of conf/: the length of a sequence, and LoRA's rank.
inline constexpr std::string_view kLengthKey = "encoder_seq_length", kAdapterKey = "adapter_dim";
/// Keys of the section optim, which conf/ of LoRA states: the overlap of the exchange of gradients and of weights.
inline constexpr std::string_view kGradSyncKey = "optim.overlap_grad_sync", kParamSyncKey = "optim.overlap_param_sync";
/// Stands before the name of a variable that a file of conf/ reads.
inline constexpr std::string_view kReadMark = "oc.env:";

using Defaults = std::map<std::string, Default, std::less<>>;

/// Returns what run_and_time.sh sets where a variable is not set, and the defaults of ${oc.env:NAME,DEFAULT} in
/// conf/*.yaml, under "fp8_params" and `kLengthKey` the variables of those keys, under `kAdapterKey` a file of conf/
/// that states adapter_dim, and under `kReadMark` and a variable a file that reads it. They stand in the folder of
/// `path` or up to two folders above it.
[[nodiscard]] Defaults defaults_beside(const std::filesystem::path& path, const shell::Script& script);

/// Returns the GPU of AMD that the name of a submission's file says: "MI300"; empty for none.
[[nodiscard]] std::string_view amd_gpu_in(const std::filesystem::path& file);

/// Adds the defaults of NVIDIA's conf/megatron_gpt_peft_tuning_config.yaml where no such file is there. The last round
/// in `path` tells which: "training_results_v5.0". Without one the variables of the script do. A file for GPUs of AMD
/// has those of AMD's configuration of round 5.0 or 5.1.
void add_lora_defaults(const std::string& path, const shell::Script& script, Defaults& defaults);

}  // namespace foretoken::io::launch::mlperf
