// Reads keys that are the names of Megatron-LM's arguments in its code.
//
// Layout: NVIDIA/Megatron-LM core 0.12, examples/gpt3/gpt_config.yaml and megatron/training/yaml_arguments.py;
// AMD-AGI/Primus, primus/configs/{models,modules}/megatron.
#include "sim/io/import/launch/megatron/key_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/open_flags.h"
#include "sim/io/import/launch/megatron/primus_files.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/megatron/recomputed_layers.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"
#include "sim/io/import/launch/words.h"
#include "sim/io/model/hybrid_names.h"

namespace foretoken::io::launch::megatron {
namespace {

namespace fs = std::filesystem;

/// Keys whose flag has another name, or the opposite meaning.
constexpr Word kOtherNames[] = {
    {"add_bias_linear", "disable-bias-linear", Form::kInverse},
    {"add_position_embedding", "no-position-embedding", Form::kInverse},
    {"gradient_accumulation_fusion", "no-gradient-accumulation-fusion", Form::kInverse},
    {"overlap_p2p_comm", "overlap-p2p-communication", Form::kSwitch},
    {"num_moe_experts", "num-experts"},
    {"fp8", "fp8-format"},
    {"fp4", "fp4-format"},
    {"gated_linear_unit", "swiglu", Form::kSwitch},
    {"virtual_pipeline_model_parallel_size", "num-virtual-stages-per-pipeline-rank"},
    {"apply_rope_fusion", "no-rope-fusion", Form::kInverse},
    {"masked_softmax_fusion", "no-masked-softmax-fusion", Form::kInverse},
    {"persist_layer_norm", "no-persist-layer-norm", Form::kInverse},
    {"bias_gelu_fusion", "no-bias-gelu-fusion", Form::kInverse},
    {"bias_swiglu_fusion", "no-bias-swiglu-fusion", Form::kInverse},
    {"bias_dropout_fusion", "no-bias-dropout-fusion", Form::kInverse},
    {"share_embeddings_and_output_weights", "untie-embeddings-and-output-weights", Form::kInverse},
    {"grad_reduce_in_bf16", "grad-reduce-in-bf16", Form::kSwitch},
    {"distribute_saved_activations", "distribute-saved-activations", Form::kSwitch}};

/// Keys of the code, of Primus and of ROCm that no flag has. The last * stands for any end.
constexpr KeyRule kCodeKeys[] = {
    {"enable_odc odc_*", "ranks that fetch gradients on demand in the place of collectives", true},
    {"enable_odc_lb_mini", "micro-batches that are dealt out by their lengths", true},
    {"use_packed_attention enable_packed_sequences", "attention sees the whole sequence"},
    {"no_fp8_weight_transpose_cache", "transposed weights in 8 bits are kept between micro-batches"},
    {"moe_log_*"},
    {"fp8_alltoall", "tokens travel to their experts in 16 bits"},
    {"use_sink_attention sink_* attn_sink", kWithoutSinks},
    {"use_turbo_deepep fully_parallel_save fully_parallel_load"},
    {"use_turbo_mega_moe", "one kernel for experts and their exchange of tokens", true},
    {"use_turbo_* turbo_grouped_gemm_without_padding turbo_sync_free_moe_stage",
     "kernels of Primus-Turbo are taken as those of the runtime"},
    // AMD-AGI/Primus, primus/backends/megatron/core/models/minimax_m3: MSATransformerConfig.
    {"minimax_sparse_attention sparse_attention_freq sparse_topk_blocks",
     "block-sparse attention: a query sees the blocks that an index chooses", true},
    {"sparse_num_index_heads sparse_index_dim sparse_block_size sparse_score_type sparse_init_block sparse_local_block "
     "sparse_disable_index_value sparse_indexer_loss_* msa_backend",
     "a part of block-sparse attention"},
    // AMD-AGI/Primus, primus/backends/megatron/core/models/deepseek_v4: DeepSeekV4TransformerConfig.
    {"hybrid_attention_enabled compress_ratios index_topk attn_sliding_window",
     "attention to compressed keys, to a window, and to keys that an index chooses", true},
    {"o_lora_rank", "a product of attention's outputs in two parts, of groups", true},
    {"hc_mult", "hyper-connections: several streams between the layers", true},
    {"hc_* compress_rope_theta index_head_dim index_n_heads o_groups use_v4_* mtp_use_separate_hc_head",
     "a part of the layers of DeepSeek-V4"},
    {"num_hash_layers", "tokens are spread evenly, and none is dropped"},
    {"swiglu_limit swiglu_alpha v4_grouped_experts_support_clamped_swiglu use_gemma_norm",
     "fused kernels take as long without it"},
    {"lora.use_dora", tuning::kDora, true},
    {"lora_alpha lora_dropout lora.alpha lora.dropout* lora.a_init_method lora.b_init_method lora.lora_A_init_method "
     "lora.lora_B_init_method"},
    {"yaml_cfg spec params_dtype pipeline_dtype autocast_dtype activation_func layernorm_epsilon "
     "layernorm_zero_centered_gamma init_method output_layer_init_method perform_initialization use_cpu_initialization "
     "enable_autocast timers finalize_model_grads_func no_sync_func grad_sync_func param_sync_func "
     "variable_seq_lengths "
     "grad_scale_func fp32_residual_connection apply_query_key_layer_scaling attention_softmax_in_fp32 "
     "clone_scatter_output_in_embedding test_mode enable_cuda_graph calculate_per_token_loss "
     "deallocate_pipeline_outputs "
     "async_tensor_model_parallel_allreduce batch_p2p_* use_ring_exchange_p2p tp_comm_* "
     "disable_parameter_transpose_cache "
     "moe_extended_tp rotary_* scatter_gather_tensors_in_pipeline barrier_with_L1_time cpu_offloading* fp8_* "
     "framework config model trainable sink_level file_sink_level stderr_sink_level wandb_* disable_* mlflow_* "
     "turbo_* enable_primus_turbo log_avg_* patch_* dump_* auto_continue_train overwrite_* extends "
     "hf_* iterations_to_skip expert_tensor_parallel_size_* train_data_path valid_data_path test_data_path "
     "log_throughput* check_for_nan* padded_vocab_size* tokenizer_* pp_warmup pp_algorithm "
     "num_seq_splits "
     "offload mem_* primus_* precision_* manual_gc* moe_router_* moe_aux* moe_z* moe_input* num_shared_experts "
     "use_rocm_* bert_binary_head sample_rate mask_prob short_seq_prob "
     "create_attention_mask* data_* decoupled_* lr* min_* eval_* exit_* adam_* sgd_* hysteresis seed no_* async_* "
     "norm_* query_* beta_* mscale* original_* rope_* world_size rank local_rank "
     "transformer_pipeline_model_parallel_size "
     "include_* sft_* pretrained_checkpoint lb_mini_* use_checkpoint* use_mp_args* standalone_* start_* "
     "end_* weight_decay* untie_* te_* empty_* "
     "dist_* ckpt_* non_persistent_* one_logger* app_tag* enable_* nccl_* moe_use_fused* moe_router* external_* "
     "inprocess_* error_* rerun_*"}};

/// Keys of a model file that name another kind of model.
constexpr std::string_view kOtherModels =
    "experimental_attention_variant linear_attention_freq is_hybrid_model hybrid_layer_pattern hybrid_override_pattern";

// Primus replaces the dispatcher by its own DeepEP where no tensor ranks share a token: AMD-AGI/Primus,
// primus/backends/megatron/patches/turbo/moe_dispatcher_patches.py.
void put_own_dispatcher(const Settings& whole, std::vector<Argument>& arguments) {
  const Names kDeepEp = {"use_turbo_deepep"};
  if (!whole.on({"enable_primus_turbo"}) || !whole.on(kDeepEp)) return;
  if (whole.whole({"tensor_model_parallel_size"}).value_or(1) > 1) return;
  std::erase_if(arguments, [](const Argument& one) {
    return one.name == "moe-token-dispatcher-type" || one.name == "moe-flex-dispatcher-backend";
  });
  arguments.push_back({"moe-token-dispatcher-type", {"flex"}, whole.from(kDeepEp)});
}

// Attention of Primus-Turbo has windows of its own, in every layer or in every second one: AMD-AGI/Primus,
// primus/configs/modules/megatron/primus_turbo.yaml, sink_sliding_window.
void put_own_window(const Settings& settings, const Settings& whole, std::vector<Argument>& arguments) {
  const char *const kTokens = "sink_sliding_window", *const kSecond = "sink_window_even_layers_only";
  const std::int64_t tokens = whole.whole({kTokens}).value_or(0);
  const bool used = whole.on({"enable_primus_turbo"}) && whole.on({"use_turbo_attention"});
  if (tokens <= 0 || !used || !whole.on({"use_sink_attention"})) return;
  for (const char* key : {kTokens, kSecond}) (void)settings.at(key);
  arguments.push_back({"window-size", {std::to_string(tokens)}, kTokens});
  if (!whole.has({kSecond}) || whole.on({kSecond})) arguments.push_back({"window-attn-skip-freq", {"2"}, kSecond});
}

// Reads the switches of the library Primus-Turbo, which mean nothing where it is off. AMD-AGI/Primus,
// primus/backends/megatron/core/extensions/primus_turbo.py: PrimusTurboAttention takes flash_attn_fp8_func.
void read_turbo(const Settings& settings, const Settings& whole, Report& report) {
  const char* const attention = "enable_turbo_attention_float8";
  if (!whole.on({"enable_primus_turbo"})) {
    for (const auto& [key, value] : settings.document().items()) {
      const bool turbo = key == attention || key.starts_with("use_turbo_") || key.starts_with("turbo_");
      if (turbo && settings.at(key) != nullptr) report.ignore(printable(key, 80), "");
    }
    return;
  }
  if (!whole.on({attention}) || !whole.on({"use_turbo_attention"})) return;
  (void)settings.at(attention);
  const Json precision = report.at("precision");
  if (precision == "fp8" || precision == "mxfp8") return report.map("precision_recipe.attention", "fp8", attention);
  report.refuse(attention, "attention in fp8 beside products of another precision is not modelled");
}

// Primus gives FSDP2 a mesh of replicas and shards by torchtitan's name.
void read_replicas_of_fsdp2(const Settings& settings, const Settings& whole, Report& report) {
  const char* const kDegree = "data_parallel_replicate_degree";
  if (!whole.has({kDegree})) return;
  (void)settings.at(kDegree);
  const std::int64_t copies = whole.whole({kDegree}).value_or(1);
  if (copies > 1 && whole.on({"use_torch_fsdp2"}))
    refuse_replicas(std::to_string(copies), kDegree, report);
  else
    report.ignore(kDegree, "");
}

/// Primus's switch of zero-bubble's code (AMD-AGI/Primus, primus/configs/modules/megatron/zero_bubble.yaml).
constexpr const char* kZeroBubble = "patch_zero_bubble";

/// Algorithms of Primus-pipeline: AMD-AGI/Primus, primus/core/pipeline_parallel/scheduler/schedule_table_factory.py,
/// pp_algorithm_map. Its zero-bubble keeps as many micro-batches as 1F1B does.
constexpr std::pair<std::string_view, std::string_view> kAlgorithms[] = {
    {"1f1b", "1f1b"},         {"1f1b-interleaved", "interleaved-1f1b"},
    {"zero-bubble", "zb-h1"}, {"zbv-formatted", "zb-v"},
    {"v-half", "v-half"},     {"v-min", "v-min"}};

// Reads Primus's own pipeline, whose keys mean nothing where it is off.
void read_own_pipeline(const Settings& settings, const Settings& whole, Report& report) {
  const char *const kSwitch = "patch_primus_pipeline", *const kAlgorithm = "pp_algorithm";
  const bool piped = report.whole("parallelism.pipeline").value_or(1) > 1;
  if (whole.on({kSwitch, kZeroBubble}) && whole.whole({"num_seq_splits"}).value_or(1) > 1)
    report.refuse("num_seq_splits", "micro-batches that are cut along the sequence are not modelled");
  if (piped && whole.on({kZeroBubble}) && whole.on({"enable_zero_bubble"}))
    report.refuse(kZeroBubble, "the schedules of zero-bubble's program are not modelled");
  if (!piped || !whole.on({kSwitch}) || whole.on({kZeroBubble})) return;
  for (const char* key : {kSwitch, kAlgorithm}) (void)settings.at(key);
  if (whole.on({"offload"}))
    report.refuse("offload", "activations that a pipeline's schedule moves to the host are not modelled");
  const std::string name = whole.text({kAlgorithm}).value_or("1f1b-interleaved");
  for (const auto& [theirs, ours] : kAlgorithms) {
    if (name != theirs) continue;
    const bool chunks = report.whole("parallelism.virtual_pipeline").value_or(1) > 1;
    if (theirs != "1f1b-interleaved" || chunks) report.map("schedule", std::string(ours), kAlgorithm);
    return;
  }
  report.refuse(kAlgorithm, "the schedule " + in_quotes(printable(name, 40)) + " is not modelled");
}

// Sorts keys that no flag has, of files that the experiment names.
void sort_rest_of_files(const Json& keys, const Basis& basis, Report& report) {
  if (keys.empty()) return;
  const std::size_t before = report.refused.size();
  Settings(keys, report).sort_rest(kCodeKeys, Unknown::kByName);
  for (std::size_t i = before; i < report.refused.size(); ++i)
    if (const auto file = basis.files.find(report.refused[i].setting); file != basis.files.end())
      report.refused[i].from = printable(file->second, 80);
}

/// Keys that change nothing, by the file that states them.
using LeftOut = std::map<std::string, std::vector<std::string>>;

void ignore_by_file(const LeftOut& left_out, Report& report) {
  constexpr std::size_t kLongest = 16000;  // of all names of a file
  for (const auto& [file, names] : left_out)
    report.ignore(fmt::format("{} ({}): {}", printable(file, 80), names.size(),
                              printable(fmt::format("{}", fmt::join(names, ", ")), kLongest)),
                  "");
}

// Keys of `basis` hold where `keys` states none. Rules read them all. Other keys count where a file states them for the
// run; in a list of every setting they are defaults.
void read_keys(const Json& keys, const Basis& basis, Report& report) {
  Json all = basis.keys;
  all.update(keys);
  const Settings settings(keys, report), whole(all, report);
  std::vector<Argument> arguments = arguments_of_words(whole, kOtherNames);
  Json of_files = Json::object();
  LeftOut left_out;
  for (const auto& [key, value] : all.items()) {
    if (std::ranges::any_of(kOtherNames, [&key = key](const Word& word) { return word.key == key; })) {
      (void)settings.at(key);
      continue;
    }
    auto argument = argument_of_key(key, value, key);
    const auto rule = argument ? rule_of(argument->name) : std::nullopt;
    const auto file = basis.files.find(key);
    const bool own = keys.contains(key) || file == basis.files.end();
    if (argument && !rule && own) continue;
    (void)settings.at(key);
    if (!argument) continue;
    if (own || (rule && rule->effect == Effect::kRead) || lists_key(kOtherModels, key))
      arguments.push_back(std::move(*argument));
    else if (lists_defaults(file->second) || (rule && rule->effect == Effect::kIgnored))
      left_out[file->second].push_back(key);
    else if (rule)
      arguments.push_back(std::move(*argument));
    else
      of_files[key] = value;
  }
  if (whole.text({"activation_func"}).value_or("").find("squared_relu") != std::string::npos)
    arguments.push_back({"squared-relu", {}, "activation_func"});
  if (whole.has({kZeroBubble}) && !whole.on({kZeroBubble}))
    std::erase_if(arguments, [](const Argument& each) { return each.name == "allow-padding-num-layers"; });
  put_own_dispatcher(whole, arguments);
  put_own_window(settings, whole, arguments);
  if (settings.has({kRecomputedLayers})) put_recomputed_layers(whole, arguments);
  // The modules of a stash of pages count with its switch: stash_modules of Megatron-Core's TransformerConfig.
  if (settings.has({"stash_modules"}) && !whole.on({"moe_paged_stash"})) report.ignore("stash_modules", "");
  read_arguments(std::move(arguments), report);
  read_turbo(settings, whole, report);
  read_own_pipeline(settings, whole, report);
  read_replicas_of_fsdp2(settings, whole, report);
  settings.sort_rest(kCodeKeys);
  sort_rest_of_files(of_files, basis, report);
  ignore_by_file(left_out, report);
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Names the rank and the targets of LoRA as flags of Megatron-LM's forks. Other keys keep their place in their name.
void map_adapter_section(const Json& adapter, Json& keys, Report& report) {
  const std::string enabled = text_at(adapter, "enabled");
  if (!switch_of(enabled).value_or(false)) return;
  if (!adapter.contains("dim"))
    return report.refuse("lora.enabled", "LoRA without a rank: a file that is not there may state lora.dim");
  for (const auto& [key, value] : adapter.items()) {
    if (key == "dim")
      keys["lora_r"] = value;
    else if (key != "enabled")
      keys[key == "target_modules" ? "lora_target_modules" : std::string(kAdapter) + "." + key] = value;
  }
}

// Primus ends with validate_args of Megatron-LM, which sets the chunks of a stage anew from
// num_virtual_stages_per_pipeline_rank, num_layers_per_virtual_pipeline_stage or the layout: AMD-AGI/Primus,
// primus/backends/megatron/patches/args/validate_args_patches.py; NVIDIA/Megatron-LM, megatron/training/arguments.py.
void leave_out_chunks(Json& keys, Report& report) {
  const char* const kChunks = "virtual_pipeline_model_parallel_size";
  if (whole_of(text_at(keys, kChunks)).value_or(1) > 1)
    report.approximate(kChunks, "Megatron-LM sets it anew; num_virtual_stages_per_pipeline_rank states the chunks");
  keys.erase(kChunks);
}

void refuse_primus_model(const std::string& model, const std::string& path, Report& report) {
  for (const char* word : {"diffusion", "flux", "wan", "vit", "dit"})
    if (model.find(word) != model.npos || path.find(std::string("/") + word + "/") != path.npos)
      return report.refuse(printable(model, 60), "not a language model (diffusion)");
  if (is_hybrid_name(model)) report.refuse(printable(model, 60), kHybrid);
}

}  // namespace

bool is_yaml_arguments(const Json& document) {
  return document.is_object() && document.contains("language_model") && document.at("language_model").is_object();
}

// Sections of FlagScale's trainings: FlagOpen/FlagScale, examples/*/conf/train. Programs of the user's own have
// sections of these names, but no key of Megatron-LM.
bool is_flagscale(const Json& document) {
  const auto section = [&](const char* name) { return document.contains(name) && document.at(name).is_object(); };
  if (!document.is_object() || !section("system") || !section("model")) return false;
  const Json &system = document.at("system"), &model = document.at("model");
  constexpr const char* kMegatrons[] = {"tensor_model_parallel_size", "pipeline_model_parallel_size",
                                        "expert_model_parallel_size", "context_parallel_size",
                                        "use_distributed_optimizer"};
  const bool megatrons = model.contains("micro_batch_size") ||
                         (system.contains("precision") && system.at("precision").is_object()) ||
                         std::ranges::any_of(kMegatrons, [&](const char* key) { return system.contains(key); });
  return megatrons && (model.contains("num_layers") || model.contains("hidden_size"));
}

void read_yaml_arguments(const Json& document, Report& report) {
  Json own = document, keys = Json::object();
  if (const auto merged = own.find("defaults"); merged != own.end() && merged->is_array()) {
    report.approximate("defaults", "files that Hydra merges are not read");
    own.erase("defaults");
  }
  flatten(own, keys);
  read_keys(keys, Basis(), report);
}

bool is_primus_megatron(const Json& document) { return framework_of_primus(document) == "megatron"; }

void read_primus_megatron(const Json& document, const fs::path& path, const Environment& environment, Report& report) {
  Json trainer = trainer_of_primus(document).value_or(Json::object());
  resolve_references(trainer);
  PrimusFiles files(path, environment, report);
  const std::string model = text_at(trainer, "model");
  // Settings of the trainer win over those of the model: AMD-AGI/Primus, primus/core/launcher/parser.py,
  // parse_trainer_module (merge_namespace without override).
  Basis basis;
  files.put("models", model, basis);
  files.put("modules", text_at(trainer, "config"), basis);
  Json keys = Json::object();
  if (const auto own = trainer.find("overrides"); own != trainer.end() && own->is_object()) put_on_top(*own, keys);
  Json adapter = basis.keys.value(kAdapter, Json::object());
  adapter.update(keys.value(kAdapter, Json::object()));
  basis.keys.erase(kAdapter);
  keys.erase(kAdapter);
  map_adapter_section(adapter, keys, report);
  resolve_references(basis.keys);
  resolve_references(keys);
  for (Json* const part : {&basis.keys, &keys}) leave_out_chunks(*part, report);
  read_keys(keys, basis, report);
  if (!files.absent().empty())
    ask_for_settings_of_files("a file that is not there may state it: " + files.absent(), report);
  report.framework = "Megatron-LM by Primus";
  refuse_primus_model(model, path.generic_string(), report);
}

}  // namespace foretoken::io::launch::megatron
