// Settles gradients of NeMo 1, whose optimizers exchange them in ways of their own.
//
// Without a distributed optimizer and with megatron_amp_O2 in bf16, MainParamsOptimizerWrapper reduces gradients beside
// the backward pass. It does so without a pipeline and without shared sequences. gradient_accumulation_fusion is
// switched off there, wherever several data ranks reduce. Without megatron_amp_O2 gradients are reduced behind all
// passes. Source: NVIDIA/NeMo, nemo/collections/nlp/models/language_modeling/megatron_base_model.py at commit 7ed54557
// (configure_optimizers, _validate_and_override_config) and megatron_gpt_model.py (training_step); versions before
// sequence parallelism look at the pipeline alone, which is the same there.
//
// distributed_fused_adam is Apex's, where overlap_grad_sync is on and overlap_param_sync is off by default:
// NVIDIA/apex, apex/contrib/optimizers/distributed_fused_adam.py. mcore_distributed_optim takes both as off:
// megatron_gpt_model.py at commit b1f5aa3a, where it makes McoreDDP.
#include "sim/io/import/launch/nemo/gradients.h"

#include <algorithm>
#include <string>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/nemo/fsdp.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr const char *kWide = "model.megatron_amp_O2", *kReduces = "model.optim.overlap_grad_sync",
                     *kGathers = "model.optim.overlap_param_sync", *kAsync = "model.async_grad_allreduce",
                     *kReduceKey = "overlap.grad_reduce";

// Autocast keeps weights in fp32, and so their gradients.
void settle_width(const Settings& settings, const std::string& precision) {
  Report& report = settings.report();
  const char* const kKey = "precision_recipe.gradients";
  const bool assumed = std::ranges::find(report.assumed, kKey, &Assumed::key) != report.assumed.end();
  const bool narrow = precision.starts_with("16") || precision.starts_with("bf16");
  if (assumed && narrow && !settings.on({kWide}))
    report.assume(kKey, "fp32", std::string(kWide) + " is off: weights are kept in fp32, and so are gradients");
}

void settle_main_optimizer(const Settings& settings, const std::string& precision) {
  Report& report = settings.report();
  const bool asynchronous = !settings.has({kAsync}) || settings.on({kAsync});
  if (!settings.on({kWide}))
    return report.assume(kReduceKey, false, std::string(kWide) + " is off: NeMo reduces gradients behind the passes");
  if (!precision.starts_with("bf16"))
    return report.assume(kReduceKey, false, std::string(kWide) + " reduces beside the backward pass in bf16 only");
  if (!asynchronous) return report.map(kReduceKey, false, kAsync);
  const bool shared = report.at("parallelism.sequence_parallel") == Json(true);
  if (report.whole("parallelism.pipeline").value_or(1) == 1 && !shared)
    return report.assume(kReduceKey, true,
                         std::string(kWide) + " reduces gradients beside the backward pass where there is no pipeline");
  report.assume(kReduceKey, false,
                std::string(kWide) + " reduces gradients behind the passes of a pipeline or of shared sequences");
}

void settle_overlap(const Settings& settings, const std::string& precision) {
  Report& report = settings.report();
  (void)settings.at(kAsync);
  if (settings.has({kGathers}) && !settings.on({kGathers}))
    report.map("overlap.param_gather", false, kGathers);
  else if (!settings.has({kGathers}))
    report.assume("overlap.param_gather", false, std::string(kGathers) + " is off by default");
  if (settings.has({kReduces}) && !settings.on({kReduces})) return report.map(kReduceKey, false, kReduces);
  if (settings.has({kReduces})) return;
  const std::string name = settings.text({"model.optim.name"}).value_or("fused_adam");
  if (name == "distributed_fused_adam")
    return report.assume(kReduceKey, true, std::string(kReduces) + " is on by default in " + name);
  if (name == "mcore_distributed_optim")
    return report.assume(kReduceKey, false, std::string(kReduces) + " is off by default in " + name);
  settle_main_optimizer(settings, precision);
}

}  // namespace

void settle_gradients(const Settings& settings) {
  if (has_fsdp(settings)) return (void)settings.at(kAsync);
  const std::string precision = settings.text({"trainer.precision"}).value_or("32");
  settle_width(settings, precision);
  settle_overlap(settings, precision);
}

}  // namespace foretoken::io::launch::nemo
