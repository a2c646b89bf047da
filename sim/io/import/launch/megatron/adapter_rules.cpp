// Maps LoRA of Megatron-LM's forks.
//
// Names: Ascend/MindSpeed-LLM, mindspeed_llm/training/arguments.py; modelscope/ms-swift,
// swift/megatron/argument/megatron_args.py.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/text.h"
#include "sim/io/import/launch/data_parallel.h"
#include "sim/io/import/launch/megatron/rules.h"
#include "sim/io/import/launch/stage_names.h"

namespace foretoken::io::launch::megatron {
namespace {

// Products by the names of the legacy code.
constexpr std::pair<std::string_view, std::string_view> kLegacyProducts[] = {{"query_key_value", "linear_qkv"},
                                                                             {"dense", "linear_proj"},
                                                                             {"dense_h_to_4h", "linear_fc1"},
                                                                             {"dense_4h_to_h", "linear_fc2"}};

std::string products_of(const Argument& argument) {
  std::string all;
  for (const std::string& value : argument.values) {
    const auto* const legacy =
        std::ranges::find(kLegacyProducts, value, &std::pair<std::string_view, std::string_view>::first);
    all += (all.empty() ? "" : " ") + (legacy == std::end(kLegacyProducts) ? value : std::string(legacy->second));
  }
  return all;
}

}  // namespace

void map_fine_tuning(const Flags& flags) {
  if (const auto named = flags.text("stage", "")) {
    const std::string stage = plain_stage(*named);
    if (stage != "sft" && stage != "pt")
      flags.report().refuse("--stage", "preference, reward or RL stage, not plain training: " + printable(stage, 40),
                            flags.from("stage"));
    else if (stage != *named)
      flags.report().approximate("--stage", in_quotes(*named) + " trains as " + stage + " by its name");
  }
  if (flags.find("lora-r") == nullptr) return;
  const Argument* const targets = flags.find("lora-target-modules");
  (void)flags.on("lora-target-modules");
  map_adapter({.method = "lora",
               .from = flags.from("lora-r"),
               .rank = flags.whole("lora-r", "training.rank"),
               .targets = targets == nullptr ? "all" : products_of(*targets),
               .runtime = "megatron-lora"},
              flags.report());
}

}  // namespace foretoken::io::launch::megatron
