// Completes what the words behind a program of NeMo or Megatron-Bridge state.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/configuration_questions.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/harmless.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/import/launch/program_keys.h"
#include "sim/io/import/launch/program_words.h"
#include "sim/io/import/launch/settings.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/model/model_purpose.h"

namespace foretoken::io::launch {
namespace {

namespace fs = std::filesystem;

// The last value that a word gives a key. Empty for none, and for an empty value.
std::string stated_value(const NamedFile& named, std::string_view key) {
  std::string value;
  for (const std::string& word : named.overrides)
    if (word.starts_with(key) && word.find('=') == key.size()) value = word.substr(key.size() + 1);
  return value;
}

bool states_key(const NamedFile& named, std::string_view key) {
  return std::ranges::any_of(
      named.overrides, [&](const std::string& word) { return word.starts_with(key) && word.find('=') == key.size(); });
}

// Says why the words do not give a count.
std::string why_no_count(const NamedFile& named, std::string_view key) {
  const std::string value = stated_value(named, key);
  if (!states_key(named, key)) return fmt::format("no word behind the program states {}", key);
  if (value.empty())
    return fmt::format("{} is empty; state its variable with --env NAME=VALUE, or the GPUs with --gpus N", key);
  return fmt::format("{} is {}", key, printable(shell::is_unknown(value) ? shell::why_unknown(value) : value, 120));
}

// Lightning stops where its launcher starts other processes than trainer.devices on trainer.num_nodes.
void settle_gpus(const NamedFile& named, Report& report) {
  const auto nodes = whole_of(stated_value(named, kNodes)), each = whole_of(stated_value(named, kDevices));
  const bool known = nodes.value_or(0) > 0 && each.value_or(0) > 0;
  const bool counted = named.launched && named.gpus.has_value();
  if (known && (!counted || !named.states_nodes || *named.gpus == *nodes * *each)) return;
  report.forget("gpus");
  std::erase_if(report.asked, [](const Asked& one) { return one.key == "gpus"; });
  if (known)
    return report.ask("gpus", fmt::format("the launcher starts {} processes, and trainer.devices x trainer.num_nodes "
                                          "is {}",
                                          *named.gpus, *nodes * *each));
  if (counted && (named.states_nodes || !states_key(named, kNodes)))
    report.map("gpus", *named.gpus, "the launcher (" + named.place + ")");
  else
    report.ask("gpus", why_no_count(named, nodes.value_or(0) > 0 ? kDevices : kNodes));
}

// Megatron-Bridge writes qwen3_600m for Qwen3-0.6B and qwen3_1p7b for Qwen3-1.7B: src/megatron/bridge/recipes/qwen.
std::string with_point_in_size(std::string name) {
  const auto digit = [&](std::size_t at) { return at < name.size() && name[at] >= '0' && name[at] <= '9'; };
  for (std::size_t at = name.find('_'); at != name.npos; at = name.find('_', at + 1)) {
    if (!digit(at + 1)) continue;
    const std::size_t end = std::min(name.find('_', at + 1), name.size());
    const std::string size = name.substr(at + 1, end - at - 1);
    if (size.size() == 4 && size.ends_with("00m")) return name.replace(at + 1, 4, fmt::format("0.{}b", size[0]));
    if (size.size() == 4 && size[1] == 'p' && digit(at + 3) && size[3] == 'b') name[at + 2] = '.';
  }
  return name;
}

// Returns the words of a command that may name a recipe, with the setting: behind --factory and --recipe, and the
// program itself without its task: finetune_llama3_8b.py.
std::vector<std::pair<std::string, std::string>> recipes_of(const shell::Command& command) {
  std::vector<std::pair<std::string, std::string>> recipes;
  const std::vector<Argument> arguments = arguments_of(command.words, "");
  for (const char* flag : {"factory", "recipe"})
    if (std::string name = value_of(arguments, flag); !name.empty())
      recipes.emplace_back(with_point_in_size(std::move(name)), std::string("--") + flag);
  for (const std::string& word : command.words) {
    const std::string stem = fs::path(word).stem().string();
    for (const std::string_view task : {"pretrain_", "finetune_"})
      if (word.ends_with(".py") && stem.starts_with(task)) recipes.emplace_back(stem.substr(task.size()), stem + ".py");
  }
  return recipes;
}

// Returns the lines about words that change a model: "--vocab-size (model.vocab_size)". Those of values that nobody
// knows have no value, and the reason behind a colon.
std::vector<Mapped> changes_of_model(const Report& report) {
  std::vector<Mapped> changes;
  for (const Mapped& one : report.mapped)
    if (one.key.starts_with("model.")) changes.push_back(one);
  for (const Asked& one : report.asked)
    if (one.key.starts_with("model.") && one.flag_is_open) changes.push_back({one.key, "", one.because});
  return changes;
}

// The vocabulary is set over the recipe's model. Other words are refused: their keys differ between kinds of models.
void map_changes_of_model(const std::vector<Mapped>& changes, const Json& vocabulary, Report& report) {
  constexpr const char* kChanges = "it changes the recipe's model";
  for (const Mapped& one : changes) {
    const std::size_t begin = one.from.find('(') + 1, end = std::min(one.from.find(')'), one.from.size());
    const std::string word = one.from.substr(begin, end - begin);
    if (one.value.empty()) {
      report.refuse(word, fmt::format("{}{}", kChanges, one.from.substr(std::min(end + 1, one.from.size()))));
    } else if (one.key != "model.vocab_size") {
      report.refuse(word, fmt::format("{}; state --model with its config.json", kChanges));
    } else {
      const Json named = report.at("model");
      Json model = named.is_object() ? named : Json::object();
      if (named.is_string()) model["base"] = named;
      model["vocab_size"] = vocabulary;
      report.map("model", std::move(model), fmt::format("{}, {}", report.mapped.back().from, word));
    }
  }
}

// The recipe behind --factory of NeMo 2, and --recipe of Megatron-Bridge, names its model: llama3_70b,
// "llama3_8b(num_nodes=2)", qwen3_8b_pretrain_config. Returns false where it does not, or where words change its sizes.
bool map_model_of_recipe(const NamedFile& named, Report& report) {
  constexpr std::string_view kSizes[] = {"model.num_layers", "model.hidden_size", "model.ffn_hidden_size",
                                         "model.num_attention_heads", "model.num_query_groups"};
  if (std::ranges::any_of(kSizes, [&](std::string_view key) { return states_key(named, key); })) return false;
  auto recipes = recipes_of(named.command);
  // The weights that NeMo 1 loads hold their configuration.
  if (const std::string weights = stated_value(named, "model.restore_from_path"); !shell::is_unknown(weights))
    recipes.emplace_back(fs::path(weights).stem().string(), "model.restore_from_path");
  for (auto [name, from] : recipes) {
    name.resize(std::min(name.find('('), name.size()));
    for (const std::string_view end : {"_config", "_pretrain", "_finetune", "_sft", "_peft"})
      if (name.ends_with(end)) name.resize(name.size() - end.size());
    if (name.empty() || !model_of_name(name)) continue;
    const std::vector<Mapped> changes = changes_of_model(report);
    const Json vocabulary = report.at("model.vocab_size");
    report.forget("model");
    std::erase_if(report.asked, [](const Asked& one) { return one.key == "model" || one.key.starts_with("model."); });
    map_named_model(name, from, report);
    map_changes_of_model(changes, vocabulary, report);
    return true;
  }
  return false;
}

// Recipes of fine-tuning train adapters unless their peft_scheme is none: NVIDIA/NeMo, nemo/collections/llm/recipes/
// llama3_8b.py; NVIDIA-NeMo/Megatron-Bridge, src/megatron/bridge/recipes/llama/llama3.py.
void ask_for_method(const NamedFile& named, Report& report) {
  const auto& words = named.command.words;
  const auto finetune = std::ranges::find(words, "finetune");
  const bool by_verb = finetune != words.begin() && finetune != words.end() && *(finetune - 1) == "llm";
  const auto tunes = [](const auto& recipe) {
    const auto parts = words_of_name(recipe.first + "_" + recipe.second);
    return std::ranges::any_of(parts, [](const std::string& part) { return part == "finetune" || part == "peft"; });
  };
  const std::string adapters = value_of(arguments_of(words, ""), "peft");
  if (!by_verb && std::ranges::none_of(recipes_of(named.command), tunes) && adapters.empty()) return;
  if (switch_of(adapters) == false && !adapters.empty()) return;  // --peft none
  if (report.has("training.method")) return;
  report.ask("training.method", adapters.empty() ? "the recipe of fine-tuning decides about LoRA"
                                                 : "--peft " + printable(adapters, 40) +
                                                       " trains adapters, whose rank and products the recipe states");
}

// Values that are Megatron-LM's defaults leave no flag: the words state them all the same.
void map_stated_defaults(const NamedFile& named, Report& report) {
  if (stated_value(named, "model.activation") == "gelu") report.map("model.activation", "gelu", "model.activation");
  const std::string granularity = stated_value(named, "model.activations_checkpoint_granularity");
  if (!report.has("recompute.granularity") && (granularity == "null" || granularity == "None"))
    report.map("recompute.granularity", "none", "model.activations_checkpoint_granularity");
  const std::string optimizer = stated_value(named, "model.optim.name");
  if (!report.has("optimizer.zero_stage") && !optimizer.empty() && !shell::is_unknown(optimizer))
    report.map("optimizer.zero_stage", 0, "model.optim.name");
}

// The scenario's own defaults stand for what is not asked for.
void note_own_defaults(bool model_known, Report& report) {
  constexpr std::string_view kDefaults[] = {"model.normalization",
                                            "model.num_query_groups",
                                            "model.add_bias_linear",
                                            "model.untie_embeddings_and_output_weights",
                                            "model.hidden_dropout",
                                            "model.attention_dropout",
                                            "model.position_embedding_type",
                                            "parallelism.context",
                                            "parallelism.virtual_pipeline",
                                            "parallelism.sequence_parallel",
                                            "overlap.grad_reduce",
                                            "overlap.param_gather",
                                            "overlap.p2p",
                                            "attention"};
  std::string rest;
  for (const std::string_view key : kDefaults)
    if (!report.has(key) && !(model_known && key.starts_with("model.")))
      rest += (rest.empty() ? "" : ", ") + std::string(key);
  if (!rest.empty()) report.approximate("the scenario's own defaults", "no word behind the program states " + rest);
}

// Lists the words behind `nemo llm` that no key of Megatron-LM stands for: optim.config.lr=1e-4.
void list_other_words(const NamedFile& named, Report& report) {
  if (factory_of_nemo(named.command).empty()) return;
  for (const std::string& word : named.command.words) {
    const std::string plain = with_names_of_nemo_1(word.substr(std::min(word.find_first_not_of('+'), word.size())));
    const std::string key = word.substr(0, word.find('='));
    const bool read = std::ranges::find(named.overrides, plain) != named.overrides.end();
    if (read || word.starts_with('-') || word.find('=') == word.npos || key.find('.') == key.npos) continue;
    if (key.find('(') != key.npos || shell::is_unknown(key)) continue;  // arguments of the recipe
    constexpr std::string_view kOptimizer =
        "optim.config.lr optim.config.min_lr optim.config.weight_decay optim.config.adam_* optim.config.clip_grad "
        "optim.lr_scheduler.*";
    const bool free =
        is_harmless_name(key) || lists_key(kOptimizer, key) || key.starts_with("log.") || key.starts_with("resume.");
    if (free)
      report.ignore(printable(key, 80), named.place);
    else
      report.refuse(printable(key, 80), std::string("no key here stands for it") + kUnlessFree + printable(key, 80),
                    named.place);
  }
}

}  // namespace

void complete_keys(const NamedFile& named, Report& report) {
  for (const auto& [name, from] : recipes_of(named.command))
    if (const std::string_view purpose = other_purpose_of(name); !purpose.empty())
      return report.refuse(printable(name, 60), fmt::format("a {} model, not a language model", purpose), from);
  list_other_words(named, report);
  if (report.framework != "Megatron-Bridge")  // overrides of a recipe hold no assumptions
    report.drop_assumptions("the configuration of the program decides, which is not there");
  if (!factory_of_nemo(named.command).empty())  // NeMo 2 has no such key
    std::erase_if(report.assumed, [](const Assumed& one) { return one.key == "model.megatron_amp_O2"; });
  constexpr std::pair<std::string_view, std::string_view> kSwitches[] = {
      {"model.sequence_parallel", "parallelism.sequence_parallel"},
      {"model.optim.overlap_grad_sync", "overlap.grad_reduce"},
      {"model.optim.overlap_param_sync", "overlap.param_gather"}};
  for (const std::string& word : named.overrides)
    for (const auto& [name, key] : kSwitches)
      if (word.starts_with(name) && word.find('=') == name.size() && switch_of(word.substr(name.size() + 1)) == false)
        report.map(key, false, printable(word, 80));
  if (report.framework == "NeMo") settle_gpus(named, report);
  map_stated_defaults(named, report);
  ask_for_adapter("no word behind the program states it; NeMo's default is rank 32 beside attention_qkv",
                  "megatron-lora", report);
  ask_for_method(named, report);
  const bool model_known = map_model_of_recipe(named, report);
  ask_for_configuration(model_known, "no word behind the program states it", report);
  note_own_defaults(model_known, report);
  for (const std::string& word : named.command.words)
    if (word.find("neuronx") != word.npos)
      return report.refuse("neuronx", "a program for AWS Trainium, whose kernels and memory are others", named.place);
}

}  // namespace foretoken::io::launch
