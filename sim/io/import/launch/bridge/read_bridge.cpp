// Reads a ConfigContainer as flags of Megatron-LM, which mean the same.
//
// Rules: NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/training/{config,mixed_precision,comm_overlap}.py. A dump is
// written before it is completed: mixed_precision wins over model, and nulls of comm_overlap are filled at the start.
#include "sim/io/import/launch/bridge/read_bridge.h"

#include <algorithm>

#include "sim/base/text.h"
#include "sim/io/import/launch/bridge/bridge_words.h"
#include "sim/io/import/launch/bridge/open_values.h"
#include "sim/io/import/launch/bridge/perf_matrix.h"
#include "sim/io/import/launch/bridge/precision.h"
#include "sim/io/import/launch/bridge/sections.h"
#include "sim/io/import/launch/configuration_questions.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/fusions.h"
#include "sim/io/import/launch/megatron/read_megatron.h"
#include "sim/io/import/launch/megatron/same_named_keys.h"
#include "sim/io/import/launch/tuning/tuning_keys.h"

namespace foretoken::io::launch::bridge {
namespace {

constexpr const char *kArranged = "communication is arranged as the runtime does it",
                     *kRecipeDecides = "the recipe that the overrides belong to decides";

/// Keys that no flag stands for.
constexpr KeyRule kKeys[] = {
    {"_target_ checkpoint.* logger.* profiling.* rng.* scheduler.* tokenizer.* rerun_state_machine.* straggler.* "
     "nvrx_straggler.* dist.* validation.* dataset.* ft.* inprocess_restart.* tensor_inspect.* peft.alpha peft.* "
     "optimizer_config_override_provider.* energy_monitor.* comm_overlap._target_ "
     "comm_overlap.tp_comm_bootstrap_backend "
     "comm_overlap.tp_comm_overlap_cfg.* "
     "comm_overlap.batch_p2p_comm comm_overlap.overlap_p2p_comm ddp._target_ "
     "mixed_precision._target_ mixed_precision.loss_scale mixed_precision.hysteresis mixed_precision.autocast_dtype* "
     "mixed_precision.initial_loss_scale mixed_precision.loss_scale_window mixed_precision.min_loss_scale "
     "mixed_precision.params_dtype.* mixed_precision.pipeline_dtype.* "
     "mixed_precision.fp8_param mixed_precision.fp8_wgrad mixed_precision.autocast_enabled "
     "mixed_precision.grad_reduce_in_fp32 mixed_precision.params_dtype mixed_precision.pipeline_dtype "
     "mixed_precision.fp8_margin mixed_precision.fp8_amax_* mixed_precision.reuse_grad_buf_for_mxfp8_param_ag "
     "model._target_ model.bf16 model.fp16 model.params_dtype* model.pipeline_dtype* model.fp8* model.fp4* "
     "model.glu_linear_offset model.activation_func_clamp_value "
     "model.activation_func model.activation_func.* model.gated_linear_unit model.transformer_layer_spec* "
     "model.hf_model_id "
     "model.init_method* model.output_layer_init_method* model.embedding_init_method* model.layernorm_* model.rotary_* "
     "model.rope_* model.yarn_* model.mscale* model.beta_* model.mup_* model.use_mup "
     "model.original_max_position_embeddings model.seq_len_interpolation_factor "
     "model.linear_* model.mamba_* model.use_mamba_mem_eff_path model.kitchen_* model.use_kitchen* model.inference_* "
     "model.mlp_chunks_for_prefill model.perform_initialization model.use_cpu_initialization model.parallel_output "
     "model.should_pad_vocab model.min_offloaded_tensor_size model.cpu_offloading_activations "
     "model.cpu_offloading_weights model.cpu_offloading_double_buffering "
     "model.cpu_offloading_retain_pinned_cpu_buffers "
     "model.qk_clip_* model.generation_config* model.barrier_with_L1_time model.deallocate_pipeline_outputs "
     "model.calculate_per_token_loss model.enable_autocast model.softmax_scale model.moe_aux_loss_coeff "
     "model.moe_z_loss_coeff model.mtp_loss_scaling_factor model.clone_scatter_output_in_embedding "
     "model.scatter_embedding_sequence_parallel model.autocast_dtype* model.bias_init_fn* model.timers "
     "optimizer._target_ optimizer.bf16 optimizer.fp16 optimizer.params_dtype* optimizer.*_beta* optimizer.adam_eps "
     "optimizer.adam_* optimizer.lion_* optimizer.muon_* optimizer.sgd_* optimizer.lr optimizer.min_lr "
     "optimizer.weight_decay optimizer.decoupled_weight_decay optimizer.decoupled_lr optimizer.clip_grad "
     "optimizer.initial_loss_scale optimizer.loss_scale* optimizer.min_loss_scale optimizer.hysteresis "
     "optimizer.pin_cpu_* optimizer.store_param_remainders optimizer.use_distributed_optimizer optimizer.fp8_recipe "
     "optimizer.overlap_param_gather* optimizer.log_num_zeros_in_grad optimizer.barrier_with_L1_time "
     "train._target_ train.check_* train.eval_* train.exit_* train.train_iters train.train_samples "
     "train.manual_gc_eval "
     "train.skip_train train.iterations_to_skip* train.decrease_batch_size_if_needed train.train_sync_interval"},
    {"model.fused_* model.cross_entropy_* model.disable_parameter_transpose_cache model.use_te_rng_tracker "
     "model.enable_cuda_graph model.use_transformer_engine* model.batch_invariant_mode",
     megatron::kKernelsFused},
    {kDdpReduces, kOverwritten},
    {"ddp.keep_fp8_transpose_cache*", megatron::kKeptTransposes},
    {"model.teacher.* model.kd_config.*", "distillation: a second model runs", true},
    {"model.batch_p2p_* model.tp_comm_* model.overlap_p2p_comm* ddp.* comm_overlap.*", kArranged},
    {"mixed_precision.first_last_layers_bf16 mixed_precision.num_layers_at_*", "all layers run in fp8"},
    {"mixed_precision.fp8_multi_head_attention", "attention runs in bf16 but for its products"},
    {"mixed_precision.dtype", "MixedPrecisionConfig has no such key; bf16 and fp16 are its switches"},
    {"model.softmax_type", megatron::kWithoutSinks},
    {"model.make_vocab_size_divisible_by", "the vocabulary is padded to a multiple of 128 x tensor"}};

// Fused activations have a switch and a function.
void add_activation(const Settings& settings, std::vector<Argument>& arguments) {
  const bool gated = settings.on({"model.gated_linear_unit"});
  const std::string function = settings.text({"model.activation_func._target_", "model.activation_func"}).value_or("");
  const std::string place = settings.from({"model.activation_func._target_", "model.activation_func"});
  if (function.find("squared_relu") != function.npos) arguments.push_back({"squared-relu", {}, place});
  if (gated && function.find("gelu") != function.npos) arguments.push_back({"geglu", {}, place});
  if (gated && function.find("gelu") == function.npos) arguments.push_back({"swiglu", {}, "model.gated_linear_unit"});
}

// [[embedding, decoder], [decoder, loss]] is Et|tL.
void add_layout(const Settings& settings, std::vector<Argument>& arguments) {
  constexpr const char* kLayout = "model.pipeline_model_parallel_layout";
  const Json* const layout = settings.at(kLayout);
  if (layout == nullptr || layout->is_null()) return;
  std::string text;
  if (layout->is_array()) {
    for (const Json& stage : *layout) {
      text += text.empty() ? "" : "|";
      if (stage.is_string() && layout->size() > 1) text += stage.get<std::string>();
      if (!stage.is_array()) continue;
      for (const Json& part : stage)
        text += part == "embedding" ? "E" : part == "decoder" ? "t" : part == "mtp" ? "m" : part == "loss" ? "L" : "?";
    }
    if (text.empty()) text = "L";
  } else {
    text = settings.text({kLayout}).value_or("");
  }
  arguments.push_back({"pipeline-model-parallel-layout", {text}, kLayout});
}

void add_experts(const Settings& settings, std::vector<Argument>& arguments) {
  if (const auto layers = settings.text({"model.moe_layer_freq"}); layers && settings.has({"model.num_moe_experts"}))
    arguments.push_back({"moe-layer-freq", {*layers}, "model.moe_layer_freq"});
}

// The setup of comm_overlap.py writes its settings over those of ddp at the start.
void drop_overlaps_of_ddp(const Settings& settings, std::vector<Argument>& arguments) {
  for (const char* name : {"overlap_grad_reduce", "overlap_param_gather"}) {
    const auto text = settings.text({std::string("comm_overlap.") + name});
    if (!text || switch_of(*text) != false) continue;
    const std::string place = std::string("ddp.") + name;
    std::erase_if(arguments, [&](const Argument& one) { return one.place == place; });
  }
}

void add_rest(const Settings& settings, std::vector<Argument>& arguments) {
  if (constexpr const char* kPositions = "model.position_embedding_type"; settings.says_none(kPositions))
    arguments.push_back({"position-embedding-type", {"none"}, kPositions});
  drop_overlaps_of_ddp(settings, arguments);
  const bool graphs = settings.on({"model.enable_cuda_graph"}), outside = settings.on({"model.external_cuda_graph"});
  if ((graphs || outside) && !settings.has({"model.cuda_graph_impl"}))
    arguments.push_back({"enable-cuda-graph", {}, "model.enable_cuda_graph"});
  if (!settings.has({"model.seq_length"}))
    if (const auto length = settings.text({"dataset.seq_length", "dataset.sequence_length"}))
      arguments.push_back({"seq-length", {*length}, settings.from({"dataset.seq_length", "dataset.sequence_length"})});
  const Names kFsdp = {"ddp.use_megatron_fsdp", "dist.use_megatron_fsdp", "ddp.use_custom_fsdp"};
  if (settings.on(kFsdp)) {
    arguments.push_back({"use-megatron-fsdp", {}, settings.from(kFsdp)});
    if (const auto strategy = settings.text({"ddp.data_parallel_sharding_strategy"}))
      arguments.push_back({"data-parallel-sharding-strategy", {*strategy}, "ddp.data_parallel_sharding_strategy"});
  }
  // setup.py pads a vocabulary that it takes from the tokenizer (_validate_and_set_vocab_size), not a stated one.
  if (constexpr const char* kDivisor = "model.make_vocab_size_divisible_by"; !settings.has({"model.vocab_size"}))
    if (const auto divisor = settings.text({kDivisor}))
      arguments.push_back({"make-vocab-size-divisible-by", {*divisor}, kDivisor});
  if (settings.has({"model.num_query_groups"}))
    arguments.push_back({"group-query-attention", {}, "model.num_query_groups"});
  if (settings.on({kSectionReduces}))  // they are kept as they are reduced
    std::erase_if(arguments, [](const Argument& one) { return one.name == "main-grads-dtype"; });
  if (settings.on({"model.cpu_offloading"}))
    arguments.push_back({"cpu-offloading-num-layers",
                         {settings.text({"model.cpu_offloading_num_layers"}).value_or("0")},
                         "model.cpu_offloading"});
  if (settings.on({"optimizer.optimizer_cpu_offload"}))
    arguments.push_back({"optimizer-cpu-offload", {}, "optimizer.optimizer_cpu_offload"});
  if (settings.on({"model.fine_grained_activation_offloading"}))
    arguments.push_back({"fine-grained-activation-offloading", {}, "model.fine_grained_activation_offloading"});
}

// Overrides turn off what their recipe may turn on.
void map_switched_off(const Settings& settings) {
  constexpr std::pair<const char*, const char*> kSwitches[] = {
      {"model.sequence_parallel", "parallelism.sequence_parallel"},
      {"comm_overlap.overlap_grad_reduce", "overlap.grad_reduce"},
      {"comm_overlap.overlap_param_gather", "overlap.param_gather"},
      {"ddp.overlap_grad_reduce", "overlap.grad_reduce"},
      {"ddp.overlap_param_gather", "overlap.param_gather"},
      {"comm_overlap.tp_comm_overlap", "overlap.tensor_parallel"}};
  Report& report = settings.report();
  for (const auto& [name, key] : kSwitches)
    if (const auto text = settings.text({name}); text && switch_of(*text) == false && !report.has(key))
      report.map(key, false, name);
}

// Names and defaults: src/megatron/bridge/peft/lora.py. Overrides of a recipe state no _target_.
void map_peft(const Settings& settings) {
  const Json* const peft = settings.at("peft");
  if (peft == nullptr || peft->is_null()) return;
  const std::string kind = settings.text({"peft._target_"}).value_or("LoRA");
  const std::string name = kind.substr(kind.rfind('.') + 1);  // without a point all of it
  if (name == "DoRA") return settings.report().refuse("peft", tuning::kDora, "peft._target_");
  if (!settings.has({"peft._target_"}) && settings.has({"peft.block_size"}))  // of OFT; LoRA's size is peft.dim
    return settings.report().refuse("peft.block_size", "orthogonal fine-tuning (OFT)", "peft.block_size");
  if (settings.has({"peft.exclude_modules"}))
    settings.report().refuse("peft.exclude_modules", "adapters beside all products but some", "peft.exclude_modules");
  const auto stated = settings.text({"peft.target_modules"});
  map_adapter({.method = lower_case(name),
               .from = "peft",
               .rank = settings.whole({"peft.dim"}),
               .targets = stated.value_or("linear_qkv linear_proj linear_fc1 linear_fc2"),
               .targets_because = stated ? "" : "the default of peft.target_modules",
               .rank_from = "peft.dim",
               .targets_from = "peft.target_modules",
               .usual_rank = 32,
               .runtime = "megatron-lora"},
              settings.report());
}

// Settings of the communication and of the gradients beside the rows of a perf_matrix; comm_overlap wins over ddp.
void map_overlaps_beside_rows(const Settings& settings) {
  Report& report = settings.report();
  const auto map_switch = [&](Names names, const char* key) {
    for (const std::string_view name : names) {
      const auto text = settings.text({name});
      const auto value = text ? switch_of(*text) : std::nullopt;
      if (!value) continue;
      report.map(key, *value, std::string(name));
      break;
    }
    for (const std::string_view name : names) (void)settings.at(name);
  };
  map_switch({"comm_overlap.overlap_grad_reduce", "ddp.overlap_grad_reduce"}, "overlap.grad_reduce");
  map_switch({"comm_overlap.overlap_param_gather", "ddp.overlap_param_gather"}, "overlap.param_gather");
  const bool sharded = report.at("parallelism.sequence_parallel") == Json(true);
  if (sharded || !settings.on({"comm_overlap.tp_comm_overlap"}))
    map_switch({"comm_overlap.tp_comm_overlap"}, "overlap.tensor_parallel");
  const auto text = settings.text({kSectionReduces});
  if (const auto wide = text ? switch_of(*text) : std::nullopt)
    report.map("precision_recipe.gradients", *wide ? "fp32" : "bf16", kSectionReduces);
}

// The container beside a perf_matrix holds for every row. Its other keys are sorted as those of a dump.
void map_beside_rows(const Json& container, Report& report) {
  if (!container.is_object()) return;
  const Settings settings(container, report);
  map_overlaps_beside_rows(settings);
  mark_shared(settings);
  std::vector<Argument> notes;
  megatron::list_fusions(settings, "model.");
  megatron::add_same_named_keys(settings, {"model.", "train.", "optimizer.", "ddp."}, kKeys,
                                megatron::SameNamed::kSideNotes, notes);
  for (const Argument& one : notes) {
    const auto rule = megatron::rule_of(one.name);
    if (rule && rule->effect == megatron::Effect::kRefused)
      report.refuse(one.place, rule->because);
    else if (rule && rule->effect == megatron::Effect::kNoted)
      report.approximate(one.place, rule->because);
    else
      report.ignore(one.place, "");
  }
  settings.sort_rest(kKeys);
}

void read_container(const Json& container, Report& report) {
  const Settings settings(container, report);
  std::vector<Argument> arguments = arguments_of_words(settings, kBridgeWords);
  add_activation(settings, arguments);
  add_layout(settings, arguments);
  add_experts(settings, arguments);
  add_precision(settings, arguments);
  add_rest(settings, arguments);
  megatron::list_fusions(settings, "model.");
  // Other keys of these sections are flags of Megatron-LM by the same name, where it has one.
  megatron::add_same_named_keys(settings, {"model.", "train.", "optimizer.", "ddp."}, kKeys,
                                megatron::SameNamed::kSideNotes, arguments);
  drop_open_switches(settings, arguments);
  // A proxy of fewer layers states no width: the rest comes from its recipe.
  const bool whole = settings.has({"model.num_layers"}) && settings.has({"model.hidden_size"}) &&
                     settings.has({"model.num_attention_heads"});
  megatron::read_arguments(std::move(arguments), report, !whole);
  report.framework = "Megatron-Bridge";
  map_peft(settings);
  assume_gradients_of_ddp(settings);
  if (const char* const attention = "mixed_precision.fp8_dot_product_attention"; settings.on({attention}))
    report.map("precision_recipe.attention", "fp8", attention);
  refuse_multimodal(settings);
  pass_over_sections_beside(settings);
  settings.sort_rest(kKeys);
  if (!whole) report.drop_assumptions(kRecipeDecides);
  ask_for_open_switches(settings);
  if (whole) return;
  ask_for_adapter("the recipe decides; the default of LoRA is rank 32 beside all linear products", "megatron-lora",
                  report);
  map_switched_off(settings);
  ask_for_gradients_of_recipe(settings);
  drop_question_of_flags("precision", report);
  ask_for_configuration(report.at("model").is_string(), kRecipeDecides, report);
}

}  // namespace

bool is_bridge(const Json& stated) {
  Json document = stated;
  (void)rename_first_sections(document);
  if (!document.is_object()) return false;
  if (document.contains("perf_matrix") || document.contains("ConfigContainer")) return true;
  const auto has = [&](const char* section, std::initializer_list<const char*> keys) {
    return document.contains(section) && document.at(section).is_object() &&
           std::ranges::any_of(keys, [&](const char* key) { return document.at(section).contains(key); });
  };
  return has("train", {"train_iters", "global_batch_size", "micro_batch_size"}) &&
         (document.contains("model") || document.contains("checkpoint") || document.contains("mixed_precision"));
}

void read_bridge(Json document, const Run& run, Report& report) {
  fill_in_references(document);
  if (document.contains("perf_matrix")) {
    read_perf_matrix(document, run.stem, run.row, report);
    if (!report.asks("row") && document.contains("ConfigContainer"))
      map_beside_rows(document.at("ConfigContainer"), report);
    return;
  }
  const std::vector<std::string> renamed = rename_first_sections(document);
  read_container(document.contains("ConfigContainer") ? document.at("ConfigContainer") : document, report);
  respell_first_sections(renamed, report);
}

}  // namespace foretoken::io::launch::bridge
