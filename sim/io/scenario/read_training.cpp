// Reads `training`: the weights that train, and the small ones beside frozen ones.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/io/scenario/scenario_parts.h"

namespace foretoken::io {
namespace {

using model::TuningMethod;

constexpr WholeRange kRank{.low = 1, .high = 1 << 16};
constexpr WholeRange kVirtualTokens{.low = 1, .high = 1 << 20};

model::LoraTargets read_target(const Node& name) {
  std::vector<std::string> keys;
  for (const model::TargetName& target : model::kTargetNames) keys.emplace_back(target.key);
  return model::kTargetNames.at(static_cast<std::size_t>(name.as_choice(keys))).targets;
}

model::LoraTargets read_targets(const Node& training) {
  if (!training.has("targets") || training.child("targets").is_text())
    return training.has("targets") ? read_target(training.child("targets")) : model::LoraTargets{};
  model::LoraTargets targets;
  const auto named = training.find_array("targets");
  if (named && named->empty() && training.child("targets").value().is_array())
    training.complain("targets", "expected at least one product, found an empty array");
  if (named)
    for (const Node& name : *named) targets = targets | read_target(name);
  const bool qkv_twice = targets.fused_qkv && (targets.queries || targets.keys || targets.values);
  if (qkv_twice || (targets.fused_fc1 && (targets.gate || targets.up)))
    training.complain(
        "targets", fmt::format("expected one product or its parts, found {} and its parts", qkv_twice ? "qkv" : "fc1"));
  return targets;
}

model::WholeParts read_whole(const Node& training) {
  std::vector<std::string> keys;
  for (const model::WholeName& part : model::kWholeNames) keys.emplace_back(part.key);
  model::WholeParts whole;
  const auto add = [&](const Node& name) {
    whole.*model::kWholeNames.at(static_cast<std::size_t>(name.as_choice(keys))).on = true;
  };
  if (training.has("whole") && training.child("whole").is_text()) {
    add(training.child("whole"));
    return whole;
  }
  const auto named = training.find_array("whole");
  if (named && named->empty() && training.child("whole").value().is_array())
    training.complain("whole", "expected \"embedding\" or \"head\" in the list, found an empty array");
  if (named)
    for (const Node& name : *named) add(name);
  return whole;
}

/// The keys of one method. A key of another method is a mistake, never ignored.
void check_keys(const Node& training, const model::FineTuning& tuning) {
  const std::string_view method = name_of(tuning.method);
  const auto needs = [&](const char* key, bool wanted, const char* example) {
    if (wanted && !training.has(key))
      training.complain(key, fmt::format("expected with method \"{}\", found none; try {}", method, example));
    if (!wanted && training.has(key))
      training.complain(key, fmt::format("expected none with method \"{}\"; remove it", method));
  };
  needs("rank", tuning.is_lora() || tuning.method == TuningMethod::kAdapter, "16");
  needs("virtual_tokens", tuning.has_prompts(), "100");
  for (const char* key : {"targets", "whole"})
    if (!tuning.is_lora() && training.has(key))
      training.complain(key, fmt::format("expected none with method \"{}\"; remove it", method));
  if (tuning.method != TuningMethod::kPTuning && training.has("encoder_hidden"))
    training.complain("encoder_hidden", fmt::format("expected none with method \"{}\"; remove it", method));
}

}  // namespace

void read_training(const Node& root, job::Question& question) {
  const std::optional<Node> node = root.find_object("training");
  if (!node) return;
  node->allow_only({"method", "rank", "targets", "whole", "virtual_tokens", "encoder_hidden"});
  model::FineTuning tuning;
  const std::size_t before = root.findings().complaints.size();
  tuning.method = node->child("method").as_one_of<TuningMethod>({{"full", TuningMethod::kFull},
                                                                 {"lora", TuningMethod::kLora},
                                                                 {"qlora", TuningMethod::kQlora},
                                                                 {"lora-int8", TuningMethod::kInt8Lora},
                                                                 {"p-tuning", TuningMethod::kPTuning},
                                                                 {"prompt-tuning", TuningMethod::kPromptTuning},
                                                                 {"adapter", TuningMethod::kAdapter}});
  tuning.rank = node->find_whole("rank", kRank).value_or(0);
  tuning.targets = read_targets(*node);
  tuning.whole = read_whole(*node);
  tuning.virtual_tokens = node->find_whole("virtual_tokens", kVirtualTokens).value_or(0);
  tuning.encoder_hidden = node->find_whole("encoder_hidden", kVirtualTokens).value_or(tuning.encoder_hidden);
  if (root.findings().complaints.size() > before) return;  // without a method no key has a rule
  check_keys(*node, tuning);
  if (tuning.is_lora() && !node->has("targets")) {
    tuning.targets = model::kDefaultTargets;
    root.findings().notes.defaulted.push_back(node->child("targets").pointer());
  }
  question.tuning = tuning;
}

}  // namespace foretoken::io
