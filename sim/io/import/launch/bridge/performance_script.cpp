// Reads the flags of NVIDIA's performance scripts as the columns of a recommended run.
//
// Flags: NVIDIA-NeMo/Megatron-Bridge, scripts/performance/argument_parser.py; NVIDIA/NeMo, scripts/performance/
// argument_parser.py, whose programs are named after their model: pretrain_llama3_8b.py.
#include "sim/io/import/launch/bridge/performance_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/nemo/recommended_run.h"
#include "sim/io/import/launch/other_devices.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::bridge {
namespace {

using Words = std::vector<std::string>;

constexpr std::pair<std::string_view, const char*> kShort[] = {{"-m", "--model_family_name"},
                                                               {"-mr", "--model_recipe_name"},
                                                               {"-s", "--model_size"},
                                                               {"-ng", "--num_gpus"},
                                                               {"-gn", "--gpus_per_node"},
                                                               {"-g", "--gpu"},
                                                               {"-c", "--compute_dtype"},
                                                               {"-fr", "--fp8_recipe"},
                                                               {"-tp", "--tensor_model_parallel_size"},
                                                               {"-pp", "--pipeline_model_parallel_size"},
                                                               {"-cp", "--context_parallel_size"},
                                                               {"-vp", "--virtual_pipeline_model_parallel_size"},
                                                               {"-ep", "--expert_model_parallel_size"},
                                                               {"-et", "--expert_tensor_parallel_size"},
                                                               {"-mb", "--micro_batch_size"},
                                                               {"-gb", "--global_batch_size"},
                                                               {"-sl", "--seq_length"},
                                                               {"-rl", "--recompute_num_layers"},
                                                               {"-ol", "--activation_offload_layers"},
                                                               {"-a", "--account"},
                                                               {"-p", "--partition"},
                                                               {"-t", "--time_limit"},
                                                               {"-i", "--container_image"},
                                                               {"-l", "--log_dir"},
                                                               {"-d", "--dryrun"},
                                                               {"-E", "--env"},
                                                               {"-f", "--finetuning"},
                                                               {"-rm", "--recompute_modules"},
                                                               {"-cg", "--cuda_graphs"},
                                                               {"-fsdp", "--use_mcore_fsdp"},
                                                               {"-nlay", "--num_layers"},
                                                               {"-hs", "--hidden_size"}};

/// A flag, the column of a recommended run and the key that the recipe decides about without it.
struct Column {
  std::string_view flag;
  const char *column, *key;
};
constexpr Column kColumns[] = {{"num-gpus", "num_gpus", "gpus"},
                               {"tensor-model-parallel-size", "tp_size", "parallelism.tensor"},
                               {"tensor-parallel-size", "tp_size", "parallelism.tensor"},
                               {"pipeline-model-parallel-size", "pp_size", "parallelism.pipeline"},
                               {"pipeline-parallel-size", "pp_size", "parallelism.pipeline"},
                               {"context-parallel-size", "cp_size", "parallelism.context"},
                               {"virtual-pipeline-model-parallel-size", "vp_size", "parallelism.virtual_pipeline"},
                               {"virtual-pipeline-parallel-size", "vp_size", "parallelism.virtual_pipeline"},
                               {"expert-model-parallel-size", "ep_size", "parallelism.expert"},
                               {"expert-parallel-size", "ep_size", "parallelism.expert"},
                               {"expert-tensor-parallel-size", "etp_size", ""},
                               {"micro-batch-size", "mbs", "batch.micro"},
                               {"global-batch-size", "gbs", "batch.global"},
                               {"seq-length", "seq_length", "batch.sequence_length"},
                               {"recompute-num-layers", "recompute_num_layers", "recompute.granularity"},
                               {"recompute-layers", "recompute_num_layers", "recompute.granularity"},
                               {"recompute-modules", "recompute_modules", "recompute.granularity"},
                               {"activation-offload-layers", "activation_offload_layers", ""},
                               {"cuda-graphs", "cuda_graphs", ""},
                               {"use-megatron-fsdp", "use_megatron_fsdp", ""},
                               {"use-mcore-fsdp", "use_mcore_fsdp", ""},
                               {"pipeline-model-parallel-layout", "pipeline_model_parallel_layout", ""}};

// Returns a flag as the programs write it: "--num_gpus".
std::string as_written(std::string_view flag) {
  std::string name = "--" + std::string(flag);
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

// The place of the program among the words: a file of Python, or the module scripts.performance.llm.NAME.
std::size_t place_of_program(const Words& words) {
  const auto program = std::ranges::find_if(
      words, [](const std::string& word) { return word.ends_with(".py") || word.starts_with("scripts.performance."); });
  return static_cast<std::size_t>(program - words.begin());
}

// Returns true for the programs of NVIDIA/NeMo, scripts/performance.
bool is_of_nemo(const std::string& program) {
  return program.starts_with("scripts.performance.") || program.find("scripts/performance/llm/") != program.npos;
}

// The short flags behind the program are its own; those before it are of its launcher.
Words with_long_flags(Words words) {
  const bool of_nemo = !words.empty() && is_of_nemo(words.front());
  for (std::string& word : words) {
    // NeMo's -s is the secret of Run:ai.
    const auto found = std::ranges::find_if(
        kShort, [&](const auto& pair) { return word == pair.first && !(of_nemo && word == "-s"); });
    if (found != std::end(kShort)) word = found->second;
  }
  return words;
}

// The model in the name of a program: scripts.performance.llm.pretrain_llama3_8b, finetune_llama3_70b.py.
std::string model_of_program(const std::string& program, bool& tuned) {
  std::string name = std::filesystem::path(program).filename().string();
  if (name.ends_with(".py")) name.resize(name.size() - 3);
  name.erase(0, name.rfind('.') + 1);
  for (const std::string_view begin : {"pretrain_", "finetune_"})
    if (name.starts_with(begin)) {
      tuned = begin.front() == 'f';
      return name.substr(begin.size());
    }
  return "";
}

// Returns true for programs of the Trainer, and for those that DeepSpeed or accelerate start.
bool is_of_others(const Words& words, std::size_t program, const std::vector<Argument>& arguments) {
  for (std::size_t i = 0; i < program; ++i) {
    const std::string name = std::filesystem::path(words[i]).filename().string();
    if (name == "deepspeed" || name == "accelerate" || name.starts_with("deepspeed.launcher") ||
        name.starts_with("accelerate.commands"))
      return true;
  }
  return std::ranges::any_of(arguments, [](const Argument& one) {
    return one.name == "model-name-or-path" || one.name == "per-device-train-batch-size" ||
           one.name.starts_with("deepspeed");
  });
}

/// A command of a performance script.
struct Recipe {
  Words words{};  ///< the program with its arguments
  std::vector<Argument> arguments{};
  std::string model{};
  bool tuned = false, of_nemo = false;
};

std::optional<Recipe> recipe_of(const shell::Command& command, const Words& flags) {
  const std::size_t program = place_of_program(command.words);
  if (program == command.words.size()) return std::nullopt;
  Words words(command.words.begin() + static_cast<std::ptrdiff_t>(program), command.words.end());
  words.insert(words.end(), flags.begin(), flags.end());
  words = with_long_flags(std::move(words));
  Recipe recipe{.arguments = arguments_of(words, command.place()), .of_nemo = is_of_nemo(words.front())};
  const auto value = [&](const char* name) { return value_of(recipe.arguments, name); };
  if (value("num-gpus").empty() || (value("gpu").empty() && !recipe.of_nemo)) return std::nullopt;
  if (is_of_others(command.words, program, recipe.arguments)) return std::nullopt;
  recipe.model = value("model-recipe-name");
  // Before the recipes had names: --model_name llama3 --model_size 70b.
  const std::string family = value("model-name").empty() ? value("model-family-name") : value("model-name");
  if (recipe.model.empty() && !family.empty() && !value("model-size").empty())
    recipe.model = family + "_" + value("model-size");
  if (recipe.model.empty()) recipe.model = model_of_program(words.front(), recipe.tuned);
  recipe.words = std::move(words);
  return recipe.model.empty() ? std::nullopt : std::optional(std::move(recipe));
}

// "fp8" beside --fp8_recipe cs is "fp8_cs".
std::string dtype_of(const std::vector<Argument>& arguments) {
  const std::string dtype = value_of(arguments, "compute-dtype"), recipe = value_of(arguments, "fp8-recipe");
  if (dtype != "fp8" || recipe.empty()) return dtype.empty() ? "bf16" : dtype;
  return recipe == "mxfp8" ? "fp8_mx" : "fp8_" + recipe;
}

// Returns the columns that are stated. Values that nobody knows are asked for behind the mapping.
Json columns_of(const std::vector<Argument>& arguments) {
  Json columns = Json::object();
  for (const Column& one : kColumns)
    if (const Argument* const found = last_of(arguments, one.flag); found != nullptr && !found->values.empty() &&
                                                                    !shell::is_unknown(found->values.front()) &&
                                                                    found->values.front() != "None")
      columns[one.column] = found->values.front();
  if (std::string modules = columns.value("recompute_modules", ""); !modules.empty()) {
    std::ranges::replace(modules, ',', ' ');
    columns["recompute_modules"] = modules;
  }
  // argument_parser.py (bool_arg) takes f and n for false as well.
  for (const char* key : {"cuda_graphs", "use_mcore_fsdp", "use_megatron_fsdp"})
    if (const std::string value = lower_case(columns.value(key, "")); value == "f" || value == "n")
      columns[key] = "false";
  const std::string graphs = value_of(arguments, "cuda-graph-impl");
  if (!graphs.empty() && graphs != "none") columns["cuda_graphs"] = "true";
  return columns;
}

// The recipe decides about a key that no flag states.
void ask_for_recipe(const std::vector<Argument>& arguments, const std::string& model, Report& report) {
  const bool experts = report.at("model").dump().find("expert") != std::string::npos ||
                       std::ranges::any_of(words_of_name(model), [](const std::string& word) {
                         return word == "deepseek" || word == "mixtral" || word == "kimi" || word == "gpt" ||
                                (word.size() > 2 && word.front() == 'a' && word.back() == 'b');
                       });
  for (const Column& one : kColumns) {
    const std::string_view key = one.key;
    if (key == "parallelism.expert" && !experts) report.assume(key, 1, "the model has no experts");
    if (key.empty() || (key == "parallelism.expert" && !experts)) continue;
    const bool stated = std::ranges::any_of(kColumns, [&](const Column& other) {
      const std::string value = value_of(arguments, other.flag);
      return other.key == key && !value.empty() && !shell::is_unknown(value);
    });
    if (stated) continue;
    if (key == "parallelism.virtual_pipeline" && report.whole("parallelism.pipeline") == 1) {
      report.assume(key, 1, "one stage has no chunks");
      continue;
    }
    const std::string value = value_of(arguments, one.flag);
    report.forget(key);
    std::erase_if(report.asked, [&](const Asked& asked) { return asked.key == key; });
    report.ask(
        key, value.empty()
                 ? fmt::format("no {} states it; the recipe of {} decides", as_written(one.flag), printable(model, 60))
                 : fmt::format("{} is {}", as_written(one.flag), printable(shell::why_unknown(value), 120)));
  }
}

// Assumptions that follow from degrees hold only where those are known.
void forget_what_follows(Report& report) {
  if (!report.has("parallelism.tensor")) report.forget("parallelism.sequence_parallel");
  if (!report.has("parallelism.virtual_pipeline")) report.forget("overlap.p2p");
  if (!report.has("parallelism.pipeline") || !report.has("parallelism.virtual_pipeline"))
    report.forget("parallelism.embedding_and_head_as_layers");
}

void refuse_other_recipes(const Recipe& recipe, Report& report) {
  const std::vector<Argument>& arguments = recipe.arguments;
  const auto refuse = [&](const char* name, const char* because) {
    const Argument* const found = last_of(arguments, name);
    if (found == nullptr || (!found->values.empty() && switch_of(found->values.front()) == false)) return;
    report.refuse(as_written(name), because, found->place);
  };
  if (const std::string domain = value_of(arguments, "domain"); !domain.empty() && domain != "llm")
    report.refuse("--domain", in_quotes(printable(domain, 40)) + ": not a language model");
  for (const char* size : {"hidden-size", "num-layers", "first-k-dense-replace"})
    refuse(size, "it changes the recipe's model; state --model with its config.json");
  refuse("use-tokendrop", "tokens are dropped");
  refuse("deterministic", "deterministic kernels, which are slower");
  // Bridge's argument_parser.py: "for recipes that support it (e.g. Kimi-K2). Defaults to muon."
  const std::string optimizer = value_of(arguments, "optimizer-type");
  if (optimizer == "muon") refuse("optimizer-type", "an optimizer that is not modelled");
  if ((optimizer.empty() || shell::is_unknown(optimizer)) && recipe.model.starts_with("kimi"))
    report.refuse(
        "--optimizer_type",
        "muon, the default of Kimi's recipes, is not modelled; state --optimizer_type adam where the run has it");
  const std::string size = value_of(arguments, "model-size");
  if (!size.empty() && !recipe.model.ends_with("_" + size))
    refuse("model-size", "it is not the size of the recipe's model");
  constexpr std::string_view kFree[] = {
      "logger.",         "checkpoint.", "dataset.",    "profiling.",        "tokenizer.",      "rng.",
      "scheduler.",      "dist.",       "validation.", "straggler.",        "nvrx_straggler.", "energy_monitor.",
      "train.manual_gc", "train.eval_", "train.exit_", "train.train_iters", "train.check_"};
  for (const std::string& word : recipe.words) {
    const std::string key = word.substr(0, word.find('='));
    const bool changes = !word.starts_with('-') && key.size() < word.size() && key.find('.') != key.npos &&
                         key.find('/') == key.npos && !shell::is_unknown(key);
    if (changes && std::ranges::none_of(kFree, [&](std::string_view one) { return key.starts_with(one); }))
      report.refuse(printable(key, 80), "it changes the recipe of a performance script; state it with --set");
  }
}

void sort_flags(const std::vector<Argument>& arguments, Report& report) {
  constexpr std::string_view kRead[] = {"model-family-name",
                                        "model-recipe-name",
                                        "model-name",
                                        "model-size",
                                        "compute-dtype",
                                        "fp8-recipe",
                                        "task",
                                        "finetuning",
                                        "cuda-graph-impl",
                                        "domain",
                                        "hidden-size",
                                        "num-layers",
                                        "use-tokendrop",
                                        "deterministic",
                                        "optimizer-type",
                                        "cuda-graph-scope"};
  Json rest = Json::object();
  for (const Argument& one : arguments) {
    const bool column = std::ranges::any_of(kColumns, [&](const Column& other) { return other.flag == one.name; });
    if (column || std::ranges::find(kRead, one.name) != std::end(kRead)) continue;
    rest[as_written(one.name).substr(2)] =
        one.values.empty() || shell::is_unknown(one.values.front()) ? "true" : one.values.front();
  }
  constexpr KeyRule kKeys[] = {
      {"gpu gpus_per_node account partition time_limit container_image custom_* additional_slurm_params gres packager "
       "env nemo_home dgxc_* kubeflow_* wandb* wd* hf* offline log_dir detach dryrun max_retries max_steps lr min_lr "
       "warmup_iters save* load_dir pretrained_checkpoint most_recent_k data dataset* index_mapping_dir head_only c4_* "
       "tokenizer_* enable_nsys export_nsys_sqlite nsys_* pytorch_profiler profiling_* "
       "record_memory_history "
       "en pyp mh ms lgc vb cm ce cs cb enable_vboost enable_pct_binding dump_env list_config_variants use_recipes "
       "nccl_communicator_config_path checkpoint_save checkpoint_load_path base_url app_id app_secret project_name "
       "pvc_nemo_run_dir tensorboard tb wd nh cps cpl pss pso id pd "
       "is_long_convergence_run retry_on_testing_failure golden_values_path *_threshold"},
      {"config_variant cv", "one of several recipes; those of NVIDIA's tables are taken"},
      {"nccl_ub moe_a2a_overlap moe_flex_dispatcher_backend use_user_buffer_registration use_sharp",
       "communication is arranged as the runtime does it"},
      {"vocab_size", "the vocabulary of the recipe's model is taken"},
      {"packed_sequence", "packed sequences are taken as whole ones"}};
  Settings(std::move(rest), report).sort_rest(kKeys, Unknown::kByName);
}

// The task of --task, or of NeMo's finetune_NAME.py with its --finetuning.
std::string task_of(const Recipe& recipe) {
  if (std::string task = value_of(recipe.arguments, "task"); !task.empty()) return task;
  if (!recipe.tuned) return "pre_train";
  const std::string scheme = value_of(recipe.arguments, "finetuning");
  return scheme.empty() ? "lora" : scheme;
}

// Names the defaults that stand for flags, and asks for those whose value nobody knows.
void settle_defaults(const Recipe& recipe, const std::string& task, const std::string& dtype, Report& report) {
  constexpr const char* kDefault = "the default of the script (argument_parser.py)";
  const auto value = [&](const char* name) { return value_of(recipe.arguments, name); };
  if (shell::is_unknown(dtype)) {
    report.forget("precision");
    report.ask("precision", "--compute_dtype is " + printable(shell::why_unknown(dtype), 120));
  } else if (value("compute-dtype").empty()) {
    report.assume("precision", "bf16", kDefault);
  } else if (dtype == "fp8" && recipe.of_nemo) {
    report.assume("precision_recipe.fp8_recipe", "delayed", fmt::format("ds is {}", kDefault));
  }
  if (value("gpu").empty()) report.approximate("--gpu h100", kDefault);
  if (const std::string graphs = value("cuda-graphs"); shell::is_unknown(graphs))
    report.ask("cuda_graphs", "--cuda_graphs is " + printable(shell::why_unknown(graphs), 120));
  if (shell::is_unknown(task))
    report.ask("training.method", "the task is " + printable(shell::why_unknown(task), 120));
  else if (recipe.tuned && task != "sft" && task != "lora")
    report.refuse("--finetuning", "expected sft or lora, found " + in_quotes(printable(task, 40)));
}

}  // namespace

bool is_performance_script(const shell::Script& script) {
  return std::ranges::any_of(script.commands, [](const shell::Command& one) { return recipe_of(one, {}).has_value(); });
}

void read_performance_script(const shell::Script& script, const std::string& row, const Words& flags, Report& report) {
  std::vector<const shell::Command*> all;
  for (const shell::Command& command : script.commands)
    if (recipe_of(command, {})) all.push_back(&command);
  const auto count = static_cast<std::int64_t>(all.size());
  const std::int64_t number = row.empty() ? 1 : whole_of(row).value_or(0);
  if (number < 1 || number > count) return ask_for_row(count, report);
  if (row.empty()) note_left_out(number, count, report);
  const shell::Command& command = *all[static_cast<std::size_t>(number - 1)];
  const Recipe recipe = recipe_of(command, flags).value_or(Recipe{});
  report.framework = "NVIDIA's performance scripts";
  if (shell::is_unknown(recipe.model))
    return report.ask("model", "the name of the recipe depends on " + printable(shell::why_unknown(recipe.model), 120));
  const std::string task = task_of(recipe), dtype = dtype_of(recipe.arguments);
  const Settings settings(columns_of(recipe.arguments), report);
  nemo::map_recommended_run(
      settings, {.model = recipe.model, .task = task, .dtype = shell::is_unknown(dtype) ? "bf16" : dtype}, report);
  settle_defaults(recipe, task, dtype, report);
  ask_for_recipe(recipe.arguments, recipe.model, report);
  forget_what_follows(report);
  refuse_other_recipes(recipe, report);
  settings.sort_rest({});
  sort_flags(recipe.arguments, report);
  note_empty_words(command, report);
  refuse_other_backend(command, report);
  for (Mapped& one : report.mapped)
    for (const Column& column : kColumns)
      if (one.from == column.column && last_of(recipe.arguments, column.flag) != nullptr)
        one.from = fmt::format("{} ({})", as_written(column.flag), command.place());
}

}  // namespace foretoken::io::launch::bridge
