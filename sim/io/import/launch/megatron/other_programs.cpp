// Tells programs that share names of flags with Megatron-LM.
#include "sim/io/import/launch/megatron/other_programs.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "sim/io/import/launch/arguments.h"

namespace foretoken::io::launch::megatron {
namespace {

struct Other {
  std::string_view name;
  std::array<std::string_view, 3> flags;  ///< that only this program has
};
constexpr Other kOtherPrograms[] = {{"fairseq or metaseq", {"decoder-embed-dim", "tokens-per-sample", "update-freq"}},
                                    {"SwissArmyTransformer", {"skip-init", "resume-dataloader", "strict-eval"}}};

/// Megatron-LM has one of these in every training.
constexpr std::string_view kMegatrons[] = {"micro-batch-size",
                                           "global-batch-size",
                                           "tensor-model-parallel-size",
                                           "pipeline-model-parallel-size",
                                           "max-position-embeddings",
                                           "use-checkpoint-args",
                                           "use-mcore-models",
                                           "train-iters",
                                           "train-samples"};
/// Sharding of PyTorch, stages of DeepSpeed and sizes under other names.
constexpr std::string_view kOwn[] = {"sharding-strategy",
                                     "fsdp",
                                     "use-fsdp",
                                     "enable-fsdp",
                                     "fsdp-sharding-strategy",
                                     "pipe-parallel-size",
                                     "num-stages",
                                     "pipeline-stages",
                                     "num-heads",
                                     "n-heads",
                                     "n-head",
                                     "hidden-width",
                                     "d-model",
                                     "embed-dim"};

// A program of the user's own that builds its model by flags: train.py --num_layers 24 --num_heads 16 --fsdp.
bool builds_its_model(const std::vector<Argument>& arguments) {
  const auto any_of = [&](const auto& names) {
    return std::ranges::any_of(names, [&](std::string_view name) { return last_of(arguments, name) != nullptr; });
  };
  constexpr std::string_view kSizes[] = {"num-layers", "hidden-size"};
  // DeepSpeed's Megatron-LM of 2020 has --pipe-parallel-size, too.
  const bool shaped =
      last_of(arguments, "num-attention-heads") != nullptr && last_of(arguments, "seq-length") != nullptr;
  return any_of(kSizes) && any_of(kOwn) && !any_of(kMegatrons) && !shaped;
}

}  // namespace

std::string_view other_program_of(const shell::Command& command) {
  constexpr std::pair<std::string_view, std::string_view> kByWord[] = {{"colossalai", "ColossalAI"},
                                                                       {"litgpt", "LitGPT"}};
  for (const auto& [word, name] : kByWord)
    if (!command.words.empty() && std::filesystem::path(command.words.front()).filename() == word) return name;
  const auto arguments = arguments_of(command.words, "");
  const auto has = [&](std::string_view name) { return last_of(arguments, name) != nullptr; };
  if (builds_its_model(arguments))
    return "a program of its own, which builds its model by flags (--num_layers); write a scenario of it";
  if (has("num-layers")) return {};
  for (const Other& program : kOtherPrograms)
    if (std::ranges::any_of(program.flags, has)) return program.name;
  return {};
}

std::string_view other_program_of(const shell::Script& script) {
  for (const shell::Command& command : script.commands)
    if (const std::string_view program = other_program_of(command); !program.empty()) return program;
  return {};
}

}  // namespace foretoken::io::launch::megatron
