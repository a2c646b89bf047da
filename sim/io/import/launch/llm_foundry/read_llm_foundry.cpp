// Makes a scenario of an llm-foundry configuration.
//
// Names and defaults: mosaicml/llm-foundry v0.1 to main, scripts/train/yamls,
// llmfoundry/models/mpt/configuration_mpt.py and llmfoundry/models/hf/hf_causal_lm.py; mosaicml/composer,
// trainer/_deepspeed.py and core/{precision,data_spec}.py. Composer's sharding is read by composer_sharding.h.
#include "sim/io/import/launch/llm_foundry/read_llm_foundry.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/io/import/launch/composer_sharding.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/names/overridden_model.h"
#include "sim/io/import/launch/olmo/read_olmo.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::llm_foundry {
namespace {

constexpr KeyRule kFoundryKeys[] = {
    {"algorithms.gradient_clipping.*"},
    {"model.ffn_config.moe_* model.ffn_config.uniform_expert_assignment model.ffn_config.mlp_impl "
     "model.ffn_config.memory_optimized_mlp",
     "layers with experts by MegaBlocks", true},
    {"model.load_in_8bit model.load_in_4bit model.quantization_config.*", "weights that are quantised in training",
     true},
    {"model.block_overrides.* model.attn_config.sliding_window_size model.attn_config.reuse_kv* "
     "model.config_overrides.block_overrides.* model.config_overrides.attn_config.sliding_window_size "
     "model.config_overrides.attn_config.reuse_kv*",
     "layers of several kinds", true},
    {"model.loss_fn model.attn_config.* model.fc_type* model.use_flash_attention_2 "
     "model.attn_implementation "
     "model.norm_type model.ffn_config.ffn_type model.ffn_config.fc_type* model.ffn_config.return_bias "
     "model.ffn_config.ffn_act_fn.* model.final_logit_softcapping model.logit_scale model.attn_impl "
     "model.use_pad_tok_in_ffn model.attn_clip_qkv model.alibi_bias_max model.softmax_scale model.attn_pdrop "
     "model.low_precision_layernorm compile_config.* algorithms.*",
     "kernels are fused as the runtime has them"},
    {"model.config_overrides.*", "a value of the model's configuration beside the sizes that are read"},
    // Arguments of a data set that stand above it: mosaicml/streaming, streaming/base/dataset.py (StreamingDataset).
    {"num_canonical_nodes shuffle* predownload cache_limit sampling_method sampling_granularity partition_algo "
     "batching_method epoch_size"},
    {kComposerFsdpUnmodelled, "weights that are gathered or shared in other ways", true},
    {kComposerFsdpKeys},
    {"variables.* train_loader.* eval_loader.* eval_loaders.* tokenizer.* tokenizer_name scheduler.* optimizer.* "
     "callbacks.* "
     "loggers.* integrations* name command image run_name seed global_seed data_local data_remote max_duration "
     "eval_* icl_* progress_bar log_to_console console_log_interval python_log_level device_eval_batch_size save_* "
     "load_* autoresume dist_timeout expandable_segments max_split_size_mb dataset.* mlm_probability model_name "
     "model.init_device model.pretrained* model.tokenizer_name model.use_pretrained model.use_auth_token model.device "
     "model.norm_eps model.use_cache model.allow_embedding_resizing model.max_position_embeddings "
     "model.should_save_peft_only run_event* flatten_* "
     "model.name model.model_type model.trust_remote_code model.use_train_metrics model.use_logits "
     "model.gradient_checkpointing "
     "model.no_bias model.resid_pdrop model.emb_pdrop model.init_config.* model.verbose model.learned_pos_emb "
     "model.model_config.* model.additional_* metadata.* compute.* cluster gpu_type scheduling.* precision "
     "accumulate_train_batch_on_tokens max_seq_len count_flops prelimiter "
     "model.peft_config.* only_* log_config profiler.* spin_dataloaders tp_config.* parallelism_config.*"}};

// v0.1 to v0.7: MPT with learned or ALiBi positions, and biases unless no_bias. Before, it was mosaic_gpt, whose keys
// of attention stand in the model: mosaicml/examples v0.0.4, examples/llm/src/mosaic_gpt.py.
void map_mpt(const Settings& settings, Report& report) {
  const auto hidden = settings.whole({"model.d_model"}), layers = settings.whole({"model.n_layers"});
  const auto heads = settings.whole({"model.n_heads"});
  if (!hidden || !layers || !heads) return report.ask("model", "the model states no d_model, n_layers and n_heads");
  Json model = {{"model_type", "megatron"}};
  model["num_layers"] = *layers;
  model["hidden_size"] = *hidden;
  model["num_attention_heads"] = *heads;
  const auto ratio = settings.number({"model.expansion_ratio", "model.mlp_ratio"}).value_or(4);
  model["ffn_hidden_size"] = static_cast<std::int64_t>(static_cast<double>(*hidden) * ratio);
  if (const auto width = settings.whole({"model.ffn_config.ffn_hidden_size"})) model["ffn_hidden_size"] = *width;
  model["vocab_size"] = settings.whole({"model.vocab_size"}).value_or(50368);
  const bool alibi = settings.on({"model.attn_config.alibi", "model.alibi"}),
             rotary = settings.on({"model.attn_config.rope"});
  model["position_embedding_type"] = alibi ? "alibi" : rotary ? "rope" : "learned_absolute";
  model["max_position_embeddings"] = settings.whole({"model.max_seq_len", "max_seq_len"}).value_or(2048);
  model["add_bias_linear"] = !settings.on({"model.no_bias"});
  model["untie_embeddings_and_output_weights"] =
      settings.has({"model.tie_word_embeddings"}) && !settings.on({"model.tie_word_embeddings"});
  if (const auto groups = settings.whole({"model.attn_config.kv_n_heads"})) model["num_query_groups"] = *groups;
  if (settings.text({"model.norm_type"}).value_or("").find("rmsnorm") != std::string::npos)
    model["normalization"] = "RMSNorm";
  const Names kQueryNorm = {"model.attn_config.qk_ln", "model.attn_qk_ln"};
  if (settings.on(kQueryNorm))
    report.refuse(settings.from(kQueryNorm), "norms over all heads of queries and keys are not modelled here");
  if (settings.text({"model.ffn_config.ffn_type"}).value_or("mptmlp").find("glu") != std::string::npos)
    model["activation"] = "swiglu";
  report.map("model", model, fmt::format("model.name {} and its sizes", settings.text({"model.name"}).value_or("")));
}

// mosaic_llama2_1.3b of princeton-nlp/LLM-Shearing, llmshearing/models/composer_llama.py: Llama with MPT's names.
void map_llama(const Settings& settings, Report& report) {
  constexpr std::pair<const char*, const char*> kSizes[] = {{"model.n_layers", "num_hidden_layers"},
                                                            {"model.d_model", "hidden_size"},
                                                            {"model.n_heads", "num_attention_heads"},
                                                            {"model.intermediate_size", "intermediate_size"},
                                                            {"model.vocab_size", "vocab_size"}};
  Json model = {{"model_type", "llama"}, {"tie_word_embeddings", false}};
  for (const auto& [theirs, ours] : kSizes) {
    const auto size = settings.whole({theirs});
    if (!size) return report.ask("model", std::string("the model states no ") + theirs);
    model[ours] = *size;
  }
  for (const char* free :
       {"model.max_seq_len", "model.init_std", "model.rms_norm_eps", "model.attn_pdrop", "model.path"})
    (void)settings.at(free);
  if (settings.on({"model.l0_module"})) report.refuse("model.l0_module", "masks that prune the model as it trains");
  report.map("model", model, "model.name and its sizes");
}

// hf_causal_lm.py makes or loads the model by its configuration, and passes no type. from_pretrained then takes fp32.
// from_config does so in older versions of transformers, and takes the configuration's type in newer ones:
// modeling_utils.py, _from_config.
void note_type_of_weights(const Settings& settings, Report& report) {
  const char* const kType = "model.config_overrides.torch_dtype";
  const auto type = settings.text({kType});
  if (!type || *type == "float32" || *type == "fp32") return;
  report.approximate(kType, settings.on({"model.pretrained"})
                                ? "weights are loaded in fp32, whatever type the configuration states"
                                : "weights are made in fp32, as older versions of transformers make them; newer ones "
                                  "make them in this type, which --set precision_recipe.weights=bf16 says");
}

// transformers' BertForMaskedLM with a BertConfig of the name and of model_config. The head reads every token.
// Source: mosaicml/examples, examples/benchmarks/bert/src/hf_bert.py.
void map_hf_bert(const Settings& settings, Report& report) {
  const Names kName = {"model.pretrained_model_name"};
  const std::string name = settings.text(kName).value_or("bert-base-uncased");
  const std::string from = settings.has(kName) ? settings.from(kName) : "the default of hf_bert.py";
  map_named_model(name, from, report);
  // transformers, models/bert/configuration_bert.py. Any other key becomes an attribute that no code reads.
  constexpr std::string_view kKnown[] = {
      "num_hidden_layers",   "hidden_size",     "num_attention_heads",          "intermediate_size",
      "vocab_size",          "type_vocab_size", "max_position_embeddings",      "position_embedding_type",
      "hidden_dropout_prob", "hidden_act",      "attention_probs_dropout_prob", "tie_word_embeddings"};
  constexpr std::string_view kSection = "model.model_config.";
  Json overrides = Json::object();
  for (const auto& [key, value] : settings.leaves()) {
    if (!key.starts_with(kSection)) continue;
    const std::string own = key.substr(kSection.size());
    const auto stated = settings.text({key});
    if (std::ranges::find(kKnown, own) == std::end(kKnown))
      report.approximate(printable(key, 80), "BertConfig has no such key, so that nothing reads it");
    else if (stated)
      overrides[own] = typed_value(*stated);
  }
  if (!overrides.empty())
    override_named_model(name, overrides, {.from = from, .overrides_from = "model.model_config"}, report);
}

void map_foundry_model(const Settings& settings, Report& report) {
  const std::string kind = settings.text({"model.name"}).value_or("");
  if (kind.find("mpt") != kind.npos || kind == "mosaic_gpt") return map_mpt(settings, report);
  if (kind.find("llama") != kind.npos && settings.has({"model.d_model"})) return map_llama(settings, report);
  if (kind == "hf_bert") return map_hf_bert(settings, report);
  if (kind.find("bert") != kind.npos && settings.has({"model.model_config"})) {
    (void)settings.at("model");
    return report.refuse("model.name", in_quotes(printable(kind, 60)) + ", an encoder of the code's own, is not read");
  }
  // The third is the name of early 2023: mosaicml/examples, examples/llm/src/hf_causal_lm.py.
  const Names kName = {"model.pretrained_model_name_or_path", "model.pretrained_model_name",
                       "model.hf_config_name_or_path", "model_name"};
  const auto name = settings.text(kName);
  if (!name) return report.ask("model", "the file names no model that is known here: " + printable(kind, 60));
  const std::string from = settings.from(kName);
  map_named_model(*name, from, report);
  // hf_causal_lm.py sets each of the overrides as an attribute of the configuration.
  const Json& model = settings.document().at("model");
  if (const auto stated = model.find("config_overrides"); stated != model.end() && stated->is_object())
    override_named_model(*name, *stated, {.from = from, .overrides_from = "model.config_overrides"}, report);
  note_type_of_weights(settings, report);
  // data/finetuning/collator.py cuts answers to the longest of a batch.
  if (kind.find("t5") != kind.npos || name->find("t5", name->rfind('/') + 1) != name->npos)
    report.ask("batch.decoder_sequence_length", "T5's answers have lengths of their own; state their mean");
}

// _deepspeed.py refuses batches that are not the trainer's, so that they state the GPUs. It adds the trainer's type.
void map_foundry_deepspeed(Json config, const std::string& precision, Report& report) {
  const char* const type = precision.find("fp16") != precision.npos ? "fp16" : "bf16";
  if (precision != "fp32" && !config.contains(type) && !config.contains("bfloat16"))
    config[type] = {{"enabled", "true"}};
  const Settings settings(std::move(config), report);
  const auto global = settings.whole({"train_batch_size"}), micro = settings.whole({"train_micro_batch_size_per_gpu"});
  const auto steps = settings.whole({"gradient_accumulation_steps"});
  const bool known = global && micro && steps && *micro > 0 && *steps > 0 && *global % (*micro * *steps) == 0;
  if (known) report.map("gpus", *global / (*micro * *steps), "deepspeed_config");
  deepspeed::map_deepspeed(settings, report);
  report.assume("runtime", report.whole("optimizer.zero_stage") == 3 ? "deepspeed-zero3-2021" : "pytorch-fsdp",
                "the nearest runtime of data parallelism");
}

// build_composer_model casts the whole model. Composer then gathers weights and keeps gradients in that type:
// llmfoundry/utils/config_utils.py, process_init_device.
void map_type_of_masters(const Settings& settings, Report& report) {
  const Names kType = {"model.master_weights_dtype"};
  const std::string type = settings.text(kType).value_or("float32");
  const bool brain = type == "bf16" || type == "bfloat16" || type == "amp_bf16";
  if (brain && report.has("training"))
    report.approximate(settings.from(kType), "frozen weights have 16 bits, adapters the width of the runtime");
  else if (brain)
    map_weights_of_16_bits(settings.from(kType), report);
  else if (type != "float32" && type != "fp32")
    report.refuse(settings.from(kType), "expected bf16 or fp32, found " + in_quotes(printable(type, 40)));
}

void map_foundry_sharding(const Settings& settings, const std::optional<Json>& deepspeed, Report& report) {
  const std::string precision = settings.text({"precision"}).value_or("amp_bf16");
  if (deepspeed) return map_foundry_deepspeed(*deepspeed, precision, report);
  map_composer_sharding(settings, precision, report);
}

// grad_accum is Composer's older way to state the micro-batch (composer/trainer/trainer.py, before 0.13).
void map_foundry_batch(const Settings& settings, Report& report) {
  const Names kMicro = {"device_train_microbatch_size"};
  if (!settings.map_whole({"global_train_batch_size"}, "batch.global"))
    report.ask("batch.global", "the file states no global_train_batch_size");
  const auto steps = settings.whole({"grad_accum"});
  if (settings.map_whole(kMicro, "batch.micro")) return;
  const auto global = report.whole("batch.global"), gpus = report.whole("gpus");
  if (!settings.has(kMicro) && steps.value_or(0) > 0 && global && gpus && *global % (*steps * *gpus) == 0)
    return report.map("batch.micro", *global / (*steps * *gpus), "global_train_batch_size / GPUs / grad_accum");
  report.ask("batch.micro", settings.has(kMicro) ? settings.from(kMicro) + " auto is the largest that fits"
                            : steps ? "it follows from grad_accum and the GPUs; state --gpus or --micro-batch"
                                    : "the file states no device_train_microbatch_size");
}

void map_foundry_run(const Settings& settings, std::optional<std::int64_t> gpus, Report& report) {
  if (!settings.map_whole({"max_seq_len", "variables.max_seq_len"}, "batch.sequence_length"))
    report.ask("batch.sequence_length", "the file states no max_seq_len");
  const Names kGpus = {"compute.gpus", "gpus", "gpu_num"};
  const auto stated = settings.whole(kGpus);
  if (!gpus) gpus = stated;
  const auto sharded = report.whole("gpus");
  if (gpus && sharded && *gpus != *sharded)
    report.refuse("fsdp_config.data_parallel_shard_degree",
                  fmt::format("the degrees of fsdp_config make up {} GPUs, found {}", *sharded, *gpus));
  if (gpus) report.map("gpus", *gpus, stated ? settings.from(kGpus) : "the command line");
  map_foundry_batch(settings, report);
  const std::string type = settings.text({"precision"}).value_or("amp_bf16");
  if (type.find("fp8") != type.npos) {
    report.map("precision", "fp8", "precision");
    report.assume("precision_recipe.fp8_recipe", "delayed", "Composer's amp_fp8 is delayed scaling");
  } else if (type.find("bf16") != type.npos || type.find("fp16") != type.npos) {
    report.map("precision", type.find("bf16") != type.npos ? "bf16" : "fp16", "precision");
  } else {
    report.map("precision", "fp32", "precision");
  }
}

// v0.2 to v0.5 put kernels of their own into Llama: llmfoundry/models/layers/llama_attention_monkeypatch.py.
void map_foundry_attention(const Settings& settings, Report& report) {
  const Names kPatch = {"model.attention_patch_type"};
  const auto patch = settings.text(kPatch);
  if (patch && *patch != "torch" && *patch != "triton")
    report.refuse(settings.from(kPatch), "expected torch or triton, found " + in_quotes(*patch));
  const bool before = settings.text({"model.name"}).value_or("") == "mosaic_gpt";
  const Names kNames = {"model.attn_config.attn_impl", "model.config_overrides.attn_config.attn_impl"};
  const Names kBefore = {"model.attn_impl"};
  const Names& names = patch ? kPatch : before ? kBefore : kNames;
  const auto attention = settings.text(names);
  if (!attention)
    return report.assume("attention", "flash", "the default of MPT, and of Hugging Face's models in PyTorch");
  const char* const kernel = *attention == "torch" ? "unfused" : *attention == "triton" ? "flash-triton" : "flash";
  report.map("attention", kernel, settings.from(names));
}

void refuse_foundry(const Settings& settings, Report& report) {
  if (settings.text({"precision"}).value_or("") == "fp32")
    report.refuse("CPU run", "precision fp32: the recipes that state it run on a CPU");
  const Names kPeft = {"model.peft_config.peft_type"};
  if (const auto type = settings.text(kPeft)) {
    const auto rank = settings.whole({"model.peft_config.r"});
    map_adapter({.method = "lora",
                 .from = "model.peft_config",
                 .rank = rank,
                 .targets = settings.text({"model.peft_config.target_modules"}).value_or("all")},
                report);
  }
}

}  // namespace

bool is_llm_foundry(const Json& document) {
  if (!document.is_object()) return false;
  if (document.contains("parameters") && document.at("parameters").is_object())
    return is_llm_foundry(document.at("parameters"));
  return document.contains("global_train_batch_size") && document.contains("model") && !olmo::is_olmo(document);
}

void read_llm_foundry(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "llm-foundry";
  Json flat = document;
  if (flat.contains("parameters") && flat.at("parameters").is_object()) {
    const Json inner = flat.at("parameters");
    flat.erase("parameters");
    flat.update(inner);
  }
  const std::set<std::string> variables = resolve_references(flat);
  const std::optional<Json> deepspeed = deepspeed::take_deepspeed_object(flat, "deepspeed_config");
  const Settings settings(std::move(flat), report);
  map_foundry_model(settings, report);
  map_foundry_sharding(settings, deepspeed, report);
  map_foundry_run(settings, gpus, report);
  report.map("recompute.granularity", settings.on({"fsdp_config.activation_checkpointing"}) ? "full" : "none",
             "fsdp_config.activation_checkpointing");
  map_foundry_attention(settings, report);
  if (const auto name = settings.text({"optimizer.name"})) map_optimizer_name(*name, "optimizer.name", report);
  refuse_foundry(settings, report);
  map_type_of_masters(settings, report);
  settings.ignore_variables(variables, kFoundryKeys);
  settings.sort_rest(kFoundryKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::llm_foundry
