// Maps what overlaps by Megatron-LM's flags: reductions, gathers, messages and exchanges of experts.
//
// Rules: NVIDIA/Megatron-LM core 0.14, megatron/training/arguments.py, validate_args(); v2.5 and 23.04 for older flags.
#include <string>
#include <string_view>
#include <utility>

#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

// Without shared experts Megatron-Core does not look at the flag: transformer_config.py, __post_init__.
void map_overlap_of_shared_experts(const Flags& flags) {
  const char *const kFlag = "moe-shared-expert-overlap", *const kWidth = "model.moe_shared_expert_intermediate_size";
  Report& report = flags.report();
  if (!flags.on(kFlag) || !report.has("model.num_experts")) return;
  if (report.has(kWidth) || report.asks(kWidth))
    report.map("moe.shared_expert_overlap", true, flags.from(kFlag));
  else
    report.ignore(std::string("--") + kFlag + " (no shared experts)", flags.from(kFlag));
}

}  // namespace

void map_overlap(const Flags& flags, Era era) {
  Report& report = flags.report();
  const auto switches = {std::pair("overlap-grad-reduce", "overlap.grad_reduce"),
                         std::pair("overlap-param-gather", "overlap.param_gather")};
  const auto ddp = flags.text("DDP-impl", "");
  // FSDP2 gathers ahead and overlaps its reductions itself, so that its runtime decides:
  // megatron/core/distributed/torch_fully_sharded_data_parallel.py. validate_args() takes --overlap-param-gather with
  // the distributed optimizer or Megatron-FSDP only, and FSDP2 without the distributed optimizer only.
  for (const auto& [name, key] : switches) {
    // Under --deepspeed the model has no DDP: deepspeedai/Megatron-DeepSpeed, megatron/training.py, get_model.
    const bool torch =
        ddp && *ddp == "torch" && !flags.on("deepspeed") && std::string_view(key) == "overlap.grad_reduce";
    if (flags.on(name))
      report.map(key, true, flags.from(name));
    else if (torch)
      report.map(key, true, flags.from("DDP-impl"));
    else if (era != Era::kTorchFsdp)
      report.assume(key, false, kDefault);
  }
  const bool interleaved = report.whole("parallelism.virtual_pipeline").value_or(1) > 1;
  const char* const kNoP2p = "no-overlap-p2p-communication";
  if (flags.on(kNoP2p))
    report.map("overlap.p2p", false, flags.from(kNoP2p));
  else if (era == Era::k2021 || era == Era::k2022 || era == Era::kDeepSpeed)
    report.assume("overlap.p2p", false, "Megatron-LM before core 0.4 has no overlap of messages");
  else
    report.assume("overlap.p2p", interleaved, "messages overlap in the interleaved schedule only (validate_args)");
  const bool sharded = report.at("parallelism.sequence_parallel") == Json(true);
  if (flags.on("tp-comm-overlap") && sharded)
    report.map("overlap.tensor_parallel", true, flags.from("tp-comm-overlap"));
  else if (flags.on("tp-comm-overlap"))
    report.refuse("--tp-comm-overlap", "Megatron-LM stops with it where sequence parallelism is off",
                  flags.from("tp-comm-overlap"));
  if (const char* const a2a = "overlap-moe-expert-parallel-comm"; flags.on(a2a))
    report.map("moe.overlap", true, flags.from(a2a));
  map_overlap_of_shared_experts(flags);
}

}  // namespace foretoken::io::launch::megatron
