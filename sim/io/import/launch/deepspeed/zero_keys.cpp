// Names: deepspeedai/DeepSpeed, deepspeed/runtime/zero/config.py (DeepSpeedZeroConfig, names and aliases) at 1b88ac3,
// and runtime/zero/constants.py of 0.3 to 0.6. Versions from 0.7 on stop at other keys (runtime/config_utils.py,
// DeepSpeedConfigModel, extra = "forbid"), but not where their value is "auto".
#include "sim/io/import/launch/deepspeed/zero_keys.h"

#include <algorithm>
#include <string>
#include <vector>

#include "sim/base/text.h"

namespace foretoken::io::launch::deepspeed {
namespace {

constexpr std::string_view kZeroKeys[] = {"stage",
                                          "contiguous_gradients",
                                          "reduce_scatter",
                                          "reduce_bucket_size",
                                          "use_multi_rank_bucket_allreduce",
                                          "allgather_partitions",
                                          "allgather_bucket_size",
                                          "allgather_size",
                                          "overlap_comm",
                                          "load_from_fp32_weights",
                                          "elastic_checkpoint",
                                          "offload_param",
                                          "offload_optimizer",
                                          "zenflow",
                                          "sub_group_size",
                                          "cpu_offload_param",
                                          "cpu_offload_params",
                                          "cpu_offload_use_pin_memory",
                                          "cpu_offload",
                                          "prefetch_bucket_size",
                                          "stage3_prefetch_bucket_size",
                                          "param_persistence_threshold",
                                          "stage3_param_persistence_threshold",
                                          "model_persistence_threshold",
                                          "stage3_model_persistence_threshold",
                                          "max_live_parameters",
                                          "stage3_max_live_parameters",
                                          "max_reuse_distance",
                                          "stage3_max_reuse_distance",
                                          "gather_16bit_weights_on_model_save",
                                          "stage3_gather_16bit_weights_on_model_save",
                                          "module_granularity_threshold",
                                          "stage3_module_granularity_threshold",
                                          "use_all_reduce_for_fetch_params",
                                          "stage3_use_all_reduce_for_fetch_params",
                                          "allgather_sequential",
                                          "stage3_allgather_sequential",
                                          "partition_stream_chunk_size",
                                          "stage3_partition_stream_chunk_size",
                                          "stage3_gather_fp16_weights_on_model_save",
                                          "gather_fp16_weights_on_model_save",
                                          "ignore_unused_parameters",
                                          "find_unused_parameters",
                                          "legacy_stage1",
                                          "round_robin_gradients",
                                          "zero_hpz_partition_size",
                                          "zero_quantized_weights",
                                          "zero_quantized_nontrainable_weights",
                                          "zero_quantized_gradients",
                                          "zeropp_loco_param",
                                          "mics_shard_size",
                                          "mics_hierarchical_params_gather",
                                          "memory_efficient_linear",
                                          "pipeline_loading_checkpoint",
                                          "override_module_apply",
                                          "log_trace_cache_warnings",
                                          "enable_sanity_checks",
                                          "save_muon_momentum_buffer_in_memory",
                                          "leaf_module"};

}  // namespace

void note_unknown_zero_keys(const Settings& settings, Report& report) {
  const auto section = settings.document().find("zero_optimization");
  if (section == settings.document().end() || !section->is_object()) return;
  const std::vector<std::string> known(std::begin(kZeroKeys), std::end(kZeroKeys));
  for (const auto& [key, value] : section->items()) {
    const bool comment = key.starts_with('_') || key.starts_with('#') || key.starts_with("//");
    if (comment || value == "auto" || std::ranges::find(known, key) != known.end()) continue;
    const std::string whole = "zero_optimization." + key;
    (void)settings.at(whole);
    report.approximate(printable(whole, 80), "an unknown key: versions up to 0.6 leave it out, and later ones stop" +
                                                 did_you_mean(key, known));
  }
}

}  // namespace foretoken::io::launch::deepspeed
