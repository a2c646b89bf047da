// Reads NeMo's keys as flags of Megatron-LM.
//
// Names and defaults: NVIDIA/NeMo v1.23 to v2.0, examples/nlp/language_modeling/conf/megatron_gpt_config.yaml and
// nemo/collections/nlp/models/language_modeling/megatron_base_model.py.
#include "sim/io/import/launch/nemo/read_nemo.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/fusions.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/megatron/same_named_keys.h"
#include "sim/io/import/launch/nemo/fsdp.h"
#include "sim/io/import/launch/nemo/gradients.h"
#include "sim/io/import/launch/nemo/halves.h"
#include "sim/io/import/launch/nemo/kernels.h"
#include "sim/io/import/launch/nemo/peft.h"
#include "sim/io/import/launch/nemo/recompute.h"
#include "sim/io/import/launch/nemo/restored.h"
#include "sim/io/import/launch/words.h"

namespace foretoken::io::launch::nemo {
namespace {

constexpr Word kNemoWords[] = {
    {"model.micro_batch_size", "micro-batch-size"},
    {"model.global_batch_size", "global-batch-size"},
    {"model.rampup_batch_size", "rampup-batch-size"},
    {"model.tensor_model_parallel_size", "tensor-model-parallel-size"},
    {"model.pipeline_model_parallel_size", "pipeline-model-parallel-size"},
    {"model.virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
    {"model.mcore_customization_config.microbatch_group_size_per_vp_stage",
     "microbatch-group-size-per-virtual-pipeline-stage"},
    {"model.context_parallel_size", "context-parallel-size"},
    {"model.expert_model_parallel_size", "expert-model-parallel-size"},
    {"model.encoder_seq_length", "seq-length"},
    {"model.seq_length", "seq-length"},
    {"model.data.train_ds.max_seq_length", "seq-length"},
    {"model.data.seq_length_dec", "decoder-seq-length"},
    {"model.encoder_num_layers", "encoder-num-layers"},
    {"model.decoder_num_layers", "decoder-num-layers"},
    {"model.pipeline_model_parallel_split_rank", "pipeline-model-parallel-split-rank"},
    {"model.relative_attention_num_buckets", "relative-attention-num-buckets"},
    {"model.share_decoder_tokens_head_embeddings", "untie-embeddings-and-output-weights", Form::kInverse},
    {"model.max_position_embeddings", "max-position-embeddings"},
    {"model.num_layers", "num-layers"},
    {"model.hidden_size", "hidden-size"},
    {"model.ffn_hidden_size", "ffn-hidden-size"},
    {"model.num_attention_heads", "num-attention-heads"},
    {"model.num_query_groups", "num-query-groups"},
    {"model.kv_channels", "kv-channels"},
    {"model.hidden_dropout", "hidden-dropout"},
    {"model.attention_dropout", "attention-dropout"},
    {"model.bias", "disable-bias-linear", Form::kInverse},
    {"model.share_embeddings_and_output_weights", "untie-embeddings-and-output-weights", Form::kInverse},
    {"model.num_moe_experts", "num-experts"},
    {"model.moe_router_topk", "moe-router-topk"},
    {"model.moe_ffn_hidden_size", "moe-ffn-hidden-size"},
    {"model.moe_token_dispatcher_type", "moe-token-dispatcher-type"},
    {"model.moe_expert_capacity_factor", "moe-expert-capacity-factor"},
    {"model.override_vocab_size", "vocab-size"},
    {"model.make_vocab_size_divisible_by", "make-vocab-size-divisible-by"},
    {"model.window_size", "window-size"},
    {"model.window_attn_skip_freq", "window-attn-skip-freq"},
    {"model.qkv_bias", "add-qkv-bias", Form::kSwitch},
    {"model.qk_layernorm", "qk-layernorm", Form::kSwitch},
    {"model.sequence_parallel", "sequence-parallel", Form::kSwitch},
    {"model.fp8_params", "fp8-param-gather", Form::kSwitch},
    {"model.optim.overlap_grad_sync", "overlap-grad-reduce", Form::kSwitch},
    {"model.optim.overlap_param_sync", "overlap-param-gather", Form::kSwitch},
    {"trainer.devices", "nproc-per-node"},
    {"trainer.num_nodes", "nnodes"}};

constexpr KeyRule kNemoKeys[] = {
    {"run.* exp_manager.* hydra.* defaults name restore_from_path trainer.* model.data.* model.tokenizer.* "
     "model.optim.* model.nsys_profile.* model.chakra_profile.* model.native_amp* model.hysteresis model.seed "
     "model.resume_from_checkpoint "
     "model.relative_attention_max_distance model.arch model.mcore_t5 model.init_method* model.use_scaled_init_method "
     "model.layernorm_* model.do_layer_norm_weight_decay "
     "model.apply_query_key_layer_scaling model.pre_process model.post_process "
     "model.onnx_safe model.apex_transformer_log_level model.gradient_as_bucket_view model.sync_batch_comm "
     "model.use_cpu_initialization model.headscale model.openai_gelu model.attention_type "
     "model.normalize_attention_scores model.rotary_* model.scale_positional_embedding model.transformer_block_type "
     "model.use_emha model.tokenizer model.fp32_residual_connection model.fp16_lm_cross_entropy "
     "model.seq_len_interpolation_factor model.grad_allreduce_chunk_size_mb model.ffn_dropout model.mcore_gpt "
     "model.transformer_engine model.name model.target model.precision model.nemo_version "
     "model.get_attention_mask_from_fusion "
     "model.moe_aux_loss_coeff model.moe_router_load_balancing_type model.moe_z_loss_coeff model.moe_input_jitter_eps "
     "model.dist_ckpt_* model.hf_* model.rope_* model.lr* model.fsdp_sharded_checkpoint model.fp8_wgrad model.fp8_e4m3 "
     "model.fp8_hybrid "
     "model.fsdp_use_orig_params model.memory_profile.* model.enable_autocast model.autocast_dtype "
     "model.megatron_lm_legacy model.enforce_divisible_batch model.validation_* model.answer_only_loss "
     "model.save_nemo* "
     "model.convert_to_hf model.nemo_path model.scale_factor model.low_freq_factor model.high_freq_factor "
     "model.old_context_len model.use_te_rng_tracker model.scaling_factor model.zero_centered_gamma "
     "model.softmax_scale "
     "model.language_model_path model.restore_from_path model.mcore_customization_config.new_decoder_architecture "
     "model.mcore_customization_config.parallel_attention model.mcore_bert "
     "model.batch_p2p_comm model.apply_embedding_scaling model.sqrt_query_pre_attn_scalar model.bert_binary_head "
     "model.log_* base_results_dir s3_checkpointing.* "
     "model.megatron_timer_kwargs.*"},
    {"model.grad_div_ar_fusion model.bias_dropout_add_fusion model.inference_flash_decoding model.moe_grouped_gemm",
     megatron::kKernelsFused},
    {"model.final_logit_softcapping model.attn_logit_softcapping", "fused kernels take as long without it"},
    {"model.deterministic_mode", "deterministic kernels are slower; the usual ones are taken"},
    // Transformer Engine takes its fused and flash attention by default: pytorch/attention, get_attention_backend.
    {"env_vars.NVTE_FUSED_ATTN env_vars.NVTE_FLASH_ATTN"},
    {"model.fp8_margin model.fp8_interval model.fp8_amax_* model.reduce_amax",
     "the scales of fp8 cost as in the runtime's recipe"},
    {"model.gc_interval model.defer_embedding_wgrad_compute model.wgrad_deferral_limit model.sharp model.ub_* "
     "model.nccl_communicator_config_path model.delay_wgrad_compute "
     "model.tp_comm_overlap_* model.tp_comm_bulk_* model.tp_comm_split_* model.tp_comm_atomic_* "
     "model.tp_comm_bootstrap_backend",
     "communication is arranged as the runtime does it"},
    {"model.moe_pad_expert_input_to_capacity model.moe_token_drop_policy model.moe_token_dropping",
     "tokens are spread evenly"},
    {"model.adapter_tuning.*", "trains adapters beside frozen weights, which is not read here", true},
    {"model.encoder.* model.decoder.* model.share_* "
     "model.masked_lm_prob model.short_seq_prob model.embedding_* model.hidden_steps "
     "model.num_self_attention_per_cross_attention",
     "parts of an encoder-decoder are not read here"},
    {"model.retro.*", "RETRO retrieves neighbours", true}};

bool is_bert(const Json& document) {
  const Json& model = document.at("model");
  const auto name = document.find("name");
  const bool named = name != document.end() && name->is_string() &&
                     name->get_ref<const std::string&>().find("bert") != std::string::npos;
  return named || model.contains("bert_binary_head") || model.contains("mcore_bert");
}

void add_bert(const Settings& settings, std::vector<Argument>& arguments) {
  const Names kHead = {"model.bert_binary_head"};
  if (settings.has(kHead) && !settings.on(kHead))
    arguments.push_back({"bert-no-binary-head", {}, settings.from(kHead)});
  const Names kPositions = {"model.position_embedding_type"};
  if (const auto type = settings.text(kPositions); type && *type != "learned_absolute")
    settings.report().refuse(settings.from(kPositions), "a BERT with positions of type " + in_quotes(*type));
}

// Messages overlap where the key says so: get_forward_backward_func's argument in megatron_gpt_model.py, later
// ModelParallelConfig. Off is the default of both.
void add_messages(const Settings& settings, std::vector<Argument>& arguments) {
  if (!settings.on({"model.overlap_p2p_comm"}) &&
      settings.whole({"model.virtual_pipeline_model_parallel_size"}).value_or(1) > 1)
    arguments.push_back({"no-overlap-p2p-communication", {}, "model.overlap_p2p_comm, off by default"});
}

// Keys of a switch that is off have no effect.
void drop_unused_offloading(const Settings& settings, std::vector<Argument>& arguments) {
  if (settings.on({"model.cpu_offloading"})) return;
  for (const char* part : {"model.cpu_offloading_activations", "model.cpu_offloading_weights"}) (void)settings.at(part);
  std::erase_if(arguments, [](const Argument& one) { return one.name.starts_with("cpu-offloading"); });
}

// Parts of ub_tp_comm_overlap, and products without it. Without the overlap they have no effect: their comments in
// ModelParallelConfig (megatron/core/model_parallel_config.py, core_v0.12.0).
void check_overlap_parts(const Settings& settings) {
  constexpr const char* kOnByDefault[] = {"model.tp_comm_overlap_ag", "model.tp_comm_overlap_rs"};
  constexpr const char* kSwitchedOff[] = {"model.tp_comm_overlap_disable_qkv", "model.tp_comm_overlap_disable_fc1"};
  if (!settings.on({"model.ub_tp_comm_overlap"})) return;
  for (const char* part : kOnByDefault)
    if (settings.has({part}) && !settings.on({part}))
      settings.report().refuse(part, "a part of the overlap of tensor parallelism is off");
  for (const char* part : kSwitchedOff)
    if (settings.on({part})) settings.report().refuse(part, "a part of the overlap of tensor parallelism is off");
}

void add_layers(const Settings& settings, std::vector<Argument>& arguments) {
  const std::string activation = settings.text({"model.activation"}).value_or("gelu");
  constexpr std::pair<std::string_view, const char*> kActivations[] = {{"swiglu", "swiglu"},
                                                                       {"fast-swiglu", "swiglu"},
                                                                       {"geglu", "geglu"},
                                                                       {"fast-geglu", "geglu"},
                                                                       {"squared-relu", "squared-relu"}};
  bool known = activation == "gelu";
  for (const auto& [theirs, flag] : kActivations)
    if (activation == theirs) arguments.push_back({flag, {}, "model.activation"}), known = true;
  if (activation == "silu")
    settings.report().approximate("model.activation", kPlainSilu);
  else if (!known)
    settings.report().refuse("model.activation", "the activation " + in_quotes(activation) + " is not modelled");
  const std::string norm = settings.text({"model.normalization"}).value_or("layernorm");
  if (settings.has({"model.normalization"}))
    arguments.push_back({"normalization", {norm == "rmsnorm" ? "RMSNorm" : "LayerNorm"}, "model.normalization"});
  if (norm != "rmsnorm" && norm != "layernorm" && norm != "layernorm1p")
    settings.report().refuse("model.normalization", in_quotes(norm) + " is not modelled");
  if (settings.has({"model.num_query_groups"}))
    arguments.push_back({"group-query-attention", {}, "model.num_query_groups"});
  const Names kPositions = {"model.position_embedding_type"};
  if (const auto type = settings.text(kPositions))
    arguments.push_back({"position-embedding-type", {*type}, settings.from(kPositions)});
  else if (settings.says_none("model.position_embedding_type"))
    arguments.push_back({"position-embedding-type", {"none"}, "model.position_embedding_type"});
}

// "bf16", "bf16-mixed", 16; megatron_amp_O2 keeps weights in 16 bits.
void add_numbers(const Settings& settings, std::vector<Argument>& arguments) {
  const std::string precision = settings.text({"trainer.precision"}).value_or("32");
  if (precision.starts_with("bf16"))
    arguments.push_back({"bf16", {}, "trainer.precision"});
  else if (precision.starts_with("16"))
    arguments.push_back({"fp16", {}, "trainer.precision"});
  if (!settings.on({"model.megatron_amp_O2"}) && !precision.starts_with("32") && !has_fsdp(settings))
    settings.report().approximate(
        "model.megatron_amp_O2",
        "it is off: weights are kept in fp32 and cast; 16-bit weights with fp32 copies are taken");
  const std::string name = settings.text({"model.optim.name"}).value_or("fused_adam");
  if (name == "distributed_fused_adam" || name == "mcore_distributed_optim") {
    arguments.push_back({"use-distributed-optimizer", {}, "model.optim.name"});
  } else if (name.find("adam") == name.npos) {
    settings.report().refuse("model.optim.name", in_quotes(name) + " has other costs and memory than Adam");
  }
  if (const auto type = settings.text({"model.optim.grad_sync_dtype"}); type && *type == "bf16")
    arguments.push_back({"grad-reduce-in-bf16", {}, "model.optim.grad_sync_dtype"});
  if (settings.on({"model.ub_tp_comm_overlap"}) && settings.on({"model.sequence_parallel"}) &&
      settings.whole({"model.tensor_model_parallel_size"}).value_or(1) > 1)
    arguments.push_back({"tp-comm-overlap", {}, "model.ub_tp_comm_overlap"});
}

// Names of layers other than GPT's: get_specs of nemo/collections/nlp/models/language_modeling/megatron_gpt_model.py.
// The section hyena is for the first of them alone.
void refuse_other_layers(const Settings& settings) {
  const std::string name = settings.text({"model.name"}).value_or("");
  if (name == "te_gpt_hyena") return settings.report().refuse("model.name", "operators of Hyena in place of attention");
  if (name == "megatron_gemma2")
    settings.report().refuse("model.name", "layers of Gemma 2: norms behind their parts, and windows");
  if (settings.has({"model.hyena"})) settings.report().ignore("model.hyena", "model.name is not te_gpt_hyena");
  (void)settings.at("model.hyena");
}

void refuse_other_models(const Settings& settings, const std::string& path, bool has_halves) {
  Report& report = settings.report();
  const bool named = path.find("/t5/") != path.npos || path.find("mt5") != path.npos || path.find("_t5_") != path.npos;
  const Json& model = settings.document().at("model");
  const bool told = named || expects_halves(settings.document());
  if (!has_halves && (told || model.contains("encoder") || model.contains("decoder")))
    report.refuse("T5", "expected the sections encoder and decoder of its model");
  if (settings.has({"model.retro"})) report.refuse("RETRO", "it retrieves neighbours");
  for (const char* word : {"vlm", "neva", "clip", "vit", "stable_diffusion", "imagen", "dreambooth", "controlnet"})
    if (path.find(std::string("/") + word) != path.npos) report.refuse(word, "not a language model");
  if (settings.has({"model.mcore_customization_config.new_decoder_architecture"}) &&
      settings.on({"model.mcore_customization_config.parallel_attention"}))
    report.approximate("model.mcore_customization_config",
                       "attention and MLP side by side are taken one after the other");
}

// Lightning's trainer computes in 32 bits where it is told nothing else.
void settle_single_precision(const Settings& settings) {
  const Names kPrecision = {"trainer.precision"};
  if (settings.report().at("precision") != "fp32") return;
  settings.report().assume("precision", "fp32",
                           fmt::format("trainer.precision is {}; --set precision=tf32 where "
                                       "torch.backends.cuda.matmul.allow_tf32 is on",
                                       printable(settings.text(kPrecision).value_or("not stated"), 40)));
}

// Recipes leave the nodes to the command that starts them. One node is the default of Lightning, and rarely meant.
void ask_for_nodes(const Settings& settings) {
  if (!settings.has({"trainer.devices"}) || settings.has({"trainer.num_nodes"})) return;
  Report& report = settings.report();
  report.forget("gpus");
  std::erase_if(report.asked, [](const Asked& one) { return one.key == "gpus"; });
  report.ask("gpus", "trainer.num_nodes is not stated; state the GPUs of all nodes with --gpus N");
}

// Sequences of the data have the second length (megatron_gpt_model.py, "sequence_length"), messages between stages the
// first.
void check_length(const Settings& settings) {
  const auto model = settings.whole({"model.encoder_seq_length"}), data = settings.whole({"model.data.seq_length"});
  if (!model || !data || *model == *data) return;
  settings.report().ask_over_default(
      "batch.sequence_length",
      fmt::format("model.encoder_seq_length {} and model.data.seq_length {} differ: the first is the length of the "
                  "model, the second that of the data; state --seq N",
                  *model, *data));
}

}  // namespace

bool is_nemo(const Json& document) {
  for (const char* section : {"trainer", "model"})
    if (!document.is_object() || !document.contains(section) || !document.at(section).is_object()) return false;
  return document.at("model").contains("tensor_model_parallel_size") ||
         document.at("model").contains("micro_batch_size");
}

void read_nemo(const Json& document, const std::string& path, Report& report) {
  Json resolved = document;
  add_default_halves(std::filesystem::path(path).parent_path().string(), resolved, report);
  resolve_references(resolved);
  const bool has_halves = lift_halves(resolved, report);
  const Settings settings(std::move(resolved), report);
  std::vector<Argument> arguments = arguments_of_words(settings, kNemoWords);
  const bool bert = !has_halves && is_bert(settings.document());
  const OwnAttention own = has_halves ? OwnAttention::kOfHalves : bert ? OwnAttention::kOfBert : OwnAttention::kOfGpt;
  add_layers(settings, arguments);
  add_numbers(settings, arguments);
  add_kernels(settings, own, arguments);
  add_recompute(settings, arguments);
  add_messages(settings, arguments);
  megatron::list_fusions(settings, "model.");
  // NeMo hands keys of Megatron-Core's configuration on by their names (build_transformer_config).
  megatron::add_same_named_keys(settings, {"model."}, kNemoKeys, megatron::SameNamed::kAll, arguments);
  drop_unused_offloading(settings, arguments);
  check_overlap_parts(settings);
  using megatron::Program;
  if (bert) add_bert(settings, arguments);
  megatron::read_arguments(std::move(arguments), report, false,
                           has_halves ? Program::kT5
                           : bert     ? Program::kBert
                                      : Program::kOther);
  report.framework = "NeMo";
  settle_recompute(settings);
  settle_attention(settings, own);
  settle_gradients(settings);
  settle_single_precision(settings);
  if (restores_model(settings)) map_restored_model(settings);
  map_peft(settings);
  map_fsdp(settings);
  refuse_other_layers(settings);
  refuse_other_models(settings, path, has_halves);
  if (has_halves) check_halves(settings);
  ask_for_nodes(settings);
  check_length(settings);
  settings.sort_rest(kNemoKeys);
}

}  // namespace foretoken::io::launch::nemo
