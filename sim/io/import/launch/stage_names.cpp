// Tells what a stage of a training program's own does by the words of its name.
//
// Names: forks of LLaMA-Factory (sotopia_sft), and Primus, examples/megatron/configs (mlperf_pretrain, sft).
#include "sim/io/import/launch/stage_names.h"

#include <algorithm>
#include <string_view>

#include "sim/base/text.h"

namespace foretoken::io::launch {

std::string plain_stage(const std::string& stage) {
  constexpr std::string_view kPretrains[] = {"pt", "pretrain", "pretraining"};
  constexpr std::string_view kOthers[] = {"dpo",          "kto",  "orpo",   "simpo",  "ppo",        "grpo",
                                          "rl",           "rlhf", "reward", "rm",     "preference", "distill",
                                          "distillation", "kd",   "eval",   "export", "convert"};
  const auto words = words_of_name(stage);
  const auto has = [&](const auto& known) {
    return std::ranges::any_of(
        words, [&](const std::string& word) { return std::ranges::find(known, word) != std::end(known); });
  };
  if (has(kOthers)) return stage;
  if (std::ranges::find(words, "sft") != words.end()) return "sft";
  return has(kPretrains) ? "pt" : stage;
}

}  // namespace foretoken::io::launch
