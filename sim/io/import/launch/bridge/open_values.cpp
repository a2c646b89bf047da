// Asks for switches of a ConfigContainer that stand in variables of the environment.
#include "sim/io/import/launch/bridge/open_values.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

#include "sim/base/text.h"
#include "sim/io/import/launch/bridge/bridge_words.h"
#include "sim/io/import/launch/megatron/flag_table.h"
#include "sim/io/import/launch/shell/unknown.h"

namespace foretoken::io::launch::bridge {
namespace {

/// Switches with the keys of a scenario that they decide. Switches without a key stand for several.
constexpr std::pair<std::string_view, std::string_view> kDecides[] = {
    {"mixed_precision", "precision"},
    {"mixed_precision.bf16", "precision"},
    {"mixed_precision.fp16", "precision"},
    {"model.bf16", "precision"},
    {"model.fp16", "precision"},
    {"optimizer.bf16", "precision"},
    {"optimizer.fp16", "precision"},
    {"mixed_precision.grad_reduce_in_fp32", "precision_recipe.gradients"},
    {"ddp.grad_reduce_in_fp32", "precision_recipe.gradients"},
    {"model.gated_linear_unit", "model.activation"},
    {"model.add_bias_linear", "model.add_bias_linear"},
    {"model.add_qkv_bias", "model.add_qkv_bias"},
    {"model.qk_layernorm", "model.qk_layernorm"},
    {"model.share_embeddings_and_output_weights", "model.untie_embeddings_and_output_weights"},
    {"model.sequence_parallel", "parallelism.sequence_parallel"},
    {"ddp.use_distributed_optimizer", "optimizer.zero_stage"},
    {"ddp.use_megatron_fsdp", "optimizer.zero_stage"},
    {"ddp.use_custom_fsdp", "optimizer.zero_stage"},
    {"dist.use_megatron_fsdp", "optimizer.zero_stage"},
    {"ddp.overlap_grad_reduce", "overlap.grad_reduce"},
    {"comm_overlap.overlap_grad_reduce", "overlap.grad_reduce"},
    {"ddp.overlap_param_gather", "overlap.param_gather"},
    {"comm_overlap.overlap_param_gather", "overlap.param_gather"},
    {"comm_overlap.tp_comm_overlap", "overlap.tensor_parallel"},
    {"comm_overlap.overlap_moe_expert_parallel_comm", "moe.overlap"},
    {"model.enable_cuda_graph", "cuda_graphs"},
    {"model.external_cuda_graph", "cuda_graphs"},
    {"model.cpu_offloading", ""},
    {"optimizer.optimizer_cpu_offload", ""},
    {"model.fine_grained_activation_offloading", ""}};

// Returns the key that a switch decides, empty for several; nothing for other settings.
std::optional<std::string_view> decided_by(const std::string& setting) {
  const auto* const known = std::ranges::find_if(kDecides, [&](const auto& one) { return one.first == setting; });
  if (known != std::end(kDecides)) return known->second;
  const auto* const word = std::ranges::find(kBridgeWords, setting, &Word::key);
  if (word == std::end(kBridgeWords) || word->form == Form::kValue) return std::nullopt;
  const auto rule = megatron::rule_of(word->flag);
  return rule && rule->effect == megatron::Effect::kRead ? std::optional<std::string_view>("") : std::nullopt;
}

template <class Visit>
void visit_open(const Settings& settings, const Visit& visit) {
  for (const auto& [setting, value] : settings.leaves()) {
    const Json& leaf = *value;
    if (!leaf.is_string()) continue;
    const auto text = leaf.get<std::string>();
    const auto key = shell::is_unknown(text) ? decided_by(setting) : std::nullopt;
    if (key) visit(setting, *key, shell::why_unknown(text));
  }
}

}  // namespace

void drop_open_switches(const Settings& settings, std::vector<Argument>& arguments) {
  visit_open(settings, [&](const std::string& setting, std::string_view, const std::string&) {
    std::erase_if(arguments, [&](const Argument& one) { return one.place == setting; });
  });
}

void ask_for_open_switches(const Settings& settings) {
  visit_open(settings, [&](const std::string& setting, std::string_view key, const std::string& why) {
    (void)settings.at(setting);
    const std::string because = "its value is " + printable(why, 120);
    if (key.empty()) return settings.report().refuse(setting, because);
    settings.report().forget(key);
    settings.report().ask(key, setting + ": " + because);
  });
}

}  // namespace foretoken::io::launch::bridge
