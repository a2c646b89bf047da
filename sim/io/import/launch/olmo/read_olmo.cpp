// Makes a scenario of a configuration of OLMo's trainer.
//
// Names and defaults: allenai/OLMo, olmo/config.py (ModelConfig, FSDPConfig, TrainConfig) and olmo/model.py. In spring
// 2023 Composer ran it: dolma/{config,model,composer}.py, whose layers are GPT-2's with gelu.
#include "sim/io/import/launch/olmo/read_olmo.h"

#include "sim/base/text.h"
#include "sim/io/import/launch/composer_sharding.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/fsdp_keys.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::olmo {
namespace {

constexpr KeyRule kOlmoKeys[] = {
    {"model.block_group_size model.clip_qkv model.attention_layer_norm_with_affine model.layer_norm_* "
     "model.bias_for_layer_norm model.norm_after model.scale_* model.emb_init_std model.low_cpu_fsdp "
     "softmax_auxiliary_loss* compile.* fused_loss auxiliary_loss_multiplier model.embedding_layer_norm "
     "model.low_precision_layernorm algorithms.fused_layernorm*",
     "kernels are fused as the runtime has them"},
    {"algorithms.gated_linear_units*", "Composer makes the MLP a gated one", true},
    {kComposerFsdpUnmodelled, "weights that are gathered or shared in other ways", true},
    {kComposerFsdpKeys},
    {"fsdp.* ddp.* single.*", "communication is arranged as the runtime does it"},
    {"model.init_* model.eos_token_id model.pad_token_id model.rope* model.alibi_bias_max model.residual_dropout "
     "model.attention_dropout model.embedding_dropout model.precision model.max_sequence_length model.vocab_size "
     "model.name model.block_type model.alibi model.include_bias model.norm_type run_name seed epoch dry_run wandb.* "
     "optimizer.* scheduler.* tokenizer.* save_* load_* remote_* no_pre_train_checkpoint keep_lr_on_load "
     "force_save_unsharded restore_* reset_* new_style_checkpoints sharded_checkpointer max_duration stop_at "
     "stop_after "
     "extra_steps_after_cancel canceled_check_interval early_stopping_factor time_limit max_grad_norm* speed_monitor.* "
     "console_log_interval gen1_gc_interval python_profiling torch_profiling eval_* device_eval_batch_size "
     "device_train_batch_size device_train_grad_accum algorithms.gradient_clipping.* "
     "evaluators* data.* instance_filter* hf_datasets_cache_dir module_outputs_save_steps"}};

// olmo/config.py: effective_n_kv_heads.
void map_groups(const Settings& settings, std::int64_t heads, Json& model) {
  const bool one = settings.on({"model.multi_query_attention"});
  const std::int64_t groups = settings.whole({"model.n_kv_heads"}).value_or(one ? 1 : heads);
  model["num_query_groups"] = groups;
}

// A gated MLP halves its width: mlp_ratio 8 is 4 times the hidden size (olmo/model.py, SwiGLU.output_multiplier).
std::int64_t width_of(const Settings& settings, std::int64_t hidden, bool gated) {
  const auto ratio = settings.whole({"model.mlp_ratio"}).value_or(4);
  const std::int64_t whole = settings.whole({"model.mlp_hidden_size"})
                                 .value_or(hidden < kMostCount && ratio < kMostCount ? hidden * ratio : 0);
  return gated ? whole / 2 : whole;
}

void map_olmo_model(const Settings& settings, Report& report) {
  const auto hidden = settings.whole({"model.d_model"}), layers = settings.whole({"model.n_layers"}),
             heads = settings.whole({"model.n_heads"});
  if (!hidden || !layers || !heads) return report.ask("model", "the model states no d_model, n_layers and n_heads");
  const bool first = !settings.document().at("model").contains("block_type");
  const std::string activation = settings.text({"model.activation_type"}).value_or(first ? "gelu" : "swiglu");
  if (first && !settings.has({"model.activation_type"}))
    report.approximate("model.activation_type", "the first code, without model.block_type, has gelu");
  const bool gated = activation == "swiglu";
  Json model = {{"model_type", "megatron"}, {"num_layers", *layers}, {"hidden_size", *hidden}};
  model["num_attention_heads"] = *heads;
  map_groups(settings, *heads, model);
  model["ffn_hidden_size"] = width_of(settings, *hidden, gated);
  if (gated) model["activation"] = "swiglu";
  const auto words = settings.whole({"model.vocab_size"});
  model["vocab_size"] = settings.whole({"model.embedding_size"}).value_or(words.value_or(50257));
  const bool alibi = settings.on({"model.alibi"}), rotary = settings.on({"model.rope"});
  model["position_embedding_type"] = alibi ? "alibi" : rotary ? "rope" : "learned_absolute";
  model["max_position_embeddings"] = settings.whole({"model.max_sequence_length"}).value_or(1024);
  const Names kBias = {"model.include_bias"}, kTied = {"model.weight_tying"};
  model["add_bias_linear"] = !settings.has(kBias) || settings.on(kBias);
  model["untie_embeddings_and_output_weights"] = settings.has(kTied) && !settings.on(kTied);
  if (settings.text({"model.layer_norm_type", "model.layernorm_type"}).value_or("default") == "rms")
    model["normalization"] = "RMSNorm";
  report.map("model", model, "the section model and its sizes");
  if (settings.on({"model.attention_layer_norm"}))
    report.refuse("model.attention_layer_norm", "norms over all heads of queries and keys are not modelled here");
  const std::string block = settings.text({"model.block_type"}).value_or("sequential");
  if (block != "sequential" && block != "llama")
    report.refuse("model.block_type", "found " + in_quotes(block) + ", which is not modelled");
}

// Without fsdp_config Composer runs DDP.
bool is_of_composer(const Settings& settings) {
  const Json& document = settings.document();
  return !document.contains("fsdp") && (document.contains("fsdp_config") || document.contains("algorithms"));
}

void map_olmo_sharding(const Settings& settings, Report& report) {
  if (is_of_composer(settings))
    return map_composer_sharding(settings, settings.text({"precision"}).value_or("fp32"), report);
  const std::string kind = settings.text({"distributed_strategy"}).value_or(settings.has({"ddp"}) ? "ddp" : "fsdp");
  if (kind == "ddp" || kind == "single") return map_sharding(0, "distributed_strategy", report);
  const Names kStrategy = {"fsdp.sharding_strategy"};
  const std::string strategy = settings.text(kStrategy).value_or("FULL_SHARD");
  note_replicas(strategy, "fsdp.sharding_strategy", report);
  map_sharding(stage_of_strategy(strategy).value_or(3), "fsdp.sharding_strategy", report);
  // olmo/config.py, FSDPPrecision: pure reduces in 16 bits and is the default, mixed reduces in fp32.
  if (settings.text({"fsdp.precision"}).value_or("pure") == "pure")
    report.map("precision_recipe.reduce", 2, "fsdp.precision");
}

// olmo/config.py, ActivationCheckpointingStrategy.
void map_olmo_recompute(const Settings& settings, Report& report) {
  if (is_of_composer(settings))
    return report.map("recompute.granularity", settings.on({"fsdp_config.activation_checkpointing"}) ? "full" : "none",
                      "fsdp_config.activation_checkpointing");
  const Names kWays = {"activation_checkpointing"};
  const std::string way = settings.text(kWays).value_or("none");
  if (way != "none" && way != "whole_layer" && way != "fine_grained")
    report.refuse("activation_checkpointing", "found " + in_quotes(way) + ": some layers only");
  report.map("recompute.granularity",
             way == "whole_layer"    ? "full"
             : way == "fine_grained" ? "selective"
                                     : "none",
             "activation_checkpointing");
}

}  // namespace

bool is_olmo(const Json& document) {
  if (!document.is_object() || !document.contains("global_train_batch_size") || !document.contains("model"))
    return false;
  const Json& model = document.at("model");
  return model.is_object() && model.contains("d_model") && (model.contains("block_type") || !model.contains("name"));
}

void read_olmo(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  report.framework = "OLMo";
  Json resolved = document;
  resolve_references(resolved);
  const Settings settings(std::move(resolved), report);
  map_olmo_model(settings, report);
  report.map("batch.sequence_length", settings.whole({"model.max_sequence_length"}).value_or(1024),
             "model.max_sequence_length");
  if (gpus)
    report.map("gpus", *gpus, "the command line");
  else
    (void)settings.map_whole({"n_gpus"}, "gpus");
  (void)settings.at("n_gpus");
  for (const auto& [name, key] :
       {std::pair{"global_train_batch_size", "batch.global"}, std::pair{"device_train_microbatch_size", "batch.micro"}})
    if (!settings.map_whole({name}, key)) report.ask(key, std::string("the file states no ") + name);
  const std::string type = settings.text({"precision"}).value_or("fp32");
  report.map("precision",
             type.find("bf16") != type.npos   ? "bf16"
             : type.find("fp16") != type.npos ? "fp16"
                                              : "fp32",
             "precision");
  map_olmo_sharding(settings, report);
  map_olmo_recompute(settings, report);
  const bool saves = settings.on({"model.memory_efficient_attention"});
  if (saves) report.approximate("model.memory_efficient_attention", "PyTorch's other fused kernel is taken as flash");
  report.map("attention", settings.on({"model.flash_attention"}) || saves ? "flash" : "unfused",
             "model.flash_attention");
  if (settings.has({"compile"})) report.approximate("compile", "kernels are fused as the runtime has them");
  if (const auto name = settings.text({"optimizer.name"})) map_optimizer_name(*name, "optimizer.name", report);
  settings.sort_rest(kOlmoKeys, Unknown::kByName);
}

}  // namespace foretoken::io::launch::olmo
