// Maps FSDP of NeMo 1, which shards a model of Megatron over the data ranks by PyTorch's FullyShardedDataParallel.
//
// Weights, gradients and states are kept in fp32. A layer is a unit, gathered in the type of `trainer.precision`.
// Tensor parallelism may stand beside it. Source: NVIDIA/NeMo, nemo/collections/nlp/parts/nlp_overrides.py
// (NLPFSDPStrategy) and megatron_trainer_builder.py (_training_strategy).
#include "sim/io/import/launch/nemo/fsdp.h"

#include <string>

#include "sim/base/text.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr const char* kSwitchOfFsdp = "model.fsdp";

// The run stops where an assertion of NLPFSDPStrategy or of MegatronTrainerBuilder fails.
void refuse_stops(const Settings& settings) {
  Report& report = settings.report();
  if (report.whole("parallelism.pipeline").value_or(1) > 1)
    report.refuse(kSwitchOfFsdp, "NeMo takes no FSDP beside a pipeline; the run would stop");
  const std::string name = settings.text({"model.optim.name"}).value_or("");
  if (name == "distributed_fused_adam" || name == "mcore_distributed_optim")
    report.refuse(kSwitchOfFsdp, "NeMo takes no FSDP beside a distributed optimizer; the run would stop");
  if (settings.on({"model.fsdp_cpu_offload"}))
    report.refuse("model.fsdp_cpu_offload", "FSDP on the host is not modelled for NeMo");
  if (report.has("training"))
    report.refuse(kSwitchOfFsdp, "adapters beside weights in fp32 that FSDP shards are not modelled");
}

void map_strategy(const Settings& settings) {
  const Names kStrategy = {"model.fsdp_sharding_strategy"};
  const std::string strategy = settings.text(kStrategy).value_or("full");
  if (strategy != "full" && strategy != "grad")
    return settings.report().refuse(settings.from(kStrategy),
                                    "NeMo takes \"full\" and \"grad\", found " + in_quotes(printable(strategy, 40)));
  settings.report().map("optimizer.zero_stage", strategy == "full" ? 3 : 2,
                        settings.has(kStrategy) ? settings.from(kStrategy) : std::string(kSwitchOfFsdp));
}

// 32 is the default of MegatronTrainerBuilder. Words: utils_funcs.torch_dtype_from_precision of NeMo.
void map_reduced(const Settings& settings) {
  const Names kReduced = {"model.fsdp_grad_reduce_dtype"};
  const std::string type = settings.text(kReduced).value_or("32");
  Report& report = settings.report();
  report.assume("precision_recipe.gradients", "fp32", "FSDP keeps gradients in the type of its shards");
  if (type.starts_with("bf16"))
    report.map("precision_recipe.reduce", "bf16", settings.from(kReduced));
  else if (type.starts_with("16"))
    report.map("precision_recipe.reduce", "fp16", settings.from(kReduced));
  else if (type.starts_with("32"))
    report.assume("precision_recipe.reduce", "fp32", "fsdp_grad_reduce_dtype is 32 by default");
  else
    report.refuse(settings.from(kReduced), "gradients in " + in_quotes(printable(type, 40)) + " are not modelled");
}

}  // namespace

bool has_fsdp(const Settings& settings) { return settings.on({kSwitchOfFsdp}); }

void map_fsdp(const Settings& settings) {
  for (const char* key : {"model.fsdp_grad_reduce_dtype", "model.fsdp_sharding_strategy", "model.fsdp_cpu_offload",
                          "model.fsdp_limit_all_gathers"})
    (void)settings.at(key);
  if (!has_fsdp(settings)) return;
  Report& report = settings.report();
  refuse_stops(settings);
  map_strategy(settings);
  map_reduced(settings);
  report.assume("runtime", "pytorch-fsdp", "FSDP of PyTorch; its kernels stand for those of Megatron's layers");
  for (const char* key : {"overlap.grad_reduce", "overlap.param_gather"})
    report.assume(key, true, "FSDP gathers the next layer and reduces the last one beside the passes");
  if (report.whole("parallelism.tensor").value_or(1) > 1)
    report.approximate(kSwitchOfFsdp, "norms are sharded, too; NeMo keeps them whole beside tensor parallelism");
  if (settings.has({"model.fsdp_limit_all_gathers"}) && !settings.on({"model.fsdp_limit_all_gathers"}))
    report.approximate("model.fsdp_limit_all_gathers", "two layers at most are gathered at a time");
}

}  // namespace foretoken::io::launch::nemo
