// Reads the flags of a command as arguments of Hugging Face's Trainer.
#include "sim/io/import/launch/tuning/trainer_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "sim/base/text.h"
#include "sim/io/import/launch/deepspeed/read_deepspeed.h"
#include "sim/io/import/launch/launcher_words.h"
#include "sim/io/import/launch/megatron/deepspeed_config.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/shell/unknown.h"
#include "sim/io/import/launch/tuning/read_tuning.h"
#include "sim/io/import/launch/yaml/read_yaml.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::io::launch::tuning {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBatch = "per-device-train-batch-size";

bool is_programs(std::string_view flag) { return flag == kBatch || flag == "model-name-or-path"; }

bool trains(const shell::Command& command) {
  const auto arguments = arguments_of(command.words, "");
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(arguments, [&](const Argument& one) { return one.name == name; });
  };
  return has(kBatch) && !has("num-layers");
}

bool starts_with_word(const shell::Command& command, std::string_view word) {
  return std::ranges::any_of(command.words,
                             [&](const std::string& one) { return fs::path(one).filename().string() == word; });
}

const Argument* last_of(const std::vector<Argument>& arguments, std::string_view name) {
  const auto found = std::find_if(arguments.rbegin(), arguments.rend(),
                                  [&](const Argument& argument) { return argument.name == name; });
  return found == arguments.rend() ? nullptr : &*found;
}

std::string joined(const Argument& argument) {
  std::string all;
  for (const std::string& value : argument.values) all += (all.empty() ? "" : " ") + value;
  return all;
}

/// Returns the arguments as the keys of a file: per_device_train_batch_size. Values that nobody knows are left out.
Json document_of(const std::vector<Argument>& arguments, Report& report) {
  Json document = Json::object();
  for (const Argument& argument : arguments) {
    std::string key = argument.name;
    std::ranges::replace(key, '-', '_');
    // DeepSpeed-Chat's name of the length.
    if (key == "max_seq_len") key = "max_seq_length";
    const std::string value = joined(argument);
    constexpr std::string_view kNeedValues[] = {"per_device_train_batch_size",
                                                "gradient_accumulation_steps",
                                                "max_seq_length",
                                                "model_max_length",
                                                "block_size",
                                                "model_name_or_path"};
    const bool needs = std::ranges::find(kNeedValues, key) != std::end(kNeedValues);
    if (shell::is_unknown(value))
      report.approximate("--" + printable(argument.name, 80),
                         "its value is " + printable(shell::why_unknown(value), 120) + ", and taken as not stated");
    else if (argument.values.empty() && needs)
      report.approximate("--" + argument.name, "it has no value; the script may expect a variable of the environment");
    else
      document[key] = argument.values.empty() ? "true" : value;
  }
  return document;
}

/// Takes --deepspeed FILE out of the arguments. Returns the file's content, where it can be read. A bare --deepspeed
/// with --zero_stage becomes a name that says the stage, as the Trainer's files have it.
std::optional<Json> take_deepspeed(const shell::Script& script, const std::string& folder,
                                   std::vector<Argument>& arguments) {
  for (const char* name : {"deepspeed-config", "deepspeed"}) {
    const Argument* const stated = last_of(arguments, name);
    if (stated == nullptr || stated->values.empty()) continue;
    const auto config =
        megatron::deepspeed_config_of(script, {{"deepspeed-config", stated->values, stated->place}}, folder);
    if (config) std::erase_if(arguments, [&](const Argument& one) { return one.name == name; });
    return config;
  }
  if (last_of(arguments, "deepspeed") == nullptr) return std::nullopt;
  const Argument* const stage = last_of(arguments, "zero-stage");
  const std::string said = (stage == nullptr ? "0" : joined(*stage));
  const std::string offload = last_of(arguments, "offload") == nullptr ? "" : "_offload";
  std::erase_if(arguments, [](const Argument& one) {
    return one.name == "deepspeed" || one.name == "zero-stage" || one.name == "offload";
  });
  arguments.push_back({"deepspeed", {"zero" + said + offload}, ""});
  return std::nullopt;
}

std::optional<std::int64_t> launched_gpus(const shell::Command& command, const LaunchedProgram& launched,
                                          const std::string& place) {
  std::vector<Argument> counts;
  for (const auto& [name, value] : command.scheduler) {
    const std::string flag = name.substr(std::min(name.find_first_not_of('-'), name.size()));
    if (is_count(flag)) counts.push_back({flag, {value}, "Slurm"});
  }
  counts.insert(counts.end(), launched.counts.begin(), launched.counts.end());
  // accelerate counts the processes of all machines.
  if (const Argument* const all = last_of(launched.options, "num-processes"))
    counts.push_back({"gpus", all->values, place});
  const bool bare = counts.empty() && command.words.front().starts_with("python") &&
                    std::ranges::none_of(command.words, [](const std::string& word) {
                      return word.find("torch.distributed") != std::string::npos;
                    });
  if (bare) return 1;
  Report own;
  if (last_of(counts, "gpus") != nullptr) std::erase_if(counts, [](const Argument& one) { return one.name != "gpus"; });
  megatron::map_gpus(Flags(std::move(counts), own));
  constexpr std::int64_t kMost = 1 << 24;
  const auto gpus = own.whole("gpus");
  return gpus && *gpus <= kMost ? gpus : std::nullopt;
}

/// Takes what accelerate's file and options say, where the program's own arguments do not.
void add_accelerate(const LaunchedProgram& launched, const std::string& folder, Json& document,
                    std::optional<std::int64_t>& gpus, Report& report) {
  const auto option = [&](const char* name) {
    const Argument* const found = last_of(launched.options, name);
    return found == nullptr ? std::string() : joined(*found);
  };
  Report file;
  bool by_fsdp = launched.has("use-fsdp");
  if (const std::string name = option("config-file"); !name.empty()) {
    const fs::path inside = fs::path(folder) / name, beside = fs::path(folder) / fs::path(name).filename();
    std::error_code error;
    const fs::path path = fs::is_regular_file(inside, error) ? inside : beside;
    Findings unread;
    const bool there = fs::is_regular_file(path, error);
    const auto text = there ? read_text_file(path, path.string(), unread) : std::nullopt;
    const auto settings = text ? read_yaml(*text, path.string(), unread) : std::nullopt;
    if (settings && deepspeed::is_accelerate(*settings)) {
      deepspeed::read_accelerate(*settings, path, std::nullopt, file);
      by_fsdp = by_fsdp || settings->value("distributed_type", "") == "FSDP";
    } else {
      report.approximate("--config_file",
                         printable(name, 100) + " is not there; what it says about ranks and types is unknown");
    }
  }
  if (!gpus) gpus = file.whole("gpus");
  std::string type = option("mixed-precision");
  if (type.empty() && file.has("precision")) type = file.at("precision").get<std::string>();
  if ((type == "bf16" || type == "fp16") && !document.contains("bf16") && !document.contains("fp16"))
    document[type] = "true";
  const auto stage = file.whole("optimizer.zero_stage");
  std::string said = stage ? std::to_string(*stage) : "";
  if (launched.has("use-deepspeed")) said = option("zero-stage").empty() ? "2" : option("zero-stage");
  const bool decided = document.contains("deepspeed") || document.contains("fsdp");
  const std::string moved = file.has("offload") ? " offload" : "";
  if (!decided && by_fsdp)
    document["fsdp"] = (said == "2" ? "shard_grad_op" : "full_shard") + moved;
  else if (!decided && !said.empty())
    document["deepspeed"] = "zero" + said + moved;
  for (Refused& one : file.refused) report.refused.push_back(std::move(one));
}

}  // namespace

bool is_trainer_script(const shell::Script& script) { return std::ranges::any_of(script.commands, trains); }

void read_trainer_script(const shell::Script& script, const std::string& folder, const std::string& row,
                         const std::vector<std::string>& flags, std::optional<std::int64_t> gpus, Report& report) {
  std::vector<const shell::Command*> trainings;
  for (const shell::Command& command : script.commands)
    if (trains(command)) trainings.push_back(&command);
  const auto all = static_cast<std::int64_t>(trainings.size());
  const std::int64_t number = row.empty() ? 1 : whole_of(row).value_or(0);
  if (number < 1 || number > all)
    return report.ask("row", fmt::format("the script starts {} trainings; choose one with --row 1 to {}", all, all));
  if (all > 1 && row.empty())
    report.approximate("the training", fmt::format("the first of {} commands that start a training; the others are "
                                                   "left out; choose one with --row 1 to {}",
                                                   all, all));
  const shell::Command& command = *trainings[static_cast<std::size_t>(number - 1)];
  const std::string place = command.line > 0 ? fmt::format("{}:{}", command.file, command.line) : command.file;
  const LaunchedProgram launched = launched_program(command.words, place, is_programs);
  std::vector<Argument> arguments = arguments_of(launched.program, place);
  for (Argument& argument : arguments_of(flags, "the command line")) arguments.push_back(std::move(argument));
  const auto deepspeed = take_deepspeed(script, folder, arguments);
  const bool stated = gpus.has_value();
  if (!stated) gpus = launched_gpus(command, launched, place);
  Json document = document_of(arguments, report);
  if (starts_with_word(command, "accelerate")) add_accelerate(launched, folder, document, gpus, report);
  read_trainer(document, gpus, report, deepspeed ? &*deepspeed : nullptr);
  for (Mapped& one : report.mapped)
    if (one.key == "gpus" && !stated) one.from = "the launcher (" + place + ")";
  for (const std::string& option : launched.others) report.ignore(printable(option, 80), place);
}

}  // namespace foretoken::io::launch::tuning
