// Makes a scenario of a submission's variables.
//
// Names: mlcommons/training_results_v3.0 to v6.0, NVIDIA/benchmarks/*/implementations: config_common.sh, conf/*.yaml.
#include "sim/io/import/launch/mlperf/read_mlperf.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "sim/base/text.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/mlperf/benchmark.h"
#include "sim/io/import/launch/mlperf/nodes.h"
#include "sim/io/import/launch/mlperf/rest.h"

namespace foretoken::io::launch::mlperf {
namespace {

constexpr const char *kWithoutFp8 = "FP8 is off", *kDefaultOfRecipe = "default of NeMo's recipe",
                     *kGradientsOfRecipe = "taken as in NVIDIA's submissions, which reduce gradients in bf16";

std::int64_t map_degree(const Settings& settings, Report& report, std::string_view key,
                        std::initializer_list<std::string_view> names) {
  const auto stated = settings.find(names);
  const bool none =
      !stated || stated->value.empty() || stated->value == "null" || stated->value == "0" || stated->value == "None";
  if (none) {
    report.assume(key, 1, fmt::format("{} is not set", *names.begin()));
    return 1;
  }
  if (shell::is_unknown(stated->value)) {
    report.ask(key, fmt::format("{} is {}", stated->from, printable(shell::why_unknown(stated->value), 120)));
    return 1;
  }
  const auto value = whole_of(stated->value);
  if (!value || *value < 1 || *value > kMostCount) {
    report.refuse(stated->from, "expected a whole number from 1, found " + in_quotes(stated->value));
    return 1;
  }
  write(report, key, *value, *stated);
  return *value;
}

bool changes_nothing(const std::string& missing) {
  return missing.find("mount") != missing.npos || missing.find("data") != missing.npos;
}

// Returns true where a file of the configuration is not there.
bool is_incomplete(const shell::Script& script) {
  return std::ranges::any_of(script.missing, [](const std::string& missing) {
    return !changes_nothing(std::filesystem::path(missing).filename().string());
  });
}

// Names: Cisco/benchmarks/gpt_oss_20b of round 6.0, config_common.sh.
void map_experts(const Settings& settings, Report& report) {
  const Json model = report.at("model");
  if (model.is_string() && model.get_ref<const std::string&>().find("gpt-oss") == std::string::npos)
    return report.assume("parallelism.expert", 1, "the benchmark's model has no experts");
  (void)map_degree(settings, report, "parallelism.expert", {"EXPERT_PARALLEL", "EP"});
  if (report.whole("parallelism.expert").value_or(1) > 1 || settings.find({"EXPERT_TENSOR_PARALLEL", "ETP"}))
    (void)map_degree(settings, report, "parallelism.expert_tensor", {"EXPERT_TENSOR_PARALLEL", "ETP"});
  if (model.is_null()) return;
  const auto type = settings.find({"MOE_TOKEN_DISPATCHER_TYPE"});
  const auto backend = settings.find({"MOE_FLEX_DISPATCHER_BACKEND"});
  if (type && type->value == "flex" && backend)
    write(report, "moe.dispatcher", backend->value == "hybridep" ? "hybridep" : "deepep", *backend);
  else if (type && type->value != "flex")
    write(report, "moe.dispatcher", type->value == "allgather" ? "all-gather" : "all-to-all", *type);
  const auto factor = settings.find({"MOE_EXPERT_CAPACITY_FACTOR"});
  if (const auto number = factor ? number_of_text(factor->value) : std::nullopt; number && *number > 0)
    write(report, "moe.capacity_factor", *number, *factor);
  if (settings.on({"MOE_EP_A2A_OVERLAP"})) report.map("moe.overlap", true, "MOE_EP_A2A_OVERLAP");
}

void map_shape(const Settings& settings, std::optional<std::int64_t> gpus, Report& report) {
  const std::int64_t tensor = map_degree(settings, report, "parallelism.tensor", {"TENSOR_MODEL_PARALLEL", "TP"});
  const std::int64_t stages = map_degree(settings, report, "parallelism.pipeline", {"PIPELINE_MODEL_PARALLEL", "PP"});
  const std::int64_t context = map_degree(settings, report, "parallelism.context", {"CONTEXT_PARALLEL", "CP"});
  // Rounds 5.0 and 5.1: cp_comm_type of conf/megatron_gpt_peft_tuning_config.yaml.
  if (const auto type = settings.find({"CP_COMM_TYPE"}); type && context > 1) {
    if (const auto exchange = megatron::exchange_of_type(type->value))
      write(report, "parallelism.context_exchange", std::string(*exchange), *type);
    else
      report.refuse(type->from, "expected p2p, a2a or all_gather, found " + in_quotes(type->value));
  }
  (void)map_degree(settings, report, "parallelism.virtual_pipeline", {"INTERLEAVED_PIPELINE", "VP"});
  if (stages == 1) report.assume("parallelism.virtual_pipeline", 1, "one stage has no chunks");
  (void)map_degree(settings, report, "batch.micro", {"MICRO_BATCH_SIZE", "MBS"});
  map_experts(settings, report);
  const double replica = static_cast<double>(tensor) * static_cast<double>(stages) * static_cast<double>(context);
  const auto minibatch = settings.find({"MINIBS"});
  const auto sequences = minibatch ? whole_of(minibatch->value) : std::nullopt;
  if (!sequences) return report.ask("batch.global", "MINIBS is not set");
  if (!gpus)
    return report.ask("batch.global",
                      fmt::format("MINIBS states {} sequences a replica, and the GPUs are open", *sequences));
  const double world = static_cast<double>(*gpus), global = static_cast<double>(*sequences) * world / replica;
  report.map("batch.global", static_cast<std::int64_t>(std::min(global, 1e12)),
             fmt::format("MINIBS {} x {:g} replicas", *sequences, world / replica));
}

// LoRA of the first rounds trains with Apex's FusedAdam: optim.name of conf/megatron_gpt_peft_tuning_config.yaml.
// Returns the reason for what follows from it; nothing for another optimizer.
std::optional<std::string> plain_adam(const Settings& settings, const Report& report) {
  if (!report.has("training")) return std::nullopt;
  const auto name = settings.find({"optim.name"});
  if (!name || name->value != "fused_adam") return std::nullopt;
  return fmt::format("default of the submission: {} is fused_adam", name->from);
}

void map_switches(const Settings& settings, Report& report) {
  const auto plain = plain_adam(settings, report);
  const auto map_switch = [&](std::string_view key, std::initializer_list<std::string_view> names, bool fallback) {
    const auto stated = settings.find(names);
    const auto value = stated ? switch_of(stated->value) : std::nullopt;
    if (plain && (key == "overlap.grad_reduce" || key == "overlap.param_gather"))
      report.assume(key, false, *plain);
    else if (value)
      write(report, key, *value, *stated);
    else
      report.assume(key, fallback, kDefaultOfRecipe);
  };
  const bool split = report.whole("parallelism.tensor").value_or(1) > 1;
  const bool chunked = report.whole("parallelism.virtual_pipeline").value_or(1) > 1;
  if (split)
    map_switch("parallelism.sequence_parallel", {"SEQ_PARALLEL", "SP"}, false);
  else
    report.assume("parallelism.sequence_parallel", false, "one tensor rank has nothing to share");
  map_switch("overlap.grad_reduce",
             {"OVERLAP_GRAD_REDUCE", "OVERLAP_GRAD_SYNC", "DDP_OVERLAP_GRAD_REDUCE", kGradSyncKey}, true);
  map_switch("overlap.param_gather",
             {"OVERLAP_PARAM_GATHER", "OVERLAP_PARAM_SYNC", "DDP_OVERLAP_PARAM_GATHER", kParamSyncKey}, true);
  if (chunked)
    map_switch("overlap.p2p", {"OVERLAP_P2P_COMM", "OVERLAP_P2P"}, true);
  else
    report.assume("overlap.p2p", false, "messages overlap in the interleaved schedule only");
  const bool sharded = report.at("parallelism.sequence_parallel") == Json(true);
  if (sharded)
    map_switch("overlap.tensor_parallel", {"TP_COMM_OVERLAP"}, false);
  else
    report.assume("overlap.tensor_parallel", false, "it needs sequence parallelism");
  const auto sharding = settings.find({"USE_DIST_OPTIMIZER", "USE_DISTRIBUTED_OPTIMIZER"});
  const bool distributed = sharding ? switch_of(sharding->value).value_or(true) : true;
  if (plain)
    report.assume("optimizer.zero_stage", 0, *plain);
  else if (sharding)
    write(report, "optimizer.zero_stage", distributed ? 1 : 0, *sharding);
  else if (const auto optimizer = report.has("training") ? settings.find({"optim.name"}) : std::nullopt)
    report.assume("optimizer.zero_stage", 1,
                  fmt::format("default of the submission: {} is {}", optimizer->from, printable(optimizer->value, 60)));
  else
    report.assume("optimizer.zero_stage", 1, kDefaultOfRecipe);
  const bool embedding = settings.on({"ASYM_PP_EMBED"}), head = settings.on({"ASYM_PP_LOSS"});
  if (report.whole("parallelism.pipeline").value_or(1) == 1 || (!embedding && !head)) return;
  if (embedding && head)
    report.map("parallelism.embedding_and_head_as_layers", true, "ASYM_PP_EMBED, ASYM_PP_LOSS");
  else
    report.refuse(embedding ? "ASYM_PP_EMBED" : "ASYM_PP_LOSS",
                  "the embedding and the head count as layers together, or neither does");
}

// conf/megatron_gpt_peft_tuning_config.yaml: activation_func_fp8_input_store, in round 4.0 fp8_activation_input_store.
void note_narrow_activations(const Settings& settings, Report& report) {
  const auto stated = settings.find({"FP8_ACTIVATION", "FP8_ACT"});
  if (!stated) return;
  if (settings.on({"FP8_ACTIVATION", "FP8_ACT"}))
    report.approximate(stated->from, megatron::kNarrowInput);
  else
    report.ignore(stated->from, "");
}

void map_precision(const Settings& settings, Report& report) {
  note_narrow_activations(settings, report);
  const bool fp4 = settings.on({"FP4"}), fp8 = settings.on({"FP8"});
  if (fp4)
    report.map("precision", "nvfp4", settings.find({"FP4"})->from);
  else if (!fp8)
    report.assume("precision", "bf16", kWithoutFp8);
  // LoRA of Blackwell's submissions ends in a wider format: conf/megatron_gpt_peft_tuning_config.yaml, healing_iter.
  if (const auto healing = settings.find({"HEALING_ITER"}); fp4 && healing && whole_of(healing->value).value_or(0) > 0)
    report.approximate(healing->from, fmt::format("the first {} steps are in nvfp4, later ones in fp8; the step is one "
                                                  "of the first",
                                                  printable(healing->value, 20)));
  if (fp8 && !fp4) {
    const auto recipe = settings.find({"FP8_RECIPE"});
    const std::string word = recipe ? recipe->value : "delayed";
    write(report, "precision", word == "mxfp8" ? "mxfp8" : "fp8", *settings.find({"FP8"}));
    if (recipe)
      write(report, "precision_recipe.fp8_recipe", word, *recipe);
    else
      report.assume("precision_recipe.fp8_recipe", word, "default of Transformer Engine");
    // conf/custom.yaml of 405B in rounds 5.0 and 5.1: model.fp8_param has FP8_PARAM, optim.fp8_params has FP8_PARAMS.
    // The second keeps no weights in fp8.
    auto weights = settings.is_read("FP8_PARAM") ? settings.find({"FP8_PARAM_GATHER", "FP8_PARAM"})
                                                 : settings.find({"FP8_PARAMS", "FP8_PARAM_GATHER", "FP8_PARAM"});
    // conf/*.yaml may tie fp8_params to another variable.
    if (const auto tied = settings.find({"fp8_params"}); !weights && tied && !settings.is_read("FP8_PARAM"))
      weights = settings.find({tied->value});
    if (weights && switch_of(weights->value).value_or(false))
      write(report, "precision_recipe.weights", "fp8", *weights);
  }
  const auto attention = settings.find({"FP8_DPA"});
  if (!settings.on({"FP8_DPA"}) || !settings.may_be_read("FP8_DPA")) {
    if (attention && !attention->is_default) report.ignore(attention->from, "");
  } else if (fp4) {
    // NVIDIA/Megatron-LM, megatron/core/fp4_utils.py: get_fp4_recipe() makes NVFP4BlockScaling without fp8_dpa.
    report.approximate(attention->from, "attention runs in bf16: Megatron-Core's recipe of nvfp4 leaves fp8_dpa off");
  } else if (fp8) {
    // F16 leaves attention in 16 bits: NVIDIA/TransformerEngine, transformer_engine/pytorch/attention/
    // dot_product_attention/dot_product_attention.py, _dpa_fp8_recipe.
    const auto own = settings.find({"NVTE_DPA_FP8_RECIPE"});
    const bool wide = own && own->value == "F16";
    write(report, "precision_recipe.attention", wide ? "bf16" : "fp8", wide ? *own : *attention);
  }
  report.assume("precision_recipe.gradients", "bf16", kGradientsOfRecipe);
}

// conf/custom.yaml and conf/megatron_gpt_peft_tuning_config.yaml of round 5.1: cuda_graph_scope.
void map_graph_variables(const Settings& settings, Report& report) {
  const bool each = settings.on({"LAYER_CUDA_GRAPH"}) || settings.on({"MCORE_CUDA_GRAPH"});
  const auto scope = settings.find({"CUDA_GRAPH_SCOPE"});
  if (settings.on({"FULL_CUDA_GRAPH"}))
    report.map("cuda_graphs", "full", settings.find({"FULL_CUDA_GRAPH"})->from);
  else if (settings.on({"MCORE_CUDA_GRAPH"}) && scope && scope->value == "full_iteration")
    write(report, "cuda_graphs", "full", *scope);
  else if (each)
    report.map("cuda_graphs", "layer", "LAYER_CUDA_GRAPH or MCORE_CUDA_GRAPH");
}

// Source: Llama2Config70B of train.py in LoRA of rounds 5.0 and 5.1: activations leave, weights stay
// (cpu_offloading_weights: False in conf/megatron_gpt_peft_tuning_config.yaml).
void map_layers_on_the_host(const Settings& settings, Report& report) {
  const auto stated = settings.find({"CPU_OFFLOADING"});
  if (!stated || !settings.on({"CPU_OFFLOADING"})) return;
  const auto number = settings.find({"CPU_OFFLOADING_NUM_LAYERS"});
  const auto layers = number ? whole_of(number->value) : std::nullopt;
  if (!layers || *layers < 1)
    return report.refuse(stated->from, "CPU_OFFLOADING_NUM_LAYERS states no layers whose activations move to the host");
  report.map("offload.activations", {{"to", "cpu"}, {"layers", *layers}}, stated->from + ", " + number->from);
}

// conf/custom.yaml: use_tp_pp_dp_mapping. One stage has one order.
void note_rank_order(const Settings& settings, Report& report) {
  constexpr const char* kMapping = "TP_PP_DP_MAPPING";
  if (report.whole("parallelism.pipeline") == 1 && settings.on({kMapping})) report.ignore(kMapping, "");
}

void map_recompute(const Settings& settings, Report& report) {
  const auto granularity = settings.find({"ACT_CKPT_GRANULARITY", "RECOMPUTE_GRANULARITY", "ACG"});
  const bool none =
      !granularity || granularity->value.empty() || granularity->value == "null" || granularity->value == "None";
  if (none) return report.assume("recompute.granularity", "none", "ACT_CKPT_GRANULARITY is not set");
  const auto method = settings.find({"ACT_CKPT_METHOD", "RECOMPUTE_METHOD", "ACM"});
  const auto layers = settings.find({"ACT_CKPT_NUM_LAYERS", "RECOMPUTE_NUM_LAYERS", "ACL"});
  const auto count = layers ? whole_of(layers->value) : std::nullopt;
  if (granularity->value == "full" && megatron::recomputes_nothing(method ? method->value : "", count))
    return report.map("recompute.granularity", "none", granularity->from + "; " + megatron::kNoBlock);
  write(report, "recompute.granularity", granularity->value, *granularity);
  const auto modules = settings.find({"RECOMPUTE_MODULES"});
  if (granularity->value == "selective" && modules && !modules->value.empty() && modules->value != "null")
    report.map("recompute.modules", megatron::modules_of(modules->value), modules->from);
  if (granularity->value != "full") return;
  if (method && (method->value == "block" || method->value == "uniform"))
    write(report, "recompute.method", method->value, *method);
  if (count) write(report, "recompute.layers", *count, *layers);
}

// The rounds of the benchmark belong to software of 2023, 2024 and 2025 (validate/cases/mlperf-*.json).
void map_runtime(const std::string& path, Report& report) {
  if (report.has("training")) return;  // LoRA has a runtime of its own
  const char* runtime = "megatron-core";
  if (path.find("results_v3.") != path.npos) runtime = "megatron-core-2023";
  if (path.find("results_v4.") != path.npos) runtime = "megatron-core-2024";
  report.assume("runtime", runtime, "the software of the round; state another with --set runtime=NAME");
}

// Asks for what the file that is not there may state, in the place of the defaults that are assumed.
void ask_for_missing(const std::string& file, Report& report) {
  const auto assumed = [&](std::string_view key) {
    return std::ranges::find(report.assumed, key, &Assumed::key) != report.assumed.end();
  };
  // Others than degrees of one: they follow from the model, or stand in files that are there.
  const auto is_open = [&](std::string_view key) {
    return std::ranges::any_of(report.assumed, [&](const Assumed& one) {
      return one.key == key &&
             (one.because.ends_with(" is not set") || one.because == kWithoutFp8 || one.because == kDefaultOfRecipe);
    });
  };
  std::vector<std::string> open;
  for (const char* key : {"parallelism.tensor", "parallelism.pipeline", "parallelism.context", "parallelism.expert",
                          "parallelism.virtual_pipeline", "parallelism.sequence_parallel", "batch.micro", "precision",
                          "recompute.granularity"})
    if (is_open(key)) open.emplace_back(key);
  const auto holds = [&](const char* key) { return std::ranges::find(open, key) != open.end(); };
  const auto follow = [&](bool from, const char* key) {
    if (from && assumed(key) && !holds(key)) open.emplace_back(key);
  };
  follow(holds("parallelism.pipeline"), "parallelism.virtual_pipeline");
  follow(holds("parallelism.tensor"), "parallelism.sequence_parallel");
  if (holds("parallelism.tensor") || holds("parallelism.pipeline") || holds("parallelism.context"))
    if (report.has("batch.global")) open.emplace_back("batch.global");
  for (const std::string& key : open) {
    report.forget(key);
    report.ask(key, printable(file, 80) + ", which is not there, may state it");
  }
  if (holds("parallelism.sequence_parallel")) report.forget("overlap.tensor_parallel");
  if (holds("parallelism.virtual_pipeline")) report.forget("overlap.p2p");
}

// The recipe of pre-training does not stand for one that nobody knows.
void ask_for_recipe(Report& report) {
  for (const char* key : {"optimizer.zero_stage", "overlap.grad_reduce", "overlap.param_gather", "overlap.p2p",
                          "parallelism.sequence_parallel", "precision_recipe.gradients"}) {
    const auto line = std::ranges::find(report.assumed, key, &Assumed::key);
    if (line == report.assumed.end() || (line->because != kDefaultOfRecipe && line->because != kGradientsOfRecipe))
      continue;
    report.forget(key);
    report.ask(key, kUnknownBenchmark);
  }
}

void refuse_missing(const shell::Script& script, Report& report) {
  for (const std::string& missing : script.missing) {
    const std::string name = std::filesystem::path(missing).filename().string();
    if (changes_nothing(name)) {
      report.ignore(printable(name, 80), "not there");
    } else {
      report.refuse(printable(name, 80), "incomplete: the script reads this file, and it is not there");
      ask_for_missing(name, report);
    }
  }
}

}  // namespace

bool is_mlperf_script(const shell::Script& script) { return script.variables.find("DGXNNODES") != nullptr; }

// mlcommons/training, small_llm_pretraining/nemo/config_H200_1x8x1_8b.sh. The program states its precision, its
// sharding and its recomputation in its code.
bool refuse_reference_program(const shell::Script& script, Report& report) {
  constexpr std::string_view kVariables[] = {"SIZE", "GBS", "MBS", "NNODES", "GPUS_PER_NODE"};
  const bool theirs = std::ranges::all_of(
      kVariables, [&](std::string_view name) { return script.variables.find(std::string(name)) != nullptr; });
  if (!theirs || !script.commands.empty()) return false;
  report.framework = "MLPerf training";
  report.refuse("variables",
                "no configuration variables of NVIDIA's recipe (DGXNNODES, MINIBS): SIZE, GBS and MBS are those of "
                "MLCommons' program, whose precision, sharding and recomputation stand in its code");
  return true;
}

void read_mlperf(const shell::Script& script, const std::filesystem::path& path, Report& report) {
  report.framework = "MLPerf training";
  std::error_code error;
  const std::string whole = std::filesystem::absolute(path, error).lexically_normal().generic_string();
  Defaults defaults = defaults_beside(path, script);
  const Settings settings(script, defaults);
  if (refuse_other_benchmark(settings, whole, report)) return;
  const bool known = map_benchmark(settings, whole, !script.missing.empty(), report);
  if (report.has("training")) add_lora_defaults(whole, script, defaults);
  map_shape(settings, map_nodes(settings, path.filename().string(), is_incomplete(script), report), report);
  map_switches(settings, report);
  map_precision(settings, report);
  map_graph_variables(settings, report);
  map_recompute(settings, report);
  map_layers_on_the_host(settings, report);
  note_rank_order(settings, report);
  map_runtime(whole, report);
  if (!settings.find({"MINIBS"}) || !settings.find({"MICRO_BATCH_SIZE", "MBS", "TENSOR_MODEL_PARALLEL", "TP"}))
    report.refuse("variables",
                  "no configuration variables of NVIDIA's recipe: MINIBS, MICRO_BATCH_SIZE, TENSOR_MODEL_PARALLEL");
  refuse_missing(script, report);
  if (!known) ask_for_recipe(report);
  list_rest(settings, report);
}

}  // namespace foretoken::io::launch::mlperf
