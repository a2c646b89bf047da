// Maps what Megatron-LM's flags keep in the host's memory.
//
// Rules: NVIDIA/Megatron-LM core 0.14, megatron/training/arguments.py and megatron/core/transformer/
// transformer_config.py: an optimizer on the host is a distributed and precision-aware one; whole layers of activations
// leave by their number.
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr const char *kHostOptimizer = "optimizer-cpu-offload", *kHostFraction = "optimizer-offload-fraction",
                     *kHostLayers = "cpu-offloading-num-layers";

void map_optimizer_on_host(const Flags& flags) {
  Report& report = flags.report();
  const double fraction = flags.number(kHostFraction, "offload.optimizer").value_or(1);
  if (fraction < 0 || fraction > 1)
    return report.refuse("--optimizer-offload-fraction", "expected a fraction from 0 to 1", flags.from(kHostFraction));
  if (!flags.on("use-distributed-optimizer"))
    return report.refuse("--optimizer-cpu-offload",
                         "Megatron-LM stops with it where --use-distributed-optimizer is missing",
                         flags.from(kHostOptimizer));
  if (fraction == 1) return report.map("offload.optimizer", "cpu", flags.from(kHostOptimizer));
  if (fraction > 0) report.map("offload.optimizer", fraction, flags.from(kHostFraction));
}

void map_layers_on_host(const Flags& flags) {
  Report& report = flags.report();
  const auto layers = flags.whole(kHostLayers, "offload.activations");
  if (!layers && flags.on("cpu-offloading"))
    return report.refuse("--cpu-offloading", "--cpu-offloading-num-layers states no layers",
                         flags.from("cpu-offloading"));
  if (layers.value_or(0) > 0)
    report.map("offload.activations", {{"to", "cpu"}, {"layers", *layers}}, flags.from(kHostLayers));
}

}  // namespace

void map_offloading(const Flags& flags, Era era) {
  for (const char* name : {kHostOptimizer, kHostLayers, "cpu-offloading"}) {
    const bool asks = flags.find(name) != nullptr && (name == kHostLayers || flags.on(name));
    if (era == Era::kCore || !asks) continue;
    return flags.report().refuse(std::string("--") + name, "tensors on the host are modelled for Megatron-Core only",
                                 flags.from(name));
  }
  // Megatron-DeepSpeed takes DeepSpeedCPUAdam, whose states stand on the host: megatron/optimizer/__init__.py.
  if (constexpr const char* kOwn = "cpu-optimizer"; flags.on(kOwn)) {
    if (era == Era::kDeepSpeed)
      map_offload("optimizer states", "cpu", flags.from(kOwn), flags.report());
    else
      flags.report().refuse("--cpu-optimizer", "it belongs to Megatron-DeepSpeed; state --deepspeed", flags.from(kOwn));
  }
  if (flags.on(kHostOptimizer)) map_optimizer_on_host(flags);
  if (flags.find(kHostLayers) != nullptr || flags.on("cpu-offloading")) map_layers_on_host(flags);
}

}  // namespace foretoken::io::launch::megatron
