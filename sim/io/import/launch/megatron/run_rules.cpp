// Maps precision, recomputation, optimizer, overlap and kernels of Megatron-LM's flags.
//
// Rules: NVIDIA/Megatron-LM core 0.14, megatron/training/arguments.py, validate_args(); v2.5 and 23.04 for older flags.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/text.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/rules.h"

namespace foretoken::io::launch::megatron {
namespace {

bool any(const Flags& flags, std::initializer_list<const char*> names) {
  return std::ranges::any_of(names, [&](const char* name) { return flags.on(name); });
}

std::string from_any(const Flags& flags, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (flags.find(name) != nullptr) return flags.from(name);
  return "";
}

// Without a flag of 16 bits params_dtype is torch.float: arguments.py, validate_args. The weights are their own
// masters.
void map_weights_beside_fp8(const Flags& flags, const std::string& from) {
  Report& report = flags.report();
  report.map("precision_recipe.weights", "fp32", from + kFp8Alone);
  report.map("precision_recipe.master", "none", from + kFp8Alone);
  report.approximate("--fp8-format", kWideBesideFp8);
}

void map_fp8(const Flags& flags, bool fragment) {
  Report& report = flags.report();
  const std::initializer_list<const char*> kFormats = {"fp8-format", "fp8", "fp8-hybrid", "fp8-e4m3"};
  if (!any(flags, kFormats)) return;
  const std::string recipe = flags.text("fp8-recipe", "precision_recipe.fp8_recipe").value_or("delayed");
  report.map("precision", recipe == "mxfp8" ? "mxfp8" : "fp8", from_any(flags, kFormats));
  if (flags.find("fp8-recipe") != nullptr)
    report.map("precision_recipe.fp8_recipe", recipe, flags.from("fp8-recipe"));
  else
    report.assume("precision_recipe.fp8_recipe", recipe, kDefault);
  if (flags.on("fp8-param-gather"))
    report.map("precision_recipe.weights", "fp8", flags.from("fp8-param-gather"));
  else if (!fragment && !any(flags, {"bf16", "fp16"}))
    map_weights_beside_fp8(flags, from_any(flags, kFormats));
}

// bf16 accumulates and reduces in fp32 unless told otherwise; fp16 only where asked.
void map_gradients(const Flags& flags) {
  Report& report = flags.report();
  const char *const kReduce = "grad-reduce-in-bf16", *const kKeep = "accumulate-allreduce-grads-in-fp32",
                    *const kMain = "main-grads-dtype";
  if (flags.on(kReduce)) return report.map("precision_recipe.gradients", "bf16", flags.from(kReduce));
  if (flags.on(kKeep)) return report.map("precision_recipe.gradients", "fp32", flags.from(kKeep));
  if (const auto kept = flags.text(kMain, ""); kept && *kept == "bf16")
    return report.map("precision_recipe.gradients", "bf16", flags.from(kMain));
  report.assume("precision_recipe.gradients", flags.on("fp16") ? "fp16" : "fp32",
                flags.on("fp16")    ? "fp16 keeps 16-bit gradients (validate_args)"
                : !flags.on("bf16") ? "gradients have the width of the weights"
                                    : "bf16 accumulates and reduces gradients in fp32 (validate_args)");
}

void map_modules(const Flags& flags) {
  Report& report = flags.report();
  const auto stated = flags.text("recompute-modules", "recompute.modules");
  if (!stated && flags.on("moe-layer-recompute"))
    return report.map("recompute.modules", {"core_attn", "moe"}, flags.from("moe-layer-recompute"));
  if (!stated) return;
  report.map("recompute.modules", modules_of(*stated), flags.from("recompute-modules"));
}

void set_full(const Flags& flags, const std::string& from, std::initializer_list<const char*> methods,
              std::initializer_list<const char*> counts) {
  Report& report = flags.report();
  std::optional<std::string> method = "uniform";
  for (const char* name : methods)
    if (flags.find(name) != nullptr) method = flags.text(name, "recompute.method");
  std::optional<std::int64_t> layers = 1;
  for (const char* name : counts)
    if (flags.find(name) != nullptr) layers = flags.whole(name, "recompute.layers");
  if (recomputes_nothing(method.value_or(""), layers))
    return report.map("recompute.granularity", "none", from + "; " + kNoBlock);
  report.map("recompute.granularity", "full", from);
  if (method) report.map("recompute.method", *method, from);
  if (layers) report.map("recompute.layers", *layers, from);
}

void map_moments(const Flags& flags) {
  Report& report = flags.report();
  // bitsandbytes.optim.Adam8bit: bigscience-workshop/Megatron-DeepSpeed, megatron/optimizer/__init__.py. Embeddings
  // keep 32 bits (StableEmbedding).
  if (const char* const kNarrow = "use-bnb-optimizer"; flags.on(kNarrow)) {
    report.map("precision_recipe.moments", 1, flags.from(kNarrow));
    return report.approximate(flags.from(kNarrow), "moments of the embedding, of 4 bytes, are counted as one byte");
  }
  if (!flags.on("use-precision-aware-optimizer")) return;
  if (const auto master = flags.text("main-params-dtype", "precision_recipe.master"))
    report.map("precision_recipe.master", *master, flags.from("main-params-dtype"));
  auto first = flags.text("exp-avg-dtype", "precision_recipe.moments");
  auto second = flags.text("exp-avg-sq-dtype", "precision_recipe.moments");
  if (!first && !second) return;
  if (!first) first = "fp32";
  if (!second) second = "fp32";
  if (*first != *second)
    return report.refuse("--exp-avg-dtype",
                         "moments of two formats: " + printable(*first, 20) + " and " + printable(*second, 20),
                         flags.from("exp-avg-dtype"));
  report.map("precision_recipe.moments", *first, flags.from("exp-avg-dtype"));
}

}  // namespace

Json modules_of(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return std::string_view("[],'\"/").find(c) != std::string_view::npos; }, ' ');
  return Json(words_of_text(text));
}

Era era_of(const Flags& flags) {
  if (flags.on("deepspeed") || flags.find("zero-stage") != nullptr) return Era::kDeepSpeed;
  if (flags.on("use-torch-fsdp2")) return Era::kTorchFsdp;
  if (any(flags, {"use-megatron-fsdp", "use-custom-fsdp"})) return Era::kMegatronFsdp;
  const bool core = any(flags, {"use-mcore-models", "transformer-impl", "overlap-param-gather", "attention-backend",
                                "expert-model-parallel-size", "context-parallel-size", "moe-router-topk"});
  if (core) return Era::kCore;
  if (flags.find("DDP-impl") != nullptr || flags.on("checkpoint-activations")) return Era::k2021;
  // 2019 and 2020: Megatron-LM v1.0 to v2.0, arguments.py.
  for (const char* name : {"model-parallel-size", "lazy-loader", "loose-json", "presplit-sentences"})
    if (flags.find(name) != nullptr) return Era::k2021;
  // BigCode's fork of early 2023 has --attention-head-type.
  for (const char* name :
       {"activations-checkpoint-method", "activations-checkpoint-granularity", "attention-head-type"})
    if (flags.find(name) != nullptr) return Era::k2022;
  if (flags.find("data-impl") != nullptr) return Era::k2022;  // Megatron-LM has no such flag since core 0.4
  return Era::kCore;
}

void check_layers_of_code(const Flags& flags) {
  // alibaba/Pai-Megatron-Patch, megatron_patch/arguments.py; finetune_huggingface_*.py load the model from its files.
  if (const auto type = flags.text("transformer-type", ""); type && *type != "megatron")
    flags.report().refuse("--transformer-type",
                          "a model of Hugging Face, built by its own files: " + printable(*type, 40),
                          flags.from("transformer-type"));
  const auto spec = flags.text("spec", "");
  const bool local = spec && (*spec == "local" || *spec == "[local]");  // plain kernels of the same layers
  // MindSpeed-LLM has a file for each family; the flags state what differs between their layers.
  const bool of_mindspeed = spec && spec->find(".tasks.models.spec.") != std::string::npos;
  const bool described =
      of_mindspeed && std::ranges::any_of(std::array{"deepseek", "qwen", "glm", "llama"},
                                          [&](auto one) { return spec->find(one) != std::string::npos; });
  if (described)
    return flags.report().approximate("--spec", "layers as the other flags describe them: " + printable(*spec, 80));
  if (spec && !local && spec->find("gpt") == std::string::npos)
    flags.report().refuse("--spec", "layers of the code's own: " + printable(*spec, 80), flags.from("spec"));
}

namespace {

// Recipes: NVIDIA/Megatron-LM, megatron/core/enums.py, Fp4Recipe (nvfp4, custom); AMD-AGI/Primus has mxfp4,
// primus/backends/megatron/core/fp4_utils.py.
void map_fp4(const Flags& flags) {
  const char *const kFormat = "fp4-format", *const kRecipe = "fp4-recipe";
  if (flags.find(kFormat) == nullptr) return;
  const auto recipe = flags.find(kRecipe) == nullptr ? std::string("nvfp4") : flags.text(kRecipe, "precision");
  if (!recipe) return;
  if (*recipe == "nvfp4") return flags.report().map("precision", "nvfp4", flags.from(kFormat));
  const std::string what = *recipe == "mxfp4" ? "MXFP4, blocks of 32 products of 4 bits with a scale of 8 bits"
                                              : in_quotes(printable(*recipe, 40));
  flags.report().refuse(std::string("--") + kRecipe, what + ", is not modelled; of 4 bits only nvfp4 is",
                        flags.from(kRecipe));
}

}  // namespace

void map_precision(const Flags& flags, bool fragment) {
  Report& report = flags.report();
  if (flags.on("bf16"))
    report.map("precision", "bf16", flags.from("bf16"));
  else if (flags.on("fp16"))
    report.map("precision", "fp16", flags.from("fp16"));
  else if (fragment)
    report.ask("precision", "neither --bf16 nor --fp16 stands in this part of the launch");
  else
    report.assume("precision", "fp32",
                  "neither --bf16 nor --fp16; --set precision=tf32 where torch.backends.cuda.matmul.allow_tf32 is on");
  map_gradients(flags);
  map_fp8(flags, fragment);
  map_fp4(flags);
  map_moments(flags);
}

void map_recompute(const Flags& flags) {
  Report& report = flags.report();
  const char *const kNew = "recompute-granularity", *const kOld = "activations-checkpoint-granularity",
                    *const kMethod = "activations-checkpoint-method";
  // It overrules --recompute-granularity: megatron/training/arguments.py, validate_args.
  if (flags.on("recompute-activations")) {
    report.map("recompute.granularity", "selective", flags.from("recompute-activations"));
    return map_modules(flags);
  }
  for (const char* name : {kNew, kOld}) {
    const auto granularity = flags.text(name, "recompute.granularity");
    if (!granularity || *granularity == "none" || *granularity == "null") continue;
    if (*granularity == "full")
      return set_full(flags, flags.from(name), {"recompute-method", kMethod},
                      {"recompute-num-layers", "activations-checkpoint-num-layers"});
    report.map("recompute.granularity", *granularity, flags.from(name));
    return map_modules(flags);
  }
  if (flags.on("checkpoint-activations"))
    return set_full(flags, flags.from("checkpoint-activations"), {}, {"checkpoint-num-layers"});
  if (flags.find(kMethod) != nullptr && flags.text(kMethod, "recompute.granularity"))
    return set_full(flags, flags.from(kMethod), {kMethod}, {"activations-checkpoint-num-layers"});
  // megatron/core/transformer/transformer_config.py makes it selective, with the module moe
  if (const char* const layer = "moe-layer-recompute"; flags.on(layer) && report.has("model.num_experts")) {
    report.map("recompute.granularity", "selective", flags.from(layer));
    return map_modules(flags);
  }
  report.assume("recompute.granularity", "none", kDefault);
}

namespace {

// Refuses states of the optimizer that follow from a file that is not read.
void refuse_other_states(const Flags& flags) {
  const char* const kFile = "deepspeed-config";
  if (!flags.on(kFile)) return;
  flags.report().refuse_until("optimizer.zero_stage", std::string("--") + kFile,
                              "its file decides about ZeRO, offload and precision, and is not read; go on with --set "
                              "optimizer.zero_stage=N",
                              flags.from(kFile));
}

// Megatron-LM, megatron/training/arguments.py, validate_args: FSDP2 would shard all weights over the data ranks.
void map_torch_fsdp(const Flags& flags) {
  const char* const kFlag = "use-torch-fsdp2";
  Report& report = flags.report();
  report.map("optimizer.zero_stage", 3, flags.from(kFlag));
  if (report.whole("parallelism.expert").value_or(1) > 1)
    report.refuse(std::string("--") + kFlag, "Megatron-LM stops with it beside expert parallelism", flags.from(kFlag));
}

// Shards stand in each instance of the optimizer, and the instances are replicas: NVIDIA/Megatron-LM,
// megatron/core/parallel_state.py and distributed/param_and_grad_buffer.py (a reduce-scatter inside an instance, an
// all-reduce between them). Megatron-FSDP and FSDP2 then gather weights inside an instance (HSDP).
void settle_instances(const Flags& flags, Era era) {
  Report& report = flags.report();
  const char* const kInstances = "num-distributed-optimizer-instances";
  const std::int64_t instances = flags.whole(kInstances, "").value_or(1);
  if (instances <= 1 || report.whole("optimizer.zero_stage").value_or(0) == 0) return;
  if (era == Era::kMegatronFsdp || era == Era::kTorchFsdp)
    return report.refuse(
        std::string("--") + kInstances,
        fmt::format("{} replicas of shards (HSDP) are not modelled; allowed, they are sharded over all "
                    "data ranks, with less memory and longer gathers",
                    instances),
        flags.from(kInstances));
  report.approximate(
      std::string("--") + kInstances,
      "states are sharded over all data ranks, which takes less memory; no gradients are reduced between "
      "instances");
}

void map_stage_of_zero(const Flags& flags, Era era) {
  Report& report = flags.report();
  const auto sharding = flags.text("data-parallel-sharding-strategy", "optimizer.zero_stage");
  if (era == Era::kTorchFsdp) return map_torch_fsdp(flags);
  const char* const kVersion = "megatron-fsdp-version";
  if (const auto version = flags.text(kVersion, ""); era == Era::kMegatronFsdp && version && *version != "1")
    report.refuse(std::string("--") + kVersion,
                  "the second implementation of Megatron-FSDP is not modelled; the first is", flags.from(kVersion));
  if (era == Era::kMegatronFsdp && sharding) {
    constexpr std::array kStrategies = {"no_shard", "optim", "optim_grads", "optim_grads_params"};
    for (std::size_t stage = 0; stage < kStrategies.size(); ++stage)
      if (*sharding == kStrategies[stage])
        return report.map("optimizer.zero_stage", stage, flags.from("data-parallel-sharding-strategy"));
  }
  if (era == Era::kDeepSpeed && flags.find("zero-stage") != nullptr)
    return void(flags.map_whole("zero-stage", "optimizer.zero_stage"));
  if (flags.on("use-distributed-optimizer"))
    return report.map("optimizer.zero_stage", 1, flags.from("use-distributed-optimizer"));
  report.assume("optimizer.zero_stage", 0, "no --use-distributed-optimizer");
}

}  // namespace

void map_optimizer(const Flags& flags, Era era) {
  Report& report = flags.report();
  const auto name = flags.text("optimizer", "optimizer.name");
  const bool known = !name || *name == "adam" || *name == "adamw" || *name == "lamb";
  if (!known)
    report.refuse("--optimizer", in_quotes(*name) + " has other costs and memory than Adam", flags.from("optimizer"));
  if (name)
    report.map("optimizer.name", *name, flags.from("optimizer"));
  else if (flags.find("optimizer") == nullptr)
    report.assume("optimizer.name", "adam", kDefault);
  refuse_other_states(flags);
  map_stage_of_zero(flags, era);
  settle_instances(flags, era);
}

namespace {

void map_dispatcher(const Flags& flags, Era era) {
  Report& report = flags.report();
  if (!report.has("model.num_experts")) return;
  const char* const kType = "moe-token-dispatcher-type";
  const std::string type = flags.text(kType, "moe.dispatcher").value_or("");
  const std::string backend = flags.text("moe-flex-dispatcher-backend", "").value_or("deepep");
  const std::string from = flags.from(kType);
  if (flags.on("moe-enable-deepep") || type == "flex")
    report.map("moe.dispatcher", backend == "hybridep" ? "hybridep" : "deepep",
               type == "flex" ? from : flags.from("moe-enable-deepep"));
  else if (type == "alltoall" || type == "alltoall_seq")
    report.map("moe.dispatcher", "all-to-all", from);
  else if (type == "allgather")
    report.map("moe.dispatcher", "all-gather", from);
  else if (!type.empty())
    report.refuse(std::string("--") + kType, "unknown dispatcher " + in_quotes(type), from);
  else if (era == Era::kDeepSpeed)
    report.assume("moe.dispatcher", "all-to-all", "DeepSpeed's layers of experts exchange tokens all to all");
  else
    report.assume("moe.dispatcher", "all-gather", "Megatron-LM's default is allgather");
  const char* const kTrained =
      "moe-train-capacity-factor";  // of DeepSpeed, which drops tokens unless a flag forbids it
  if (era == Era::kDeepSpeed && !flags.on("disable-moe-token-dropping"))
    if (const auto factor = flags.number(kTrained, "moe.capacity_factor"); factor && *factor > 0)
      report.map("moe.capacity_factor", *factor, flags.from(kTrained));
  if (const auto factor = flags.number("moe-expert-capacity-factor", "moe.capacity_factor"); factor && *factor > 0)
    report.map("moe.capacity_factor", *factor, flags.from("moe-expert-capacity-factor"));
  if (flags.on("moe-router-force-load-balancing"))
    report.map("moe.imbalance", 1, flags.from("moe-router-force-load-balancing"));
}

// full_iteration was a scope, then an implementation of its own: NVIDIA/Megatron-LM,
// megatron/core/transformer/transformer_config.py, cuda_graph_impl.
void map_graphs(const Flags& flags) {
  Report& report = flags.report();
  const std::string kind = flags.text("cuda-graph-impl", "cuda_graphs").value_or("none");
  const bool full = kind == "full_iteration" || flags.text("cuda-graph-scope", "").value_or("") == "full_iteration";
  for (const char* name : {"cuda-graph-impl", "enable-cuda-graph", "external-cuda-graph"})
    if (flags.on(name) && (kind != "none" || std::string_view(name) != "cuda-graph-impl"))
      return report.map("cuda_graphs", full ? "full" : "layer", flags.from(name));
}

}  // namespace

void map_attention(const Flags& flags, Era era) {
  Report& report = flags.report();
  map_dispatcher(flags, era);
  map_graphs(flags);
  if (report.at("model.position_embedding_type") == "relative")
    return report.assume("attention", "unfused",
                         "fused kernels do not read the relative positions that a T5 adds to its scores");
  const auto backend = flags.text("attention-backend", "attention");
  const auto impl = flags.text("transformer-impl", "attention");
  if (backend == "auto")
    return report.assume("attention", "flash", "--attention-backend auto takes the fastest kernel that there is");
  if (backend) {
    const bool unfused = *backend == "unfused" || *backend == "local";
    return report.map("attention", unfused ? "unfused" : "flash", flags.from("attention-backend"));
  }
  for (const char* name : {"use-flash-attn", "use-flash-attn-v2", "use-flash-attn-triton", "use-flash-attn-cutlass",
                           "use-flash-attn-torch", "use-fusion-attn-v2"})
    if (flags.on(name)) return report.map("attention", "flash", flags.from(name));
  const bool old = era == Era::k2021 || era == Era::k2022 || era == Era::kDeepSpeed;
  if (impl) return report.map("attention", *impl == "local" ? "unfused" : "flash", flags.from("transformer-impl"));
  report.assume(
      "attention", old ? "unfused" : "flash",
      old ? "the code of these flags has no fused attention" : "Transformer Engine's attention is the default");
}

}  // namespace foretoken::io::launch::megatron
