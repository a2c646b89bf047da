// Maps the precision, the memory, the adapters and the experts of a recipe of NeMo AutoModel.
#include <algorithm>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/nemo/automodel_parts.h"

namespace foretoken::io::launch::nemo {
namespace {

std::string last_part(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

bool is_named(const std::string& type, std::string_view one, std::string_view other) {
  return last_part(type) == one || last_part(type) == other;
}

// The strategy by its name, or by the class of its configuration.
bool has_strategy(const Settings& settings, std::string_view word) {
  for (const char* key : {"distributed.strategy", "distributed._target_", "distributed_config._target_"})
    if (lower_case(settings.text({key}).value_or("")).find(word) != std::string::npos) return true;
  return false;
}

bool is_sharded_by_fsdp2(const Settings& settings) {
  return !has_strategy(settings, "ddp") && !has_strategy(settings, "megatron") && !has_strategy(settings, "nvfsdp");
}

// Weights in bf16 are kept without a copy in fp32, unless the optimizer has one. Gradients are cast before they are
// reduced.
void map_stored_bf16(const Settings& settings, const std::string& from, Report& report) {
  if (report.has("training")) return;
  const bool fused = is_named(settings.text({"optimizer._target_"}).value_or(""), "FusedAdam", "FusedAdam");
  // One type stands for both moments.
  const Names kMoments = {"optimizer.exp_avg_dtype", "optimizer.exp_avg_sq_dtype"};
  const bool narrow = is_named(settings.text(kMoments).value_or(""), "bf16", "bfloat16");
  if (fused)
    report.map("precision_recipe.moments", narrow ? "bf16" : "fp32",
               settings.has(kMoments) ? settings.from(kMoments) : "moments of FusedAdam are in fp32");
  map_weights_of_16_bits(from, report);
  if (fused && settings.on({"optimizer.master_weights"}))
    report.map("precision_recipe.master", "fp32", "optimizer.master_weights");
}

void map_reduction(const Settings& settings, Report& report) {
  const Names kReduced = {"distributed.mp_policy.reduce_dtype", "distributed_config.mp_policy.reduce_dtype"};
  const auto stated = settings.text(kReduced);
  if (report.has("training") || !is_sharded_by_fsdp2(settings)) return;
  // The manager of 2025 reduced in bf16, the configuration of later versions in fp32.
  const bool manager = is_named(settings.text({"distributed._target_"}).value_or(""), "FSDP2Manager", "FSDP2Manager");
  const bool narrow = stated ? is_named(*stated, "bf16", "bfloat16") : manager;
  if (stated)
    report.map("precision_recipe.reduce", narrow ? "bf16" : "fp32", settings.from(kReduced));
  else
    report.assume("precision_recipe.reduce", narrow ? "bf16" : "fp32",
                  manager ? "FSDP2Manager's default" : "FSDP2Config's default");
}

// Patterns of names: "*.q_proj", "model.layers.*.self_attn.o_proj". "*_proj" is every product.
std::string targets_of(const std::string& patterns) {
  std::string targets;
  for (std::size_t at = 0; at < patterns.size();) {
    const std::size_t end = std::min(patterns.find(' ', at), patterns.size());
    const std::string one = patterns.substr(at, end - at);
    const bool every = one == "*_proj" || one == "*.*_proj";
    targets.append(every ? "all" : one.substr(one.find_last_of("*.") + 1)).append(1, ' ');
    at = end + 1;
  }
  return targets;
}

// Adapters beside all products leave out heads, embeddings and routers in any case.
bool leaves_out_products(const std::string& patterns) {
  for (const std::string& word : words_of_name(patterns))
    if (word != "router" && word != "gate" && word != "lm" && word != "head" && word != "embed" && word != "out" &&
        word != "tokens")
      return true;
  return patterns.find("_proj") != patterns.npos;
}

}  // namespace

void map_automodel_precision(const Settings& settings, Report& report) {
  const Names kCompute = {"distributed.mp_policy.param_dtype", "distributed_config.mp_policy.param_dtype"};
  const Names kStored = {"model.torch_dtype", "model.dtype"};
  const std::string compute = settings.text(kCompute).value_or("bf16");
  if (!is_named(compute, "bf16", "bfloat16"))
    report.refuse(settings.from(kCompute), "passes in " + in_quotes(compute) + " are not modelled");
  const bool eight = settings.on({"fp8.enabled"});
  if (eight)
    report.map("precision", "fp8", "fp8.enabled");
  else
    report.assume("precision", "bf16", "products in bf16 by default");
  const Names kScales = {"fp8.recipe_name", "fp8.recipe"};
  const std::string scales = settings.text(kScales).value_or("tensorwise");
  if (eight && scales != "tensorwise")
    report.refuse(settings.from(kScales), "float8 scales by " + in_quotes(scales) + " are not modelled");
  if (eight) report.map("precision_recipe.fp8_recipe", "tensorwise", "fp8.recipe_name");
  const std::string stored = settings.text(kStored).value_or("auto");
  const bool single = is_named(stored, "fp32", "float32"), brain = is_named(stored, "bf16", "bfloat16");
  if (!single && !brain && stored != "auto")
    report.refuse(settings.from(kStored), "weights in " + in_quotes(stored) + " are not modelled");
  if (eight && !single && !report.has("training"))
    report.refuse("fp8.enabled", "weights in bf16 without a copy in fp32 beside products in fp8");
  if (!single && !eight)
    map_stored_bf16(settings, brain ? settings.from(kStored) : "torch_dtype is auto: as the checkpoint, mostly bf16",
                    report);
  map_reduction(settings, report);
}

void map_automodel_memory(const Settings& settings, bool piped, Report& report) {
  std::string mode;
  for (const char* key : {"distributed.activation_checkpointing", "distributed_config.activation_checkpointing",
                          "parallelizer.activation_checkpointing"})
    if (settings.on({key})) mode = settings.text({key}).value_or("");
  report.map("recompute.granularity",
             mode.empty()          ? "none"
             : mode == "selective" ? "selective"
                                   : "full",
             "activation_checkpointing");
  if (mode == "selective") report.map("recompute.modules", Json::array({"op"}), "activation_checkpointing");
  const Names kKept = {"distributed.reshard_after_forward", "distributed_config.reshard_after_forward"};
  const Names kStage = {"distributed.zero_dp_strategy", "distributed_config.zero_dp_strategy"};
  if (has_strategy(settings, "ddp"))
    map_sharding(0, "DDP: every rank holds everything", report);
  else if (!is_sharded_by_fsdp2(settings))
    map_sharding(settings.whole(kStage).value_or(3), "zero_dp_strategy, 3 by default", report);
  else if (settings.has(kKept) ? settings.on(kKept) : !piped)
    map_sharding(3, "FSDP shards weights, gradients and states", report);
  else
    map_sharding(2, settings.has(kKept) ? settings.from(kKept) : "FSDP keeps gathered weights beside a pipeline",
                 report);
  for (const char* key : {"distributed.offload_policy", "distributed_config.offload_policy"})
    if (const Json* const policy = settings.at(key); policy != nullptr && policy->is_object() && !policy->empty())
      map_offload("parameters", "cpu", key, report);
  const Names kOptimizer = {"optimizer._target_"};
  const std::string name = last_part(settings.text(kOptimizer).value_or("Adam"));
  if (name == "Adam" || name == "AdamW" || name == "FusedAdam")
    map_optimizer_name(name, "optimizer._target_", report);
  else
    report.refuse("optimizer._target_", in_quotes(name) + " has other costs and memory than Adam");
}

void map_automodel_method(const Settings& settings, const std::string& runtime, Report& report) {
  const bool four = settings.on({"quantization.load_in_4bit"}), eight = settings.on({"quantization.load_in_8bit"});
  if (!settings.document().contains("peft")) return;
  const bool stated = settings.on({"peft.match_all_linear"});
  const std::string named = settings.text({"peft.target_modules"}).value_or("");
  const std::string excluded = settings.text({"peft.exclude_modules"}).value_or("");
  if (leaves_out_products(excluded))
    report.refuse("peft.exclude_modules", "adapters beside some products alone: " + printable(excluded, 60));
  const bool all = stated || (named.empty() && !excluded.empty());
  if (!all && named.empty()) report.ask("training.targets", "peft has neither match_all_linear nor target_modules");
  map_adapter({.method = four ? "qlora" : "lora",
               .from = "peft",
               .rank = settings.whole({"peft.dim"}),
               .targets = all ? "all" : targets_of(named),
               .base_bits = four    ? 4
                            : eight ? 8
                                    : 16,
               .runtime = runtime},
              report);
}

void map_automodel_experts(const Settings& settings, Report& report) {
  const std::string exchange = settings.text({"model.backend.dispatcher"}).value_or("");
  if (exchange == "deepep" || exchange == "hybridep")
    report.map("moe.dispatcher", exchange, "model.backend.dispatcher");
  else if (settings.on({"model.backend.enable_deepep"}))
    report.map("moe.dispatcher", "deepep", "model.backend.enable_deepep");
  else if (report.whole("parallelism.expert").value_or(1) > 1)
    report.approximate("model.backend.dispatcher", "tokens are exchanged all to all");
  if (settings.on({"model.backend.fake_balanced_gate"}))
    report.map("moe.imbalance", 1, "model.backend.fake_balanced_gate");
}

}  // namespace foretoken::io::launch::nemo
