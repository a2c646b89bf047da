// Writes a ConfigContainer of Megatron-Bridge.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "sim/io/export/launch/formats.h"
#include "sim/io/export/launch/megatron_flags.h"
#include "sim/io/export/launch/write_launch.h"
#include "sim/io/import/launch/bridge/bridge_words.h"

namespace foretoken::io {
namespace {

using launch::Form;
using launch::Word;

// "--num-layers 96" as a name and its value.
std::pair<std::string, std::string> parted_flag(const std::string& flag) {
  const std::size_t space = std::min(flag.find(' '), flag.size());
  return {flag.substr(2, space - 2), space == flag.size() ? "" : flag.substr(space + 1)};
}

std::string type_name(const std::string& value) {
  if (value == "bf16") return "torch.bfloat16";
  if (value == "fp16") return "torch.float16";
  return value == "fp8" ? "torch.uint8" : "torch.float32";
}

std::string value_of_word(const Word& word, const std::string& value) {
  if (word.form == Form::kSwitch) return "true";
  if (word.form == Form::kInverse) return "false";
  if (word.form == Form::kType) return type_name(value);
  if (value.find(' ') == value.npos) return value;
  std::istringstream words(value);
  std::string list;
  for (std::string one; words >> one;) list += (list.empty() ? "" : ", ") + one;
  return "[" + list + "]";
}

/// Sections and their lines, in the order of their first key.
class Sections {
 public:
  void add(std::string_view key, const std::string& value) {
    const std::size_t dot = key.find('.');
    const std::string name(key.substr(0, dot));
    auto found = std::ranges::find(sections_, name, &Section::first);
    if (found == sections_.end()) found = sections_.insert(sections_.end(), {name, ""});
    found->second += fmt::format("  {}: {}\n", key.substr(dot + 1), value);
  }
  [[nodiscard]] std::string text() const {
    std::string all;
    for (const auto& [name, lines] : sections_) all += name + ":\n" + lines;
    return all;
  }

 private:
  using Section = std::pair<std::string, std::string>;
  std::vector<Section> sections_;
};

}  // namespace

std::string write_bridge(const job::Job& job, const nlohmann::json& scenario) {
  Sections sections;
  bool reduces_short = false, gated = false;
  std::string activation = "torch.nn.functional.gelu";
  for (const std::string& flag : megatron_command(job)) {
    if (!flag.starts_with("--")) continue;
    auto [name, value] = parted_flag(flag);
    if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
    if (name == "swiglu") gated = true, activation = "torch.nn.functional.silu";
    if (name == "squared-relu") activation = "megatron.core.activations.squared_relu";
    if (name == "grad-reduce-in-bf16") reduces_short = true;
    if (name == "moe-layer-freq") sections.add("model.moe_layer_freq", "\"" + value + "\"");
    if (name == "fp8-recipe") sections.add("mixed_precision.fp8_recipe", value);
    if (name == "pipeline-model-parallel-layout")
      sections.add("model.pipeline_model_parallel_layout", "\"" + value + "\"");
    if (name == "use-megatron-fsdp") sections.add("ddp.use_megatron_fsdp", "true");
    if (name == "data-parallel-sharding-strategy") sections.add("ddp.data_parallel_sharding_strategy", value);
    const auto word = std::ranges::find(launch::bridge::kBridgeWords, name, &Word::flag);
    if (word != std::end(launch::bridge::kBridgeWords)) sections.add(word->key, value_of_word(*word, value));
  }
  sections.add("model.gated_linear_unit", gated ? "true" : "false");
  sections.add("model.activation_func", activation);
  if (!reduces_short) sections.add("mixed_precision.grad_reduce_in_fp32", "true");
  std::string text = "# A ConfigContainer of Megatron-Bridge, written by foretoken export.\n";
  return text + own_lines_of(scenario, job.gpus) + "_target_: megatron.bridge.training.config.ConfigContainer\n" +
         sections.text();
}

}  // namespace foretoken::io
