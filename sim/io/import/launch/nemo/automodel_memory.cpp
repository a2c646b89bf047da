// Maps the memory, the adapters and the experts of a recipe of NeMo AutoModel.
//
// Sources: NVIDIA-NeMo/Automodel, components/distributed/{config,activation_checkpointing,model_parallelizer}.py,
// components/moe/parallelizer.py and components/_peft/module_matcher.py.
#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/nemo/automodel_parts.h"

namespace foretoken::io::launch::nemo {
namespace {

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

// Layers of text are all layers of a language model.
void read_recompute_scope(const Settings& settings, bool recomputes, Report& report) {
  const Names kScope = {"distributed.activation_checkpointing_scope",
                        "distributed_config.activation_checkpointing_scope"};
  const auto scope = settings.text(kScope);
  if (!scope) return;
  std::string words = lower_case(*scope);
  std::ranges::replace_if(
      words, [](char c) { return c == ',' || c == '+'; }, ' ');
  const bool whole = words == "all" || words == "default" || words == "auto" || words == "language";
  if (whole || !recomputes)
    report.ignore(settings.from(kScope), "");
  else
    report.refuse(settings.from(kScope), "recomputing a part of the layers is not modelled: " + printable(*scope, 40));
}

void map_recompute(const Settings& settings, const Sharding& sharding, Report& report) {
  std::string mode = "none", from = "activation_checkpointing";
  for (const char* key : {"distributed.activation_checkpointing", "distributed_config.activation_checkpointing",
                          "parallelizer.activation_checkpointing"})
    if (settings.on({key})) {
      mode = lower_case(settings.text({key}).value_or(""));
      from = key;
    }
  if (switch_of(mode).value_or(false)) mode = "full";
  read_recompute_scope(settings, mode != "none", report);
  if (mode != "none" && mode != "full" && mode != "selective") {
    report.refuse(from, "recomputing " + in_quotes(mode) + " is not modelled");
    mode = "full";
  }
  report.map("recompute.granularity", mode, from);
  if (mode == "selective") report.map("recompute.modules", Json::array({"op"}), from);
  if (mode == "full" && !sharding.experts)
    report.approximate(
        from,
        "one input a layer stays; AutoModel recomputes the MLP, attention and both norms each by itself, "
        "and keeps four, unless the layers are GradientCheckpointingLayers of Hugging Face");
}

// Without resharding the gathered weights stay for the backward pass: stage 2. The parallelizer of experts does not
// reshard by default. Later versions let FSDP2's own setting go before.
void map_fsdp2_stage(const Settings& settings, const Sharding& sharding, Report& report) {
  const Names kCommon = {"distributed.reshard_after_forward", "distributed_config.reshard_after_forward"};
  const Names kOwn = {"distributed.moe.reshard_after_forward", "parallelizer.reshard_after_forward"};
  const bool common = settings.has(kCommon), own = sharding.experts && settings.has(kOwn);
  if (common && own && settings.on(kCommon) != settings.on(kOwn))
    report.refuse(settings.from(kOwn), "contradicts " + settings.from(kCommon));
  if (common || own) {
    const Names& stated = common ? kCommon : kOwn;
    return map_sharding(settings.on(stated) ? 3 : 2, settings.from(stated), report);
  }
  if (sharding.experts && !sharding.of_deepseek)
    map_sharding(2, "the parallelizer of experts keeps gathered weights by default", report);
  else if (sharding.piped)
    map_sharding(2, "FSDP keeps gathered weights beside a pipeline", report);
  else
    map_sharding(3, "FSDP shards weights, gradients and states", report);
}

void map_stage(const Settings& settings, const Sharding& sharding, Report& report) {
  const Names kStage = {"distributed.zero_dp_strategy", "distributed_config.zero_dp_strategy"};
  if (sharding.strategy == Strategy::kDdp)
    map_sharding(0, "DDP: every rank holds everything", report);
  else if (sharding.replicated)
    map_sharding(0, "dp_replicate_size: each shard has one rank", report);
  else if (sharding.strategy == Strategy::kFsdp2)
    map_fsdp2_stage(settings, sharding, report);
  else
    map_sharding(settings.whole(kStage).value_or(3), "zero_dp_strategy, 3 by default", report);
}

}  // namespace

std::string last_part(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

Sharding sharding_of(const Settings& settings, Report& report) {
  const Names kNames = {"distributed.strategy", "distributed_config._target_", "distributed._target_"};
  const std::string stated = settings.text(kNames).value_or("fsdp2");
  std::string name = lower_case(last_part(stated));
  std::erase_if(name, [](char c) { return c == '_' || c == '-'; });
  const std::string parallelizer = settings.text({"parallelizer._target_"}).value_or("");
  Sharding sharding{.manager = name == "fsdp2manager"};
  if (name.starts_with("ddp"))
    sharding.strategy = Strategy::kDdp;
  else if (name.starts_with("megatronfsdp") || name.starts_with("nvfsdp") || name == "mfsdp")
    sharding.strategy = Strategy::kMegatronFsdp;
  else if (!name.starts_with("fsdp2"))
    report.refuse(settings.from(kNames), "the strategy " + in_quotes(stated) + " is not modelled");
  sharding.of_deepseek = parallelizer.find("deepseek_v3.parallelizer") != parallelizer.npos;
  sharding.experts = sharding.strategy == Strategy::kFsdp2 &&
                     (report.whole("parallelism.expert").value_or(1) > 1 || sharding.of_deepseek ||
                      parallelizer.find("moe.parallelizer") != parallelizer.npos);
  return sharding;
}

void map_automodel_memory(const Settings& settings, const Sharding& sharding, Report& report) {
  map_recompute(settings, sharding, report);
  map_stage(settings, sharding, report);
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
  int base_bits = 16;
  if (eight) base_bits = 8;
  if (four) base_bits = 4;
  const bool by_default = !stated && named.empty() && excluded.empty();
  const bool all = stated || named.empty();
  map_adapter({.method = four ? "qlora" : "lora",
               .from = "peft",
               .rank = settings.whole({"peft.dim"}),
               .targets = all ? "all" : targets_of(named),
               .base_bits = base_bits,
               .runtime = runtime},
              report);
  if (by_default && report.has("training.targets"))
    report.assume("training.targets", report.at("training.targets"),
                  "AutoModel's default is *_proj, every linear product of a layer");
  // Every linear module counts, the head among them. Without match_all_linear it may be excluded by its name.
  const bool head = stated || (!excluded.empty() && excluded.find("lm_head") == excluded.npos);
  if (head)
    report.approximate(stated ? "peft.match_all_linear" : "peft.exclude_modules",
                       "an adapter stands beside the head, too: rank x (hidden size + vocabulary) weights, which are "
                       "left out");
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
