// Reads the command line of ms-swift's Megatron as Megatron-LM's flags.
//
// Names and defaults: modelscope/ms-swift v3, swift/megatron/argument/{megatron_args,train_args}.py.
#include "sim/io/import/launch/megatron/swift_command.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/model_names.h"

namespace foretoken::io::launch::megatron {
namespace {

constexpr std::pair<std::string_view, const char*> kNames[] = {
    {"max-length", "seq-length"},
    {"lora-rank", "lora-r"},
    {"target-modules", "lora-target-modules"},
};

/// Arguments of the data, the checkpoints and the adapters that say nothing more about a step.
constexpr std::string_view kWithoutEffect =
    " split-dataset-ratio dataset-num-proc load-from-cache-file load-safetensors save-safetensors model-author"
    " model-name max-epochs streaming dataset-shuffle template truncation-strategy lazy-tokenize no-save-optim"
    " no-save-rng no-load-optim no-load-rng use-hf system loss-scale agent-template packing merge-lora lora-dropout"
    " vit-gradient-checkpointing strict attn-impl train-dataloader-shuffle val-dataset cached-dataset padding-free"
    " columns tuner-backend dataloader-num-workers dataloader-pin-memory dataloader-persistent-workers"
    " dataloader-prefetch-factor ";
/// Arguments that are read here.
constexpr std::string_view kRead = " train-type tuner-type torch-dtype model freeze-llm freeze-vit freeze-aligner ";

constexpr const char* kDefaultOfSwift = "a default of ms-swift";

// "--seq-length (sft.sh:3)" becomes "--max_length (sft.sh:3)": as the user wrote it.
std::string as_swift_writes(const std::string& from) {
  if (!from.starts_with("--")) return from;
  const std::size_t end = std::min(from.find(' '), from.size());
  std::string name = from.substr(2, end - 2);
  for (const auto& [own, megatrons] : kNames)
    if (name == megatrons) name = own;
  std::ranges::replace(name, '-', '_');
  return "--" + name + from.substr(end);
}

// A flag that only this code has added is an assumption.
void name_as_swift_does(Report& report) {
  const std::vector<Mapped> all = report.mapped;
  for (const Mapped& one : all)
    if (one.from.ends_with(std::string("(") + kDefaultOfSwift + ")"))
      report.assume(one.key, report.at(one.key), "ms-swift's default (swift/megatron/argument)");
  for (Mapped& one : report.mapped) one.from = as_swift_writes(one.from);
}

}  // namespace

bool is_swift_command(const shell::Command& command) {
  if (command.words.size() < 2 || std::filesystem::path(command.words[0]).filename() != "megatron") return false;
  const std::string& kind = command.words[1];
  return kind == "sft" || kind == "pt" || kind == "rlhf";
}

void become_megatron(std::vector<Argument>& arguments) {
  const std::string type = value_of(arguments, "torch-dtype"), method = value_of(arguments, "train-type"),
                    newer = value_of(arguments, "tuner-type");
  const bool lora = method == "lora" || newer == "lora";
  if (!lora) std::erase_if(arguments, [](const Argument& one) { return one.name.starts_with("lora-"); });
  for (Argument& argument : arguments)
    for (const auto& [own, name] : kNames)
      if (argument.name == own) argument.name = name;
  std::erase_if(arguments, [](const Argument& one) {
    return holds_word(kWithoutEffect, one.name) || holds_word(kRead, one.name) ||
           (one.name == "lora-target-modules" && one.values.empty());
  });
  const auto usual = [&](const char* name, std::vector<std::string> values) {
    if (last_of(arguments, name) == nullptr) arguments.push_back({name, std::move(values), kDefaultOfSwift});
  };
  if (type == "float16")
    usual("fp16", {});
  else if (type != "float32" && last_of(arguments, "fp16") == nullptr)
    usual("bf16", {});
  usual("use-distributed-optimizer", {});
  usual("micro-batch-size", {"1"});
  usual("global-batch-size", {"16"});
  usual("recompute-granularity", {"selective"});
  usual("attention-backend", {"flash"});
  usual("use-mcore-models", {});
  usual("expert-tensor-parallel-size", {"1"});
  if (lora) usual("lora-r", {"8"});
}

void map_swift_model(const shell::Command& command, const std::vector<Argument>& arguments, Report& report) {
  name_as_swift_does(report);
  const auto of_model = [](const std::string& key) { return key == "model" || key.starts_with("model."); };
  report.remove("model");
  std::erase_if(report.mapped, [&](const Mapped& one) { return of_model(one.key); });
  std::erase_if(report.assumed, [&](const Assumed& one) { return of_model(one.key); });
  std::erase_if(report.asked, [&](const Asked& one) { return of_model(one.key); });
  const bool named = last_of(arguments, "model") != nullptr;
  const std::string name = value_of(arguments, named ? "model" : "load");
  map_named_model(name.empty() ? "?" : name, named ? "--model" : "--load", report);
  if (name.find("-VL") != name.npos || name.find("Omni") != name.npos)
    report.refuse("--model", "multimodal: not a language model", command.place());
  if (command.words[1] == "rlhf") report.refuse("rlhf", "preference or RL stage, not plain training", command.place());
  if (const std::string method = value_of(arguments, "train-type");
      !method.empty() && method != "lora" && method != "full")
    report.refuse("--train-type", "other weights train than with LoRA: " + printable(method, 40), command.place());
  if (value_of(arguments, "freeze-llm") == "true")
    report.refuse("--freeze-llm", "the language model does not train", command.place());
  for (const Argument& argument : arguments)
    if (holds_word(kWithoutEffect, argument.name)) report.ignore("--" + argument.name, argument.place);
}

}  // namespace foretoken::io::launch::megatron
