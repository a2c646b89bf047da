// Reads GPT-NeoX's settings as flags of Megatron-LM, from which it descends.
//
// Names and defaults: EleutherAI/gpt-neox, configs/neox_arguments.md, megatron/neox_arguments/{neox_args,arguments}.py
// and megatron/model/transformer.py (the width of gated MLPs).
#include "sim/io/import/launch/neox/read_neox.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/configuration_questions.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/deepspeed/zero_keys.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/words.h"

namespace foretoken::io::launch::neox {
namespace {

constexpr Word kNeoxWords[] = {{"num_layers", "num-layers"},
                               {"hidden_size", "hidden-size"},
                               {"num_attention_heads", "num-attention-heads"},
                               {"seq_length", "seq-length"},
                               {"max_position_embeddings", "max-position-embeddings"},
                               {"hidden_dropout", "hidden-dropout"},
                               {"attention_dropout", "attention-dropout"},
                               {"no_weight_tying", "untie-embeddings-and-output-weights", Form::kSwitch},
                               {"moe_num_experts", "num-experts"},
                               {"moe_expert_parallel_size", "expert-model-parallel-size"},
                               {"sequence_parallel", "sequence-parallel", Form::kSwitch},
                               {"padded_vocab_size", "padded-vocab-size"},
                               {"make_vocab_size_divisible_by", "make-vocab-size-divisible-by"}};

constexpr KeyRule kNeoxKeys[] = {
    {"kl_impl dpo_* kto_* reinforce_* train_impl", "preference, reward or RL training", true},
    {"mamba_* rwkv_*", "not a transformer", true},
    {"sparsity_config.* gmlp_attn_dim", "sparse attention or gMLP", true},
    {"soft_prompt_tuning soft_prompt_tuning.*", "prompt tuning", true},
    {"curriculum_learning.*", "the length of the sequences changes during the run", true},
    {"amp.*", "mixed precision by Apex", true},
    {"lora* peft* moe_lora*", "adapters beside frozen weights", true},
    {"te_fp8_mha", "Transformer Engine's fp8_autocast around whole layers, whose fp8 products are not read here", true},
    {"te_* transformer_engine", "kernels of Transformer Engine in this code"},
    {"scaled_* bias_* rope_fusion layernorm_fusion rmsnorm_fusion apply_query_key_layer_scaling "
     "attention_softmax_in_fp32 use_flashattn_swiglu use_flash_cross_entropy full_precision_lm_cross_entropy fused* "
     "synchronize_each_layer partition_activations "
     "fp32_allreduce contiguous_checkpointing checkpoint_in_cpu* zero_optimization.* deepspeed_extra_args.* "
     "gpt_j_tied mmap_warmup delay_allreduce communication_data_type parallel_output apply_layernorm_1p onnx_safe "
     "use_bias_in_norms use_bias_in_attn_linear use_bias_in_mlp make_vocab_size_divisible_by",
     "kernels are fused and communication is arranged as the runtime does it"},
    {"moe_* pack_impl use_tutel reset_position_ids reset_attention_mask",
     "tokens are spread evenly, and none is dropped"},
    {"optimizer.* fp16.* bf16.* wall_clock_breakdown steps_per_print gradient_clipping warmup* min_lr lr* lr_* "
     "distributed_backend checkpoint_* data_* data_impl weight_decay log_* eval_* train_iters init_method* "
     "output_layer_* rotary_* num_workers tokenizer_* keep_last_* vocab_file merge_file save load extra_save_iters "
     "train_* valid_* test_* pos_train* pos_valid* pos_test* neg_* finetune split wandb_* use_wandb comet_* use_comet "
     "gas "
     "launcher deepspeed_slurm deepspeed_mpi hostfile tensorboard_* allow_chopped dataset_impl override_lr_scheduler "
     "decay_lr_to "
     "comment peak_theoretical_tflops global_num_gpus attention_type sliding_window_width serve_model_weights "
     "online_dataserver_ports "
     "fp32_reinforce use_bnb_optimizer rms_norm_epsilon layernorm_epsilon norm_* short_seq_prob seed num_gpus "
     "zero_allow_untested_optimizer text_gen_type temperature top_p top_k maximum_tokens sample_* char_level_ppl s3_* "
     "use_mup mup_* coord_check prescale_gradients include exclude master_* no_ssh_check force_multi user_script "
     "model_parallel_size output_layer_parallelism mlp_type use_shared_fs profile* nsys* memory_profiling* dump_state "
     "recompute is_pipe_parallel hysteresis dynamic_loss_scale loss_scale loss_scale_window min_scale iteration "
     "do_train iteration_offset batch_iteration_offset "
     "do_valid do_test eod_mask_loss adlr_autoresume adlr_autoresume_interval weight_by_num_documents "
     "weighted_sampler_alpha no_load_optim no_load_rng no_save_optim no_save_rng use_checkpoint_lr_scheduler clip_grad "
     "exit_interval detect_nvlink_pairs autotuning_run rank local_rank label_data_paths pretrained_checkpoint "
     "flops_profiler.* csv_monitor.* tensorboard.* wandb.* elasticity.* checkpoint.* sparse_gradients fp16_lm* "
     "fim_* git_hash enable_expert_tensor_parallelism activation_checkpointing.* data_types.* account jobname"}};

// The LLaMA block of 2023 halves nothing, and rounds up to 256: LLaMAParallelMLP of the code before swiglu was an
// activation. Forks call it gated.
std::int64_t llama_width(std::int64_t hidden, std::int64_t multiple) {
  return (8 * hidden / 3 + multiple - 1) / multiple * multiple;
}

// The inner width of a gated MLP: two thirds of I, halved, and rounded up.
std::int64_t gated_width(std::int64_t stated, std::int64_t multiple) {
  const std::int64_t half = stated * 2 / 3 / 2;
  return (half + multiple - 1) / multiple * multiple;
}

void add_mlp(const Settings& settings, std::vector<Argument>& arguments) {
  const std::string activation = settings.text({"activation"}).value_or("gelu");
  const std::string kind = settings.text({"mlp_type"}).value_or("regular");
  const bool llama = (activation == "silu" || activation == "gelu") && (kind == "llama" || kind == "gated");
  const bool gated = llama || activation == "swiglu" || activation == "geglu" ||
                     (activation == "silu" && settings.text({"norm"}).value_or("") == "rmsnorm");
  const auto hidden = settings.whole({"hidden_size"});
  const auto stated = settings.whole({"intermediate_size"});
  const auto multiple = settings.whole({"mlp_multiple_of"});
  const bool by_gelu = activation == "geglu" || activation == "gelu";
  if (gated) arguments.push_back({by_gelu ? "geglu" : "swiglu", {}, "activation"});
  if (activation == "silu" && !gated)
    settings.report().approximate("activation", kPlainSilu);
  else if (activation != "gelu" && !gated)
    settings.report().refuse("activation", "the activation " + in_quotes(activation) + " is not modelled");
  if (!hidden) return;
  const std::int64_t width = stated.value_or(4 * *hidden);
  const std::string place = stated ? "intermediate_size" : "hidden_size";
  const std::int64_t rounded =
      llama   ? stated.value_or(llama_width(*hidden, std::max<std::int64_t>(1, multiple.value_or(256))))
      : gated ? gated_width(width, std::max<std::int64_t>(1, multiple.value_or(1)))
              : width;
  arguments.push_back({"ffn-hidden-size", {fmt::format("{}", rounded)}, place});
  if (gated && !llama)
    settings.report().approximate(
        "the width of the MLP",
        fmt::format("two thirds of {}, halved and rounded up; older code halves nothing", width));
}

void add_layer_parts(const Settings& settings, std::vector<Argument>& arguments) {
  const auto groups = settings.whole({"num_kv_heads"});
  if (groups) arguments.push_back({"num-key-value-heads", {fmt::format("{}", *groups)}, "num_kv_heads"});
  const std::string norm = settings.text({"norm"}).value_or("layernorm");
  constexpr const char* kPlain = "non_parametric_layernorm";  // NonParametricLayernorm of megatron/model/norms.py
  if (norm != "layernorm" && norm != "rmsnorm" && norm != kPlain)
    settings.report().refuse("norm", in_quotes(norm) + " is not modelled");
  const char* const word = norm == "rmsnorm" ? "RMSNorm" : norm == kPlain ? kPlain : "LayerNorm";
  arguments.push_back({"normalization", {word}, "norm"});
  const std::string positions = settings.says_none("pos_emb") ? "none" : settings.text({"pos_emb"}).value_or("learned");
  arguments.push_back(
      {"position-embedding-type", {positions == "learned" ? "learned_absolute" : positions}, "pos_emb"});
  const Names kBias = {"use_bias_in_attn_linear"};
  const bool bias = !settings.has(kBias) || settings.on(kBias);
  if (!bias) arguments.push_back({"disable-bias-linear", {}, "use_bias_in_attn_linear"});
  (void)settings.on({"use_bias_in_mlp"});
  if (settings.on({"use_qk_layernorm"})) arguments.push_back({"qk-layernorm", {}, "use_qk_layernorm"});
  // Of Stability's fork. The published Stable LM 2 has such norms: huggingface/transformers,
  // models/stablelm/modeling_stablelm.py, StableLmLayerNormPerHead.
  if (settings.on({"qk_norm"})) {
    arguments.push_back({"qk-layernorm", {}, "qk_norm"});
    settings.report().approximate("qk_norm", "a norm of each head of queries and keys, with one weight for all heads");
  }
  const std::string heads = settings.text({"attention_head_type"}).value_or("multihead");  // of Stability's fork
  if (heads != "multihead" && !groups)
    settings.report().refuse("attention_head_type", in_quotes(heads) + " is not read");
}

// A size of 0 is one rank: megatron/neox_arguments/arguments.py, calculate_derived.
void add_degrees(const Settings& settings, std::vector<Argument>& arguments) {
  const auto add = [&](const char* flag, const char* key) {
    const std::int64_t size = settings.whole({key}).value_or(1);
    arguments.push_back({flag, {fmt::format("{}", size == 0 ? 1 : size)}, key});
  };
  add("tensor-model-parallel-size", "model_parallel_size");
  add("pipeline-model-parallel-size", "pipe_parallel_size");
}

// Keys for DeepSpeed's launcher. A file of hosts decides about the nodes where they are not stated.
std::optional<std::int64_t> gpus_of_launcher(const Settings& settings) {
  std::vector<Argument> counts;
  for (const auto& [key, flag] :
       {std::pair("include", "include"), std::pair("num_gpus", "num-gpus"), std::pair("num_nodes", "num-nodes")})
    if (const auto value = settings.text({key})) counts.push_back({flag, {*value}, key});
  const bool each = last_of(counts, "num-gpus") != nullptr && counts.size() == 1;
  return each && settings.has({"hostfile"}) ? std::nullopt : megatron::gpus_of_counts(std::move(counts));
}

// [[["flash"], 32]]: kinds of attention and the layers that have them.
void add_attention(const Settings& settings, std::vector<Argument>& arguments) {
  const Json* const config = settings.at("attention_config");
  const std::string text = config == nullptr ? "" : config->dump(-1, ' ', false, Json::error_handler_t::replace);
  for (const char* other : {"mamba", "rwkv", "gmlp", "sparse", "local", "bigbird", "bslongformer"})
    if (text.find(other) != text.npos) {
      const bool network = std::string_view(other) == "mamba" || std::string_view(other) == "rwkv";
      settings.report().refuse(std::string("attention ") + other, network ? "not a transformer" : "it is not modelled");
    }
  if (text.find("flash") != text.npos) arguments.push_back({"use-flash-attn", {}, "attention_config"});
}

void add_numerics(const Settings& settings, std::vector<Argument>& arguments) {
  const std::string type = settings.text({"precision"}).value_or("");
  const Names kBrain = {"bf16.enabled", "bf16.bf16"}, kHalf = {"fp16.enabled", "fp16.fp16"};
  const bool brain =
      type == "bfloat16" || settings.on(kBrain) || settings.text({"fp16.type"}).value_or("") == "bfloat16";
  if (brain)
    arguments.push_back({"bf16", {}, settings.has({"precision"}) ? "precision" : "bf16"});
  else if (type == "fp16" || settings.on(kHalf))
    arguments.push_back({"fp16", {}, "fp16"});
  const std::int64_t stage = settings.whole({"zero_optimization.stage"}).value_or(0);
  arguments.push_back({"deepspeed", {}, "GPT-NeoX"});
  arguments.push_back({"zero-stage", {fmt::format("{}", stage)}, "zero_optimization.stage"});
  if (settings.on({"checkpoint_activations"})) {
    arguments.push_back({"recompute-granularity", {"full"}, "checkpoint_activations"});
    arguments.push_back({"recompute-method", {"uniform"}, "checkpoint_activations"});
    arguments.push_back(
        {"recompute-num-layers", {settings.text({"checkpoint_num_layers"}).value_or("1")}, "checkpoint_num_layers"});
  }
}

// DeepSpeed's engine switches it off at stage 1, and reduces behind the backward pass without ZeRO. From
// pipe_parallel_size 1 on the model is a pipeline module, which reduces behind its last pass: deepspeed/runtime/
// engine.py and pipe/engine.py.
void map_overlap(const Settings& settings, Report& report) {
  const std::int64_t stage = settings.whole({"zero_optimization.stage"}).value_or(0);
  if (!settings.has({"zero_optimization.overlap_comm"}) && stage != 3) return;
  const bool stages = settings.whole({"pipe_parallel_size"}).value_or(0) > 0;
  const auto [gradients, parameters] = deepspeed::overlaps_of(settings, stage);
  report.map("overlap.grad_reduce", gradients && stage > 1 && !stages,
             "zero_optimization.overlap_comm, ignored below stage 2 and by a pipeline module");
  if (stage == 3)
    report.map("overlap.param_gather", parameters,
               "zero_optimization.overlap_comm, on by default for stage 3, and stage3_prefetch_bucket_size");
}

// Keys of experts that no rule knows make other layers: num_experts of the first code with DeepSpeed's experts.
void refuse_other_experts(const Settings& settings) {
  Report& report = settings.report();
  const auto is_known = [](const std::string& key) {
    return std::ranges::any_of(kNeoxKeys, [&](const KeyRule& rule) { return lists_key(rule.keys, key); });
  };
  for (const auto& [key, value] : settings.leaves()) {
    const auto words = words_of_name(key);
    const bool of_experts = std::ranges::any_of(
        words, [](const std::string& word) { return word == "moe" || word == "expert" || word == "experts"; });
    if (!of_experts || settings.was_asked(key) || is_known(key) || value->is_null()) continue;
    const std::string text = settings.text({key}).value_or("");
    const bool dense = (key == "num_experts" || key == "moe_num_experts") && whole_of(text) == 1;
    if (dense || text == "false")
      report.ignore(printable(key, 80), "");
    else
      report.refuse(printable(key, 80),
                    "experts of a fork or of old code, which are not read here; without them the "
                    "model would be a dense one");
  }
}

// Dropout was 0.1, and is 0 in the code that has train_impl and the packing of documents: EleutherAI/gpt-neox,
// configs/neox_arguments.md and megatron/neox_arguments/neox_args.py.
void assume_dropout(const Settings& settings) {
  constexpr std::string_view kNewer[] = {"train_impl", "pack_impl", "dataset_impl", "allow_chopped", "train_epochs"};
  const auto* const newer = std::ranges::find_if(kNewer, [&](std::string_view key) { return settings.has({key}); });
  for (const std::string key : {"hidden_dropout", "attention_dropout"}) {
    if (settings.has({key})) continue;
    const bool dated = newer != std::end(kNewer);
    settings.report().assume(
        "model." + key, dated ? 0.0 : 0.1,
        dated ? fmt::format("GPT-NeoX's default in the code that has {} (neox_args.py)", *newer)
              : std::string("GPT-NeoX's default (neox_args.py); newer code takes 0, --set model.") + key + "=0");
  }
}

// The file has keys in place of flags.
void settle_unstated_precision(bool whole, Report& report) {
  constexpr const char* kUnstated = "neither precision nor a section fp16 or bf16 that is on";
  drop_question_of_flags("precision", report);
  if (!report.has("precision") && !whole)
    report.ask("precision", fmt::format("{} stands in this part of the configuration", kUnstated));
  if (report.at("precision") == "fp32")
    report.assume(
        "precision", "fp32",
        fmt::format("{} is stated; --set precision=tf32 where torch.backends.cuda.matmul.allow_tf32 is on", kUnstated));
}

void refuse_other_trainings(const Settings& settings, Report& report) {
  const std::string kind = settings.text({"train_impl"}).value_or("normal");
  if (kind != "normal")
    report.refuse("train_impl " + printable(kind, 20), "preference, reward or RL training", "train_impl");
  if (!settings.has({"num_layers"}))
    report.refuse("num_layers", "part of a configuration: it needs a model file as well; give both files");
}

// The trainer makes the optimizer itself, of which cpu_adam alone updates states in the host's memory: get_optimizer of
// megatron/training.py.
void map_states_on_host(const Settings& settings, Report& report) {
  Report own;
  const Settings section(settings.document(), own);
  const std::int64_t stage = settings.whole({"zero_optimization.stage"}).value_or(0);
  deepspeed::map_offloads(section, stage, own);
  if (!own.has("offload") && own.refused.empty()) return;
  const std::string type = lower_case(settings.text({"optimizer.type"}).value_or("adam"));
  if (type == "cpu_adam") return deepspeed::map_offloads(settings, stage, report);
  report.refuse("zero_optimization", "states or parameters in the memory of the host, with the optimizer " +
                                         in_quotes(printable(type, 40)) +
                                         ", which updates them on the GPU; cpu_adam is modelled");
}

std::string plain_key(std::string key) {
  std::ranges::replace(key, '-', '_');
  return key;
}

}  // namespace

bool is_neox(const Json& document) {
  if (!document.is_object()) return false;
  int known = 0;
  for (const auto& [key, value] : document.items())
    for (const char* own : {"pipe_parallel_size", "model_parallel_size", "no_weight_tying", "gpt_j_residual", "pos_emb",
                            "checkpoint_activations", "synchronize_each_layer", "checkpoint_factor", "data_impl"})
      known += plain_key(key) == own ? 1 : 0;
  return known >= 2;
}

Json merged_neox(const std::vector<Json>& documents) {
  Json merged = Json::object();
  for (const Json& document : documents)
    if (document.is_object())
      for (const auto& [key, value] : document.items()) merged[plain_key(key)] = value;
  return merged;
}

namespace {

// GPT-NeoX has experts of MegaBlocks, which are no class of DeepSpeed's: EleutherAI/gpt-neox, megatron/model/moe.py,
// ParallelDroplessMoE.
void refuse_sharded_experts(Report& report) {
  report.deepspeed_experts = false;
  const std::int64_t expert = report.whole("parallelism.expert").value_or(1),
                     stage = report.whole("optimizer.zero_stage").value_or(0);
  if (expert > 1 && stage >= 2)
    report.refuse("moe_expert_parallel_size",
                  fmt::format("what DeepSpeed's stage {} shards of experts on {} ranks is not known", stage, expert));
}

}  // namespace

void read_neox(const Json& document, std::optional<std::int64_t> gpus, Report& report) {
  const Settings settings(document, report);
  std::vector<Argument> arguments = arguments_of_words(settings, kNeoxWords);
  add_mlp(settings, arguments);
  add_layer_parts(settings, arguments);
  add_degrees(settings, arguments);
  add_attention(settings, arguments);
  add_numerics(settings, arguments);
  if (settings.has({"moe_num_experts"})) {
    arguments.push_back({"moe-router-topk", {settings.text({"moe_top_k"}).value_or("1")}, "moe_top_k"});
    const Names kInterval = {"moe_expert_interval", "expert_interval", "moe_freq"};
    arguments.push_back({"moe-layer-freq",
                         {settings.text(kInterval).value_or("1")},
                         settings.has(kInterval) ? settings.from(kInterval) : "moe_expert_interval"});
  }
  const bool whole = settings.has({"optimizer"}) || settings.has({"train_micro_batch_size_per_gpu"});
  megatron::read_arguments(std::move(arguments), report, !whole);
  report.framework = "GPT-NeoX";
  settle_unstated_precision(whole, report);
  refuse_other_experts(settings);
  refuse_sharded_experts(report);
  assume_dropout(settings);
  if (constexpr const char* kStage = "zero_optimization.stage"; !settings.has({kStage}))
    report.assume("optimizer.zero_stage", 0, std::string(kStage) + " is not stated, and 0 by default");
  map_overlap(settings, report);
  deepspeed::map_kept_gradients(settings, report);
  deepspeed::note_unknown_zero_keys(settings, report);
  if (gpus) report.map("gpus", *gpus, "the command line");
  if (const auto launched = gpus ? std::nullopt : gpus_of_launcher(settings)) {
    gpus = launched;
    report.map("gpus", *launched, "the keys of DeepSpeed's launcher");
  }
  if (settings.on({"gpt_j_residual"})) report.map("model.parallel_residual", true, "gpt_j_residual");
  const std::int64_t replica =
      report.whole("parallelism.tensor").value_or(1) * report.whole("parallelism.pipeline").value_or(1);
  drop_question_of_flags("batch.micro", report);
  const auto batch = settings.whole({"train_batch_size"});
  auto accumulation = settings.whole({"gradient_accumulation_steps", "gas"});
  if (!accumulation && !batch) accumulation = 1;
  map_data_batch({settings.whole({"train_micro_batch_size_per_gpu", "batch_size"}), accumulation, batch,
                  "train_micro_batch_size_per_gpu", "train_batch_size"},
                 gpus, replica, report);
  if (const auto name = settings.text({"optimizer.type"})) map_optimizer_name(*name, "optimizer.type", report);
  refuse_other_trainings(settings, report);
  map_states_on_host(settings, report);
  settings.sort_rest(kNeoxKeys, Unknown::kByName);
  if (!whole) report.ask("batch.micro", "the training section (optimizer, precision, batch) stands in another file");
}

}  // namespace foretoken::io::launch::neox
