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
                                                               {"-E", "--env"}};

/// A flag, the column of a recommended run and the key that the recipe decides about without it.
struct Column {
  std::string_view flag;
  const char *column, *key;
};
constexpr Column kColumns[] = {{"num-gpus", "num_gpus", "gpus"},
                               {"tensor-model-parallel-size", "tp_size", "parallelism.tensor"},
                               {"pipeline-model-parallel-size", "pp_size", "parallelism.pipeline"},
                               {"context-parallel-size", "cp_size", "parallelism.context"},
                               {"virtual-pipeline-model-parallel-size", "vp_size", "parallelism.virtual_pipeline"},
                               {"expert-model-parallel-size", "ep_size", "parallelism.expert"},
                               {"expert-tensor-parallel-size", "etp_size", ""},
                               {"micro-batch-size", "mbs", "batch.micro"},
                               {"global-batch-size", "gbs", "batch.global"},
                               {"seq-length", "seq_length", "batch.sequence_length"},
                               {"recompute-num-layers", "recompute_num_layers", "recompute.granularity"},
                               {"recompute-layers", "recompute_num_layers", "recompute.granularity"},
                               {"recompute-modules", "recompute_modules", "recompute.granularity"},
                               {"activation-offload-layers", "activation_offload_layers", ""},
                               {"use-megatron-fsdp", "use_megatron_fsdp", ""},
                               {"use-mcore-fsdp", "use_mcore_fsdp", ""},
                               {"pipeline-model-parallel-layout", "pipeline_model_parallel_layout", ""}};

// Returns a flag as the programs write it: "--num_gpus".
std::string as_written(std::string_view flag) {
  std::string name = "--" + std::string(flag);
  std::replace(name.begin() + 2, name.end(), '-', '_');
  return name;
}

Words with_long_flags(Words words) {
  for (std::string& word : words)
    for (const auto& [brief, whole] : kShort)
      if (word == brief) word = whole;
  return words;
}

// The model in the name of a program: scripts.performance.llm.pretrain_llama3_8b, finetune_llama3_70b.py.
std::string model_of_program(const Words& words, bool& tuned) {
  for (const std::string& word : words) {
    std::string name = std::filesystem::path(word).filename().string();
    if (name.ends_with(".py")) name.resize(name.size() - 3);
    name.erase(0, name.rfind('.') + 1);
    for (const char* begin : {"pretrain_", "finetune_"})
      if (name.starts_with(begin)) {
        tuned = begin[0] == 'f';
        return name.substr(std::string_view(begin).size());
      }
  }
  return "";
}

/// A command of a performance script.
struct Recipe {
  std::vector<Argument> arguments;
  std::string model{};
  bool tuned = false;
};

std::optional<Recipe> recipe_of(const shell::Command& command, const Words& flags) {
  Words words = with_long_flags(command.words);
  const bool program = std::ranges::any_of(
      words, [](const std::string& word) { return word.ends_with(".py") || word.starts_with("scripts.performance."); });
  words.insert(words.end(), flags.begin(), flags.end());
  Recipe recipe{.arguments = arguments_of(words, command.place())};
  const auto value = [&](const char* name) { return value_of(recipe.arguments, name); };
  if (!program || value("num-gpus").empty() || value("gpu").empty()) return std::nullopt;
  recipe.model = value("model-recipe-name");
  // Before the recipes had names: --model_name llama3 --model_size 70b.
  const std::string family = value("model-name").empty() ? value("model-family-name") : value("model-name");
  if (recipe.model.empty() && !value("model-size").empty()) recipe.model = family + "_" + value("model-size");
  if (recipe.model.empty()) recipe.model = model_of_program(words, recipe.tuned);
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

void refuse_other_recipes(const std::vector<Argument>& arguments, const Words& words, Report& report) {
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
  if (value_of(arguments, "optimizer-type") == "muon") refuse("optimizer-type", "an optimizer that is not modelled");
  constexpr std::string_view kFree[] = {"logger.", "checkpoint.", "dataset.", "profiling.", "tokenizer.", "rng."};
  for (const std::string& word : words) {
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
       "tokenizer_* vocab_size enable_nsys export_nsys_sqlite nsys_* pytorch_profiler profiling_* "
       "record_memory_history "
       "en pyp mh ms lgc vb cm ce cs cb enable_vboost enable_pct_binding dump_env list_config_variants use_recipes "
       "is_long_convergence_run retry_on_testing_failure golden_values_path *_threshold"},
      {"config_variant cv", "one of several recipes; those of NVIDIA's tables are taken"},
      {"nccl_ub moe_a2a_overlap moe_flex_dispatcher_backend use_user_buffer_registration use_sharp",
       "communication is arranged as the runtime does it"},
      {"packed_sequence", "packed sequences are taken as whole ones"}};
  Settings(std::move(rest), report).sort_rest(kKeys, Unknown::kByName);
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
  const std::string task = value_of(recipe.arguments, "task"), dtype = dtype_of(recipe.arguments);
  const Settings settings(columns_of(recipe.arguments), report);
  nemo::map_recommended_run(settings,
                            {.model = recipe.model,
                             .task = !task.empty()  ? task
                                     : recipe.tuned ? "lora"
                                                    : "pre_train",
                             .dtype = shell::is_unknown(dtype) ? "bf16" : dtype},
                            report);
  if (shell::is_unknown(dtype)) {
    report.forget("precision");
    report.ask("precision", "--compute_dtype is " + printable(shell::why_unknown(dtype), 120));
  } else if (value_of(recipe.arguments, "compute-dtype").empty()) {
    report.assume("precision", "bf16", "the default of the script (argument_parser.py)");
  }
  ask_for_recipe(recipe.arguments, recipe.model, report);
  forget_what_follows(report);
  refuse_other_recipes(recipe.arguments, command.words, report);
  settings.sort_rest({});
  sort_flags(recipe.arguments, report);
  note_empty_words(command, report);
  for (Mapped& one : report.mapped)
    for (const Column& column : kColumns)
      if (one.from == column.column) one.from = fmt::format("{} ({})", as_written(column.flag), command.place());
}

}  // namespace foretoken::io::launch::bridge
