// Finds trainings whose configuration no word of a command names.
#include "sim/io/import/launch/program_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/near_file.h"
#include "sim/io/import/launch/primus_command.h"
#include "sim/io/import/launch/program_words.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

}  // namespace

std::string experiment_of(const shell::Script& script) {
  const shell::Texts* const value = script.variables.find("EXP");
  const bool one = value != nullptr && value->size() == 1 && !shell::is_unknown(value->front());
  return one && value->front().ends_with(".yaml") ? value->front() : "";
}

std::optional<NamedFile> file_of_variable(const shell::Script& script, const std::string& folder) {
  const std::string name = experiment_of(script);
  if (script.unread_by(name) != nullptr) return std::nullopt;
  auto path = name.empty() ? std::nullopt : near_file(name, folder);
  // The container mounts the folder of the script: /workspace/conf/a.yaml is conf/a.yaml.
  const fs::path whole(name);
  if (!name.empty() && !path) path = near_file((whole.parent_path().filename() / whole.filename()).string(), folder);
  if (!path) return std::nullopt;
  NamedFile file;
  file.paths = {*path};
  file.place = "the variable EXP";
  file.command.words = {"primus"};
  file.gpus = gpus_of_primus(script);
  return file;
}

// NeMo 2 has degrees below the strategy, the batch below the data and sizes below model.config: nemo/lightning/
// pytorch/strategies/megatron_strategy.py, nemo/collections/llm/gpt/data/mock.py and model/base.py. Its optimizer is
// Megatron-Core's: megatron/core/optimizer/optimizer_config.py.
std::string with_names_of_nemo_1(std::string word) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"trainer.strategy.tensor_model_parallel_size=", "model.tensor_model_parallel_size="},
      {"trainer.strategy.pipeline_model_parallel_size=", "model.pipeline_model_parallel_size="},
      {"trainer.strategy.virtual_pipeline_model_parallel_size=", "model.virtual_pipeline_model_parallel_size="},
      {"trainer.strategy.context_parallel_size=", "model.context_parallel_size="},
      {"trainer.strategy.expert_model_parallel_size=", "model.expert_model_parallel_size="},
      {"trainer.strategy.sequence_parallel=", "model.sequence_parallel="},
      {"data.micro_batch_size=", "model.micro_batch_size="},
      {"data.global_batch_size=", "model.global_batch_size="},
      {"data.seq_length=", "model.encoder_seq_length="},
      {"model.config.seq_length=", "model.encoder_seq_length="},
      {"optim.config.use_distributed_optimizer=true", "model.optim.name=distributed_fused_adam"},
      {"optim.config.use_distributed_optimizer=false", "model.optim.name=fused_adam"},
      {"optim.config.bf16=true", "trainer.precision=bf16"},
      {"model.config.", "model."}};
  for (const auto& [name, plain] : kNames)
    if (lower_case(word.substr(0, name.size())) == name) return std::string(plain) + word.substr(name.size());
  return word;
}

// Returns the recipe of `nemo llm pretrain --factory RECIPE`, or of another training; empty for other commands.
std::string factory_of_nemo(const shell::Command& command) {
  const auto& words = command.words;
  const auto nemo =
      std::ranges::find_if(words, [](const std::string& word) { return fs::path(word).filename().string() == "nemo"; });
  constexpr std::string_view kTrains[] = {"pretrain", "finetune", "train"};
  if (words.end() - nemo < 3 || nemo[1] != "llm" || std::ranges::find(kTrains, nemo[2]) == std::end(kTrains)) return "";
  return value_of(arguments_of(words, ""), "factory");
}

namespace {

// The GPUs among the arguments of a recipe: "llama3_70b(num_nodes=2,num_gpus_per_node=8)".
std::vector<std::string> counts_of_factory(const std::string& factory) {
  std::vector<std::string> counts;
  for (const auto& [name, key] : {std::pair{"num_nodes=", kNodes}, std::pair{"num_gpus_per_node=", kDevices}}) {
    std::size_t at = factory.find('(');
    if (at != factory.npos) at = factory.find(name, at);
    if (at == factory.npos) continue;
    at += std::string_view(name).size();
    const std::string value = factory.substr(at, std::min(factory.find_first_of(",)", at), factory.size()) - at);
    counts.push_back(fmt::format("{}={}", key, value));
  }
  return counts;
}

}  // namespace

std::vector<NamedFile> keys_of_programs(const shell::Script& script, const std::string& folder) {
  constexpr std::string_view kSections[] = {"model.", "trainer.",        "exp_manager.",  "run.",      "train.",
                                            "ddp.",   "mixed_precision", "comm_overlap.", "optimizer."};
  constexpr std::string_view kOfMegatron[] = {"model.tensor_model_parallel_size", "model.micro_batch_size",
                                              "model.global_batch_size"};
  constexpr std::string_view kOfBridge[] = {"train.micro_batch_size", "train.global_batch_size"};
  // NeMo's launcher begins keys with its stage: training.model.num_layers=12, peft.model.micro_batch_size=1.
  constexpr std::string_view kOfLauncher = "training.", kOfPeft = "peft.";
  std::vector<NamedFile> files;
  for (const shell::Command& command : script.commands) {
    NamedFile file;
    const std::string factory = factory_of_nemo(command);
    file.overrides = counts_of_factory(factory);
    bool megatron = false, trainer = false, bridge = false, adapters = false;
    std::string program = "program.py";
    for (const std::string& word : command.words) {
      if (word.ends_with(".py")) program = fs::path(word).filename().string();
      std::string plain = word.substr(std::min(word.find_first_not_of('+'), word.size()));
      if (plain.starts_with(kOfLauncher)) plain.erase(0, kOfLauncher.size());
      if (plain.starts_with("peft.model.") || plain.starts_with("peft.trainer.")) {
        plain.erase(0, kOfPeft.size());
        adapters = true;
      }
      plain = with_names_of_nemo_1(std::move(plain));
      const std::string key = plain.substr(0, plain.find('='));
      const bool known = plain.find('=') != plain.npos && !shell::is_unknown(key);
      const auto begins = [&](std::string_view section) { return key.starts_with(section); };
      if (!known || !std::ranges::any_of(kSections, begins)) continue;
      file.overrides.push_back(plain);
      trainer = trainer || key.starts_with("trainer.");
      megatron = megatron || std::ranges::find(kOfMegatron, key) != std::end(kOfMegatron);
      bridge = bridge || std::ranges::find(kOfBridge, key) != std::end(kOfBridge);
    }
    if (adapters) file.overrides.push_back("model.peft.peft_scheme=lora");
    const auto same = [&](const NamedFile& other) { return other.overrides == file.overrides; };
    // A recipe of Megatron-Bridge states the rest: run_recipe.py --recipe NAME train.global_batch_size=8.
    const bool recipe = bridge && !trainer && !value_of(arguments_of(command.words, ""), "recipe").empty();
    const bool known = !factory.empty() || (megatron && trainer != bridge) || recipe;
    if (!known || std::ranges::any_of(files, same)) continue;
    file.paths = {fs::path(folder) / (fs::path(program).stem().string() + ".yaml")};
    file.text = bridge && factory.empty() ? "train: {}\nmodel: {}\n" : "trainer: {}\nmodel: {micro_batch_size: null}\n";
    file.place = command.place();
    file.command = command;
    file.keys_alone = true;
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace foretoken::io::launch
