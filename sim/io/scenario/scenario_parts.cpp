// How each part of a scenario is read, with the default that stands in when it is absent.
#include "sim/io/scenario/scenario_parts.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "sim/io/scenario/attention_choice.h"
#include "sim/io/scenario/precision_recipe.h"

namespace foretoken::io {
namespace {

using job::Job;
using model::RecomputeGranularity;

// Far beyond any job, and small enough that products of three degrees stay exact.
constexpr WholeRange kDegree{.low = 1, .high = 1 << 20};
constexpr WholeRange kStages{.low = 1, .high = 10'000};  // of one pipeline, and chunks of one stage
constexpr WholeRange kSequence{.low = 1, .high = 1 << 28};
constexpr WholeRange kMicroBatch{.low = 1, .high = 1 << 20};
constexpr WholeRange kGlobalBatch{.low = 1, .high = 1 << 30};

int degree(const Node& node, std::string_view key) { return static_cast<int>(node.whole_or(key, 1, kDegree)); }

/// Bytes of one element: a number, or the name of a format.
double element_bytes(const Node& node, std::string_view key, double fallback, Range range) {
  if (!node.child(key).is_text()) return node.number_or(key, fallback, range);
  return node.one_of<double>(key, {{"fp32", 4}, {"fp16", 2}, {"bf16", 2}, {"fp8", 1}, {"none", 0}});
}

void read_recipe(const Node& root, Job& scenario) {
  scenario.recipe = default_recipe(scenario.precision, scenario.runtime);
  const std::optional<Node> stated = root.find_object("precision_recipe");
  if (stated) {
    stated->allow_only({"weights", "gradients", "master", "fp8_recipe"});
    job::PrecisionRecipe& recipe = scenario.recipe;
    recipe.weight_bytes = element_bytes(*stated, "weights", recipe.weight_bytes, {.low = 1, .high = 8});
    if (stated->has("gradients")) {
      recipe.gradient_bytes = element_bytes(*stated, "gradients", 4, {.low = 1, .high = 8});
      recipe.extra_gradient_bytes = 0;
    }
    recipe.master_bytes = element_bytes(*stated, "master", recipe.master_bytes, {.low = 0, .high = 8});
    using model::Fp8Recipe;
    recipe.fp8 = stated->one_of_or("fp8_recipe", Fp8Recipe::kDelayed,
                                   {{"delayed", Fp8Recipe::kDelayed},
                                    {"tensorwise", Fp8Recipe::kTensorwise},
                                    {"blockwise", Fp8Recipe::kBlockwise},
                                    {"mxfp8", Fp8Recipe::kMxfp8}});
    if (stated->has("fp8_recipe") && scenario.precision != Precision::kFp8)
      stated->complain("fp8_recipe", "expected only with precision \"fp8\"");
  }
  const job::PrecisionRecipe& r = scenario.recipe;
  root.findings().notes.assumptions.push_back(fmt::format(
      "{} bytes per parameter before sharding: weights {}, gradients {}, master weights {}, Adam's moments {}{}",
      bytes_per_parameter(r), r.weight_bytes, r.gradient_bytes + r.extra_gradient_bytes, r.master_bytes, r.moment_bytes,
      stated ? " (as stated)"
      : scenario.runtime.fully_sharded
          ? " (FSDP: 16-bit weights exist while gathered, the fp32 shards are the master weights)"
          : " (Megatron-LM's mixed-precision recipes)"));
}

RecomputeGranularity read_granularity(const Node& node) {
  return node.as_one_of<RecomputeGranularity>({{"none", RecomputeGranularity::kNone},
                                               {"selective", RecomputeGranularity::kSelective},
                                               {"full", RecomputeGranularity::kFull}});
}

model::SelectiveModules read_modules(const Node& recompute) {
  enum class Module { kCoreAttention, kMlp, kNorm, kActivation };
  model::SelectiveModules modules;
  const auto named = recompute.find_array("modules");
  if (!named) return modules;
  modules.core_attention = false;
  if (named->empty()) recompute.complain("modules", "expected at least one module, found an empty array");
  for (const Node& name : *named) {
    switch (name.as_one_of<Module>({{"core_attn", Module::kCoreAttention},
                                    {"mlp", Module::kMlp},
                                    {"layernorm", Module::kNorm},
                                    {"activation", Module::kActivation}})) {
      case Module::kCoreAttention:
        modules.core_attention = true;
        break;
      case Module::kMlp:
        modules.mlp = true;
        break;
      case Module::kNorm:
        modules.layer_norm = true;
        break;
      case Module::kActivation:
        modules.activation = true;
        break;
    }
  }
  return modules;
}

}  // namespace

void read_parallelism(const Node& root, Job& scenario) {
  const Node node = root.object_or_empty("parallelism");
  node.allow_only({"tensor", "pipeline", "virtual_pipeline", "data", "context", "context_exchange", "expert",
                   "sequence_parallel", "embedding_and_head_as_layers", "layers_per_stage"});
  job::Parallelism& parallelism = scenario.parallelism;
  parallelism.tensor = degree(node, "tensor");
  parallelism.pipeline = static_cast<int>(node.whole_or("pipeline", 1, kStages));
  parallelism.virtual_pipeline = static_cast<int>(node.whole_or("virtual_pipeline", 1, kStages));
  parallelism.data = static_cast<int>(node.whole_or("data", 0, kDegree));
  parallelism.context = degree(node, "context");
  parallelism.context_exchange = node.one_of_or("context_exchange", model::ContextExchange::kRing,
                                                {{"ring", model::ContextExchange::kRing},
                                                 {"all-gather", model::ContextExchange::kAllGather},
                                                 {"all-to-all", model::ContextExchange::kAllToAll}});
  parallelism.expert = degree(node, "expert");
  parallelism.sequence_parallel = node.boolean_or("sequence_parallel", false);
  parallelism.embedding_and_head_as_layers = node.boolean_or("embedding_and_head_as_layers", false);
  if (const auto stated = node.find_array("layers_per_stage"))
    for (const Node& layers : *stated)
      parallelism.layers_per_stage.push_back(static_cast<int>(layers.as_whole(kDegree)));
}

void read_batch(const Node& root, Job& scenario) {
  const Node node = root.object("batch");
  node.allow_only({"micro", "global", "sequence_length", "microbatch_group"});
  scenario.batch.micro = node.whole_or("micro", 1, kMicroBatch);
  scenario.batch.global = node.whole("global", kGlobalBatch);
  scenario.batch.sequence_length = node.whole("sequence_length", kSequence);
  scenario.batch.microbatch_group = static_cast<int>(node.find_whole("microbatch_group", kDegree).value_or(0));
}

void read_recompute(const Node& root, Job& scenario) {
  job::Recompute& recompute = scenario.recompute;
  if (!root.has("recompute") || root.child("recompute").is_text()) {
    const bool stated = root.text_or("recompute", "none") != "none";
    if (stated) recompute.granularity = read_granularity(root.child("recompute"));
    return;
  }
  const Node node = root.child("recompute").as_object();
  node.allow_only({"granularity", "method", "layers", "modules"});
  recompute.granularity = read_granularity(node.child("granularity"));
  recompute.block = node.one_of_or("method", false, {{"uniform", false}, {"block", true}});
  recompute.layers = static_cast<int>(node.whole_or("layers", 1, kDegree));
  recompute.modules = read_modules(node);
  const bool full = recompute.granularity == RecomputeGranularity::kFull;
  const bool selective = recompute.granularity == RecomputeGranularity::kSelective;
  for (const char* key : {"method", "layers"})
    if (!full && node.has(key)) node.complain(key, "expected only with granularity \"full\"");
  if (!selective && node.has("modules")) node.complain("modules", "expected only with granularity \"selective\"");
}

void read_optimizer(const Node& root, Job& scenario) {
  const Node node = root.object_or_empty("optimizer");
  node.allow_only({"name", "zero_stage"});
  scenario.optimizer.name = node.one_of_or<std::string>("name", "adam", {{"adam", "adam"}, {"adamw", "adam"}});
  scenario.optimizer.zero_stage =
      static_cast<int>(node.whole_or("zero_stage", scenario.runtime.default_zero_stage, {.low = 0, .high = 3}));
}

void read_run(const Node& root, Job& scenario) {
  const std::optional<Node> node = root.find_object("run");
  if (!node) return;
  node->allow_only({"tokens", "price_per_gpu_hour", "currency"});
  job::TrainingRun run;
  run.tokens = node->number("tokens", {.low = 0, .high = 1e18, .above_low = true});
  run.price_per_gpu_hour = node->find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  run.currency = node->text_or("currency", "USD");
  if (!run.price_per_gpu_hour && scenario.cluster.price_per_gpu_hour) {
    run.price_per_gpu_hour = scenario.cluster.price_per_gpu_hour;
    root.findings().notes.assumptions.push_back(fmt::format(
        "price {} {} per GPU hour: from cluster {}", *run.price_per_gpu_hour, run.currency, scenario.cluster.name));
  }
  scenario.run = run;
}

void read_precision(const Node& root, Job& scenario) {
  scenario.precision =
      root.one_of_or("precision", Precision::kBf16,
                     {{"fp16", Precision::kFp16}, {"bf16", Precision::kBf16}, {"fp8", Precision::kFp8}});
  read_recipe(root, scenario);
}

void read_attention(const Node& root, Job& scenario) {
  const job::Runtime& runtime = scenario.runtime;
  const AttentionChoice attention =
      attention_or(root, "attention", {runtime.default_attention, runtime.default_flash_kernel});
  scenario.attention = attention.kind;
  scenario.flash_kernel = attention.kernel;
  if (const auto dropout = root.find_number("dropout", kFraction))
    scenario.model.hidden_dropout = scenario.model.attention_dropout = *dropout;
}

void read_overlap(const Node& root, Job& scenario) {
  const Node node = root.object_or_empty("overlap");
  node.allow_only({"grad_reduce", "param_gather", "tensor_parallel", "p2p"});
  job::Runtime& runtime = scenario.runtime;
  const bool sharded = scenario.optimizer.zero_stage >= 1;
  const bool interleaves = scenario.parallelism.virtual_pipeline > 1;
  scenario.overlap.grad_reduce = node.boolean_or("grad_reduce", runtime.overlap_grad_reduce);
  scenario.overlap.param_gather = node.boolean_or("param_gather", runtime.overlap_param_gather && sharded);
  scenario.overlap.p2p = node.boolean_or("p2p", runtime.overlap_p2p && interleaves);
  scenario.overlap.tensor_parallel = node.boolean_or("tensor_parallel", false);
  if (scenario.overlap.param_gather && !sharded)
    node.complain("param_gather", "expected false: parameters are gathered only with optimizer.zero_stage 1 to 3");
  if (scenario.overlap.p2p && !interleaves) {
    scenario.overlap.p2p = false;
    root.findings().notes.warnings.push_back(
        "overlap.p2p is ignored: only interleaved schedules (virtual_pipeline > 1) overlap it");
  }
}

}  // namespace foretoken::io
