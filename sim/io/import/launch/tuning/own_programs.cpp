// Reads the arguments of training programs of the user's own.
//
// Scripts with a loop of their own name their arguments after the Trainer's, accelerate's examples (--batch_size,
// --gradient_accumulation_steps) or DeepSpeed's configuration (--train_micro_batch_size_per_gpu). All other names are
// sorted by their words, as beside the Trainer.
#include "sim/io/import/launch/tuning/own_programs.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/only_megatrons.h"
#include "sim/io/import/launch/model_names.h"
#include "sim/io/model/model_purpose.h"

namespace foretoken::io::launch::tuning {
namespace {

using TrainersName = std::pair<std::string_view, const char*>;

constexpr std::string_view kOwnModels[] = {"model-name-or-path", "model-name",
                                           "model-id",           "model-path",
                                           "base-model",         "pretrained-model-name-or-path",
                                           "pretrained-model",   "pretrained-model-path",
                                           "input-model",        "model"};
constexpr const char* kOwnEach = "per-device-train-batch-size";
constexpr const char* kStage = "zero-stage";
constexpr const char* kOwnSteps = "gradient-accumulation-steps";
constexpr TrainersName kOwnNames[] = {{"per-device-batch-size", kOwnEach},
                                      {"per-device-bs", kOwnEach},
                                      {"per-gpu-bs", kOwnEach},
                                      {"device-bs", kOwnEach},
                                      {"per-gpu-train-batch-size", kOwnEach},
                                      {"per-gpu-batch-size", kOwnEach},
                                      {"train-micro-batch-size-per-gpu", kOwnEach},
                                      {"micro-batch-size-per-gpu", kOwnEach},
                                      {"train-batch-size-per-gpu", kOwnEach},
                                      {"batch-size-per-gpu", kOwnEach},
                                      {"batch-size-per-device", kOwnEach},
                                      {"micro-batch-size", kOwnEach},
                                      {"global-batch-size", "global-train-batch-size"},
                                      {"optimizer", "optim"},
                                      {"accumulation-steps", kOwnSteps},
                                      {"grad-accumulation-steps", kOwnSteps},
                                      {"grad-accum-steps", kOwnSteps},
                                      {"grad-accum", kOwnSteps},
                                      {"accum-steps", kOwnSteps},
                                      {"gradient-accumulation", kOwnSteps},
                                      {"gradient-accumulate-every", kOwnSteps},
                                      {"seq-length", "max-seq-length"},
                                      {"seq-len", "max-seq-length"},
                                      {"sequence-length", "max-seq-length"},
                                      {"max-sequence-length", "max-seq-length"}};
/// Beside these a model of any name is one of language.
constexpr std::string_view kOwnLengths[] = {"max-seq-length",  "max-seq-len",        "model-max-length", "block-size",
                                            "context-length",  "cutoff-len",         "seq-length",       "seq-len",
                                            "sequence-length", "max-sequence-length"};
/// These count the sequences of a GPU in one program, and those of a step in another.
constexpr std::string_view kOpenBatches[] = {"train-batch-size", "batch-size", "train-bs", "bs", "bsz"};
constexpr std::string_view kOwnRuns[] = {"learning-rate",   "lr",        "num-train-epochs", "num-epochs", "epochs",
                                         "max-train-steps", "max-steps", "train-steps",      "steps",      "num-steps",
                                         kOwnSteps};

// Returns the batch that may be of a GPU or of a step; nullptr for none.
const Argument* open_batch(const std::vector<Argument>& arguments) {
  for (const std::string_view name : kOpenBatches)
    if (const Argument* const found = last_of(arguments, name)) return found;
  return nullptr;
}

/// A key of the scenario that an argument of the Trainer fixes, and the way to state it otherwise.
struct Fixed {
  std::string_view name;
  const char *key, *way;
};
constexpr Fixed kFixed[] = {{kOwnEach, "batch.micro", "--set batch.micro=N"},
                            {kOwnSteps, "batch.global", "--global-batch N"},
                            {"global-train-batch-size", "batch.global", "--global-batch N"},
                            {"max-seq-length", "batch.sequence_length", "--seq N"}};

std::string flag_of(std::string name) {
  std::ranges::replace(name, '-', '_');
  return "--" + name;
}

// Returns the Trainer's name of an argument.
std::string_view trainers_name(const Argument& argument) {
  const auto* const found = std::ranges::find(kOwnNames, std::string_view(argument.name), &TrainersName::first);
  return found == std::end(kOwnNames) ? std::string_view(argument.name) : found->second;
}

// Asks where two names of one setting have different values, and takes them out.
void ask_for_one_value(const Fixed& fixed, std::vector<Argument>& arguments, Report& report) {
  std::vector<const Argument*> stated;  // the last of each name, which counts
  for (const Argument& argument : arguments)
    if (trainers_name(argument) == fixed.name && last_of(arguments, argument.name) == &argument)
      stated.push_back(&argument);
  const auto differs =
      std::ranges::find_if(stated, [&](const Argument* one) { return one->values != stated.front()->values; });
  if (differs == stated.end()) return;
  const auto shown = [](const Argument& one) {
    return flag_of(one.name) + (one.values.empty() ? "" : " " + printable(one.values.front(), 20));
  };
  report.ask(fixed.key, shown(*stated.front()) + " and " + shown(**differs) +
                            " differ, and nobody knows which of them counts; state " + fixed.way);
  std::erase_if(arguments, [&](const Argument& one) { return trainers_name(one) == fixed.name; });
  if (fixed.name == kOwnSteps) arguments.push_back({kOwnSteps, {"auto"}, ""});  // not the default
}

// DeepSpeed's file states the batch where no flag does.
bool names_deepspeed_file(const std::vector<Argument>& arguments) {
  return std::ranges::any_of(arguments, [](const Argument& one) {
    const bool config = one.name.find("config") != one.name.npos || one.name.ends_with("file") ||
                        one.name.ends_with("path") || one.name == "deepspeed";
    const bool zero = one.name.starts_with("deepspeed") || one.name.starts_with("ds-") || one.name == "zero-config";
    return config && zero && !one.values.empty();
  });
}

// A stage of ZeRO is one beside any switch of DeepSpeed. A bare --deepspeed, and --use-zero, say none.
void take_stage(std::vector<Argument>& arguments, Report& report) {
  constexpr const char* kSwitch = "use-zero";
  const bool stage = last_of(arguments, kStage) != nullptr, file = names_deepspeed_file(arguments);
  const std::string said = value_of(arguments, kSwitch);
  const bool on = last_of(arguments, kSwitch) != nullptr && (said.empty() || switch_of(said) == true);
  if (on) std::erase_if(arguments, [&](const Argument& one) { return one.name == kSwitch; });
  if (on && !stage && !file)
    report.ask("optimizer.zero_stage", "--use_zero says no stage; state --set optimizer.zero_stage=N");
  if (file) return;
  std::erase_if(arguments, [](const Argument& one) { return one.name == "deepspeed"; });
  if (stage) arguments.push_back({"deepspeed", {}, ""});
}

}  // namespace

bool is_own_program(const std::vector<Argument>& arguments) {
  const bool known = std::ranges::any_of(kOwnModels, [&](std::string_view name) {
    const std::string model = value_of(arguments, name);
    return model_of_name(model).has_value() || names_language_model(model);
  });
  const bool model = known || (has_any_of(arguments, kOwnModels) && has_any_of(arguments, kOwnLengths));
  const bool counts_iterations =
      has_any_of(arguments, megatron::kIterations) && !has_any_of(arguments, megatron::kWeights);
  const bool megatrons = has_any_of(arguments, megatron::kSizes) || has_any_of(arguments, megatron::kOnlyMegatrons);
  if (!model || megatrons || counts_iterations) return false;
  const bool each = std::ranges::any_of(kOwnNames, [&](const TrainersName& one) {
    return std::string_view(one.second) == kOwnEach && last_of(arguments, one.first) != nullptr;
  });
  const bool runs = has_any_of(arguments, kOwnRuns) ||
                    std::ranges::any_of(arguments, [](const Argument& one) { return trainers_name(one) == kOwnSteps; });
  return (each || open_batch(arguments) != nullptr || names_deepspeed_file(arguments)) && runs;
}

namespace {

/// Keys of DeepSpeed's file and the Trainer's arguments.
constexpr TrainersName kOfFile[] = {{"train_micro_batch_size_per_gpu", kOwnEach},
                                    {"gradient_accumulation_steps", kOwnSteps},
                                    {"train_batch_size", "global-train-batch-size"}};

// Adds an argument that DeepSpeed's file states.
void take_key_of_deepspeed(const std::string& name, const std::string& value, const std::string& key,
                           std::vector<Argument>& arguments, Origins& origins) {
  constexpr const char* kPlace = "of the DeepSpeed configuration";
  arguments.push_back({name, {value}, kPlace});
  // Before the names of flags: the last value counts.
  origins.names.insert(origins.names.begin(), {name, key + " " + kPlace});
}

}  // namespace

void take_precision_of_deepspeed(const Json& config, std::vector<Argument>& arguments, Origins& origins) {
  const bool typed = std::ranges::any_of(std::array{"bf16", "fp16"},
                                         [&](const char* name) { return last_of(arguments, name) != nullptr; });
  for (const char* type : {"bf16", "fp16"}) {
    const Json enabled = config.value(Json::json_pointer("/" + std::string(type) + "/enabled"), Json());
    const bool on = enabled.is_string() && switch_of(enabled.get<std::string>()).value_or(false);
    if (on && !typed) take_key_of_deepspeed(type, "true", std::string(type) + ".enabled", arguments, origins);
  }
}

void take_settings_of_deepspeed(const Json& config, std::vector<Argument>& arguments, Origins& origins) {
  take_precision_of_deepspeed(config, arguments, origins);
  if (last_of(arguments, kOwnEach) != nullptr) return;
  for (const auto& [key, name] : kOfFile) {
    const auto found = config.find(std::string(key));
    if (found != config.end() && found->is_string() && whole_of(found->get<std::string>()))
      take_key_of_deepspeed(name, found->get<std::string>(), std::string(key), arguments, origins);
  }
}

namespace {

// Asks where a flag and the file differ: transformers, integrations/deepspeed.py, stops there.
void ask_beside_file(std::string_view name, const std::string& stated, const std::string& other,
                     std::vector<Argument>& arguments, Report& report) {
  const auto* const fixed = std::ranges::find(kFixed, name, &Fixed::name);
  report.ask(fixed->key, flag_of(std::string(name)) + " " + printable(stated, 20) + " and " + other +
                             ", differ; state " + fixed->way);
  std::erase_if(arguments, [&](const Argument& one) { return one.name == name; });
  if (name == kOwnSteps) arguments.push_back({kOwnSteps, {"auto"}, ""});  // not the default
}

}  // namespace

void take_settings_beside_accelerate(const Json& config, std::vector<Argument>& arguments, Origins& origins,
                                     Report& report) {
  take_precision_of_deepspeed(config, arguments, origins);
  for (const auto& [key, name] : kOfFile) {
    const auto found = config.find(std::string(key));
    if (found == config.end() || !found->is_string()) continue;
    const std::string value = found->get<std::string>();
    if (!whole_of(value)) continue;
    const std::string stated = value_of(arguments, name);
    if (last_of(arguments, name) == nullptr)
      take_key_of_deepspeed(name, value, std::string(key), arguments, origins);
    else if (whole_of(stated) && whole_of(stated) != whole_of(value))
      ask_beside_file(name, stated, std::string(key) + " of the DeepSpeed configuration, " + value, arguments, report);
  }
}

void settle_stage(const Json& config, std::vector<Argument>& arguments, Report& report) {
  const Json stated = config.value(Json::json_pointer("/zero_optimization/stage"), Json());
  const auto ours = whole_of(value_of(arguments, kStage));
  const auto theirs = whole_of(stated.is_string() ? stated.get<std::string>() : stated.dump());
  if (!ours || !theirs) return;
  if (*ours != *theirs)
    report.ask("optimizer.zero_stage", "--zero_stage " + std::to_string(*ours) +
                                           " and the stage of the DeepSpeed configuration, " + std::to_string(*theirs) +
                                           ", differ; state --set optimizer.zero_stage=N");
  std::erase_if(arguments, [](const Argument& one) { return one.name == kStage; });
}

void take_stage_beside_file(std::vector<Argument>& arguments, Report& report) {
  const std::string stage = value_of(arguments, kStage), file = value_of(arguments, "deepspeed");
  const auto named = zero_in_name(file).stage;
  if (!whole_of(stage) || (named && named != whole_of(stage))) return;
  std::erase_if(arguments, [](const Argument& one) { return one.name == kStage; });
  if (named) return;
  report.approximate("deepspeed", printable(file, 80) + " is not there; ZeRO is that of --zero_stage");
  for (Argument& argument : arguments)
    if (argument.name == "deepspeed") argument.values = {"zero" + stage};
}

void take_own_names(std::vector<Argument>& arguments, Origins& origins, Report& report) {
  origins.defaults_known = false;
  for (const Fixed& fixed : kFixed) ask_for_one_value(fixed, arguments, report);
  take_stage(arguments, report);
  for (Argument& argument : arguments) {
    const auto* const found = std::ranges::find(kOwnNames, std::string_view(argument.name), &TrainersName::first);
    if (found == std::end(kOwnNames)) continue;
    origins.names.emplace_back(found->second, argument.name);
    argument.name = found->second;
  }
  const Argument* const open = open_batch(arguments);
  if (open == nullptr) return;
  const bool each = last_of(arguments, kOwnEach) != nullptr;
  report.ask(each ? "batch.global" : "batch.micro",
             flag_of(open->name) + " " + printable(value_of(arguments, open->name), 20) +
                 " counts the sequences of a GPU or of a step, as the program has it; state " +
                 (each ? "--global-batch N" : "--set batch.micro=N"));
  std::erase_if(arguments, [](const Argument& one) {
    return std::ranges::find(kOpenBatches, one.name) != std::end(kOpenBatches);
  });
  if (each) arguments.push_back({kOwnSteps, {"auto"}, ""});  // it depends on that batch
}

}  // namespace foretoken::io::launch::tuning
