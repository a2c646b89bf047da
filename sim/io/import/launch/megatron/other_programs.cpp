// Tells programs that share names of flags with Megatron-LM.
#include "sim/io/import/launch/megatron/other_programs.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "sim/io/import/launch/arguments.h"
#include "sim/io/import/launch/megatron/only_megatrons.h"

namespace foretoken::io::launch::megatron {
namespace {

struct Other {
  std::string_view name;
  std::array<std::string_view, 3> flags;  ///< that only this program has
};
constexpr Other kOtherPrograms[] = {{"fairseq or metaseq", {"decoder-embed-dim", "tokens-per-sample", "update-freq"}},
                                    {"SwissArmyTransformer", {"skip-init", "resume-dataloader", "strict-eval"}}};

/// Megatron-LM has one of these, or of kOnlyMegatrons, in every training.
constexpr std::string_view kBatches[] = {"micro-batch-size", "global-batch-size"};
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

// Entry points of Megatron-LM and of programs around it: pretrain_gpt.py.
bool is_entry_point(const std::string& word) {
  return word.ends_with(".py") && std::filesystem::path(word).filename().string().starts_with("pretrain_");
}

// A program of the user's own that builds its model by flags: train.py --num_layers 24 --num_heads 16 --fsdp. One that
// loads weights does not.
bool builds_its_model(const shell::Command& command, const std::vector<Argument>& arguments) {
  // DeepSpeed's Megatron-LM of 2020 has --pipe-parallel-size, too.
  const bool shaped =
      last_of(arguments, "num-attention-heads") != nullptr && last_of(arguments, "seq-length") != nullptr;
  const bool megatrons = shaped || has_any_of(arguments, kBatches) || has_any_of(arguments, kOnlyMegatrons) ||
                         has_any_of(arguments, kIterations) || std::ranges::any_of(command.words, is_entry_point);
  return !megatrons && !has_any_of(arguments, kWeights) && has_any_of(arguments, kSizes) && has_any_of(arguments, kOwn);
}

}  // namespace

std::string_view started_instead(const shell::Command& command) {
  constexpr std::pair<std::string_view, std::string_view> kByWord[] = {
      {"colossalai", "ColossalAI"},
      {"litgpt", "LitGPT"},
      {"llmb-run", "llmb-run of NVIDIA's dgxc-benchmarking, whose recipes stand in files of its own"}};
  for (const auto& [word, name] : kByWord)
    if (!command.words.empty() && std::filesystem::path(command.words.front()).filename() == word) return name;
  const auto arguments = arguments_of(command.words, "");
  const auto has = [&](std::string_view name) { return last_of(arguments, name) != nullptr; };
  if (builds_its_model(command, arguments))
    return "a program of its own, which builds its model by flags (--num_layers); write a scenario of it";
  if (has("num-layers")) return {};
  for (const Other& program : kOtherPrograms)
    if (std::ranges::any_of(program.flags, has)) return program.name;
  return {};
}

std::string_view started_instead(const shell::Script& script) {
  for (const shell::Command& command : script.commands)
    if (const std::string_view program = started_instead(command); !program.empty()) return program;
  return {};
}

bool gives_sizes_away(const shell::Script& script) {
  return std::ranges::any_of(script.commands, [](const shell::Command& command) {
    return !started_instead(command).empty() && has_any_of(arguments_of(command.words, ""), kSizes);
  });
}

}  // namespace foretoken::io::launch::megatron
