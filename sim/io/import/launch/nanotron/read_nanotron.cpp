// Makes a scenario of a nanotron configuration.
//
// Names and defaults: huggingface/nanotron v0.4 and main,
// src/nanotron/config/{config,parallelism_config,models_config}.py.
#include "sim/io/import/launch/nanotron/read_nanotron.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/nanotron/experts.h"
#include "sim/io/import/launch/nanotron/section.h"

namespace foretoken::io::launch::nanotron {
namespace {

using Document = nlohmann::ordered_json;

constexpr const char* kMambaConfig = "is_mamba_config";  // of examples/mamba, whose width is d_model

// Keys of the configurations of forks and of GPT-3, which nanotron's llama does not have. Empty for none.
std::string key_of_other_model(const Section& config) {
  if (config.on("is_llama_config") || config.on("is_qwen2_config")) return "";
  for (const char* key : {kMambaConfig, "is_starcoder2_config"})
    if (config.on(key)) return key;
  if (config.has("d_model")) return kMambaConfig;
  for (const char* key : {"activation_function", "layer_norm_epsilon", "scale_attn_weights"})
    if (config.has(key)) return key;
  return "";
}

// nanotron divides the hidden size by the heads, and has no norms of queries and keys: src/nanotron/config/
// models_config.py and models/qwen.py at commit 025f3141. Forks with Qwen3 have both keys: swjeong9/nanotron,
// examples/heterogeneous/configs/qwen3_14b. There they are those of Hugging Face's Qwen3, a norm for each head.
void map_heads(const Section& config, std::int64_t hidden, std::int64_t heads, Report& report) {
  const char *const kSize = "head_dim", *const kNorms = "_use_qk_norm";
  if (config.has(kSize))
    (void)config.map(report, kSize, "model.kv_channels", 0);
  else if (heads > 0)
    report.assume("model.kv_channels", hidden / heads, "the hidden size over the heads");
  if (config.on(kNorms)) report.map("model.qk_layernorm", true, config.from(kNorms));
}

// nanotron's llama: RMSNorm, SwiGLU, rotary positions, no biases (src/nanotron/models/llama.py)
void map_model(const Section& config, Report& report) {
  report.scenario["model"]["model_type"] = "megatron";
  constexpr std::pair<const char*, const char*> kSizes[] = {{"num_hidden_layers", "model.num_layers"},
                                                            {"hidden_size", "model.hidden_size"},
                                                            {"num_attention_heads", "model.num_attention_heads"},
                                                            {"intermediate_size", "model.ffn_hidden_size"},
                                                            {"vocab_size", "model.vocab_size"}};
  for (const auto& [key, to] : kSizes) config.require(report, key, to);
  const std::int64_t heads = report.whole("model.num_attention_heads").value_or(1);
  (void)config.map(report, "num_key_value_heads", "model.num_query_groups", heads);
  const std::int64_t hidden = report.whole("model.hidden_size").value_or(1);
  map_heads(config, hidden, heads, report);
  report.assume("model.activation", "swiglu", "nanotron's llama");
  report.assume("model.normalization", "RMSNorm", "nanotron's llama");
  report.assume("model.position_embedding_type", "rope", "nanotron's llama");
  report.assume("model.add_bias_linear", false, "nanotron's llama");
  if (config.on("attention_bias")) report.map("model.add_qkv_bias", true, config.from("attention_bias"));
  const bool tied = config.on("tie_word_embeddings");
  config.settle(report, "tie_word_embeddings", "model.untie_embeddings_and_output_weights", !tied);
}

// Every layer of nanotron's qwen sees this window alone, whatever the kernel: src/nanotron/models/qwen.py
// (CoreAttention) and nn/attention.py. A window as long as the sequence hides nothing.
void settle_window(const Section& config, const Section& tokens, Report& report) {
  const char* const kWindow = "sliding_window_size";
  if (!config.values().contains(kWindow)) return;
  if (!config.has(kWindow)) return report.ignore(config.from(kWindow), "");
  const auto window = whole_of(config.text(kWindow)), sequence = whole_of(tokens.text("sequence_length"));
  if (window && sequence && *window >= *sequence) return report.ignore(config.from(kWindow), "");
  report.refuse(
      config.from(kWindow),
      fmt::format("attention of every layer to a window of {} tokens, shorter than the sequence, is not modelled",
                  printable(config.text(kWindow), 20)));
}

// nanotron's kernels of attention: src/nanotron/models/qwen.py, CoreAttention. A ring that gathers keys and values of a
// few heads at a time (heads_k_stride) exists beside context ranks only, and a mask of FlexAttention in that kernel
// only.
void settle_kernel(const Section& config, const Section& parallel, Report& report) {
  const char *const kStride = "ring_attn_heads_k_stride", *const kMask = "flex_attention_mask",
                    *const kKernel = "_attn_implementation";
  if (config.has(kStride) && whole_of(parallel.text("context_parallel_size")).value_or(1) <= 1)
    report.ignore(config.from(kStride), "");
  else if (config.has(kStride))
    report.approximate(config.from(kStride), "keys and values of all heads are exchanged, which takes more memory");
  if (config.has(kMask) && config.has(kKernel) && config.text(kKernel) != "flex_attention")
    report.ignore(config.from(kMask), "");
  else if (config.has(kMask))
    report.refuse(config.from(kMask),
                  "a mask of FlexAttention, " + in_quotes(printable(config.text(kMask), 40)) + ", is not modelled");
}

// Notes what a model that is not read here states besides. --model says it.
void note_rest_of_model(const Section& config, Report& report) {
  std::string rest;
  for (const auto& [key, value] : config.values().items())
    if (!value.is_null()) rest += (rest.empty() ? "" : ", ") + key;
  report.approximate("model.model_config", "the model of --model stands for its keys: " + printable(rest, 400));
}

// parallelism_config.py, cast_str_to_pipeline_engine: "afab" and "1f1b". The default is all forward, all backward.
void map_schedule(const Section& parallel, Report& report) {
  const std::string engine = lower_case(parallel.text("pp_engine"));
  parallel.settle(report, "pp_engine", "schedule", engine == "1f1b" ? "1f1b" : "gpipe");
  if (!parallel.has("pp_engine"))
    report.approximate(parallel.from("pp_engine"),
                       "all forward passes, then all backward ones, are nanotron's default; "
                       "every micro-batch keeps its activations");
  else if (engine != "1f1b" && engine != "afab")
    report.refuse(parallel.from("pp_engine"), "expected 1f1b or afab, found " + in_quotes(parallel.text("pp_engine")));
}

void map_run(const Section& config, const Section& parallel, const Section& tokens, Report& report) {
  const std::int64_t tensor = parallel.map(report, "tp", "parallelism.tensor", 1);
  const std::int64_t stages = parallel.map(report, "pp", "parallelism.pipeline", 1);
  const std::int64_t context = parallel.map(report, "context_parallel_size", "parallelism.context", 1);
  const std::int64_t expert = parallel.map(report, "expert_parallel_size", "parallelism.expert", 1);
  const auto data = whole_of(parallel.text("dp"));
  const bool scatters = lower_case(parallel.text("tp_mode")) == "reduce_scatter";
  parallel.settle(report, "tp_mode", "parallelism.sequence_parallel", scatters && tensor > 1);
  map_schedule(parallel, report);
  tokens.require(report, "micro_batch_size", "batch.micro");
  tokens.require(report, "sequence_length", "batch.sequence_length");
  const std::int64_t rounds = whole_of(tokens.text("batch_accumulation_per_replica")).value_or(1);
  const std::int64_t micro = report.whole("batch.micro").value_or(1);
  double gpus = static_cast<double>(data.value_or(1));
  const bool folded = folds_expert_ranks(config, parallel);
  for (const std::int64_t degree : {tensor, stages, context, folded ? 1 : expert}) gpus *= static_cast<double>(degree);
  const double global =
      static_cast<double>(micro) * static_cast<double>(rounds) * static_cast<double>(data.value_or(1));
  constexpr double kMost = 1e9;
  if (!data || gpus < 1 || gpus > kMost || global > kMost)
    return report.ask("gpus", parallel.from("dp") + " and the other degrees give no number of GPUs");
  report.map("gpus", static_cast<std::int64_t>(gpus),
             folded ? "dp x tp x pp x context; expert ranks are some of them" : "dp x tp x pp x context x expert");
  report.map("batch.global", static_cast<std::int64_t>(global),
             "micro_batch_size x batch_accumulation_per_replica x dp");
}

// nanotron/helpers.py, _vocab_size_with_padding: a multiple of the number times the tensor ranks.
void pad_vocabulary(const Section& model, Report& report) {
  const std::int64_t stated = whole_of(model.text("make_vocab_size_divisible_by")).value_or(1);
  const std::int64_t tensor = report.whole("parallelism.tensor").value_or(1);
  const std::int64_t words = report.whole("model.vocab_size").value_or(0);
  constexpr std::int64_t kMost = 1 << 24;
  if (stated < 1 || tensor < 1 || words < 1 || stated > kMost || tensor > kMost || words > kMost) return;
  const std::int64_t multiple = stated * tensor, padded = (words + multiple - 1) / multiple * multiple;
  if (padded != words && padded <= kMost)
    report.map("model.vocab_size", padded, "vocab_size, rounded up to a multiple of make_vocab_size_divisible_by x tp");
}

void map_software(const Section& model, const Section& parallel, const Section& optimizer, Report& report) {
  const std::string type = model.text("dtype");
  if (type == "bfloat16")
    report.map("precision", "bf16", model.from("dtype"));
  else if (type == "float16")
    report.map("precision", "fp16", model.from("dtype"));
  else if (type == "float32")
    report.map("precision", "fp32", model.from("dtype"));
  else if (!model.has("dtype"))
    report.assume("precision", "bf16", "nanotron's default (ModelArgs of its config)");
  else
    report.refuse(model.from("dtype"), "expected bfloat16, float16 or float32, found " + in_quotes(type));
  (void)optimizer.map(report, "zero_stage", "optimizer.zero_stage", 0);
  const bool wide = optimizer.on("accumulate_grad_in_fp32");
  report.map("precision_recipe.gradients", wide ? "fp32" : "bf16", optimizer.from("accumulate_grad_in_fp32"));
  const bool recomputed = parallel.on("recompute_layer");
  parallel.settle(report, "recompute_layer", "recompute.granularity", recomputed ? "full" : "none");
  const char* const kAsync = "tp_linear_async_communication";
  if (parallel.on(kAsync))
    report.approximate(parallel.from(kAsync), "the runtime nanotron was fitted on such runs");
  else if (parallel.has(kAsync) && report.whole("parallelism.tensor").value_or(1) > 1)
    report.approximate(parallel.from(kAsync), "the runtime nanotron was fitted on runs that overlap it");
  else if (parallel.has(kAsync))
    report.ignore(parallel.from(kAsync), "");
  report.assume("runtime", "nanotron", "the only one of this framework");
}

// Lists the sections that no rule reads. Those of forks change the model or the training: infini_attention.
void sort_sections(const Document& document, Report& report) {
  constexpr std::string_view kRead[] = {"model", "parallelism", "tokens", "optimizer", "doremi"};
  constexpr std::string_view kNoEffectSections[] = {"checkpoints",       "data_stages",     "data",     "general",
                                                    "lighteval",         "logging",         "profiler", "tokenizer",
                                                    "s3_upload",         "metrics_logging", "slurm",    "lr_scheduler",
                                                    "experiment_logger", "kill_switch_path"};
  for (const auto& [name, content] : document.items()) {
    const std::string section = printable(name, 80);
    if (std::ranges::find(kRead, name) != std::end(kRead)) continue;
    if (content.is_null() || std::ranges::find(kNoEffectSections, name) != std::end(kNoEffectSections))
      report.ignore(section, "");
    else if (is_harmless_name(name))
      report.approximate(section, kHarmlessByName);
    else
      report.refuse(section, std::string("an unknown section") + kUnlessFree + section);
  }
}

}  // namespace

bool is_nanotron(const Document& document) {
  for (const char* key : {"model", "parallelism", "tokens"})
    if (!document.is_object() || !document.contains(key) || !document.at(key).is_object()) return false;
  return document.at("model").contains("model_config");
}

void read_nanotron(const Document& document, Report& report) {
  report.framework = "nanotron";
  const Section model(document, "model"), parallel(document, "parallelism"), tokens(document, "tokens");
  const Section config(model.values(), "model.model_config"), optimizer(document, "optimizer");
  const std::string other = key_of_other_model(config);
  if (other.empty()) {
    map_model(config, report);
    settle_window(config, tokens, report);
    settle_kernel(config, parallel, report);
  } else {
    report.ask("model", "state --model with its config.json");
    report.refuse(config.from(other.c_str()), other == kMambaConfig
                                                  ? "Mamba, layers of state spaces, is not modelled"
                                                  : "only the llama and qwen2 models of nanotron are modelled");
  }
  map_run(config, parallel, tokens, report);
  if (other.empty()) map_experts(config, parallel, report);
  pad_vocabulary(model, report);
  map_software(model, parallel, optimizer, report);
  if (document.contains("doremi") && !document.at("doremi").is_null())
    report.refuse("doremi", "a reference model runs beside the trained one");
  for (const Section* const each : {&model, &parallel, &tokens, &optimizer}) each->sort_rest(report);
  if (other.empty())
    config.sort_rest(report);
  else
    note_rest_of_model(config, report);
  sort_sections(document, report);
}

}  // namespace foretoken::io::launch::nanotron
