// Maps experts of nanotron and the ranks that hold them.
//
// Generations, all of huggingface/nanotron, src/nanotron: examples/moe (v0.4), models/qwen.py with experts of Qwen2MLP
// (00708b80), and nn/moe.py with GroupedMLP, whose experts have a width of their own (030bbb09).
#include "sim/io/import/launch/nanotron/experts.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "sim/base/text.h"

namespace foretoken::io::launch::nanotron {
namespace {

constexpr const char *kQwen = "moe_config", *kGroups = "enabled_moe", *kExpertRanks = "expert_parallel_size",
                     *kExpertTensor = "expert_tensor_parallel_size", *kExpertData = "expert_data_parallel_size";

// is_moe_model of Qwen2Config: a list of no layers is a model without experts (config/models_config.py).
bool has_qwen_experts(const Section& config) {
  if (!config.has(kQwen) || !config.values().at(kQwen).is_object()) return false;
  const auto& experts = config.values().at(kQwen);
  return !experts.contains("layers") || !experts.at("layers").is_array() || !experts.at("layers").empty();
}

bool has_grouped_experts(const Section& config, const Section& parallel) {
  if (!has_qwen_experts(config)) return false;
  return config.values().at(kQwen).contains("moe_intermediate_size") || parallel.on(kGroups);
}

void check_layers_of_experts(const Section& experts, Report& report) {
  const auto layers = experts.has("layers") ? experts.values().at("layers") : Section::Document("all");
  const std::int64_t all = report.whole("model.num_layers").value_or(0);
  if (layers == "all" || layers == Section::Document::array({"-1"}) ||
      (layers.is_array() && std::cmp_equal(layers.size(), all)))
    return experts.has("layers") ? report.ignore(experts.from("layers"), "") : void();
  std::string found;
  for (const auto& layer : layers.is_array() ? layers : Section::Document::array({layers}))
    found += (found.empty() ? "" : ", ") + (layer.is_string() ? layer.get<std::string>() : layer.dump());
  report.refuse(experts.from("layers"),
                fmt::format("expected [-1] or all {} layers, found [{}]: experts in some layers only are not modelled; "
                            "try layers: [-1]",
                            all, printable(found, 80)));
}

// MoEConfig of nn/moe.py states sizes of the tokens, too; qwen.py has those of the model.
void check_hidden_size(const Section& experts, const char* key, Report& report) {
  if (!experts.has(key)) return;
  const auto hidden = report.whole("model.hidden_size");
  if (whole_of(experts.text(key)) == hidden) return report.ignore(experts.from(key), "");
  report.refuse(experts.from(key),
                fmt::format("expected hidden_size, {}, found {}: experts on tokens of another width are not modelled; "
                            "try the same width",
                            hidden.value_or(0), printable(experts.text(key), 20)));
}

void map_shared_expert(const Section& experts, bool grouped, std::int64_t dense, Report& report) {
  const char *const kWidth = "shared_expert_intermediate_size", *const kHidden = "shared_expert_hidden_size",
                    *const kSwitch = "enable_shared_expert";
  if (!experts.on(kSwitch)) {
    for (const char* key : {kWidth, kHidden, kSwitch})
      if (experts.has(key)) report.ignore(experts.from(key), "");
    return;
  }
  constexpr std::int64_t kDefault = 11008;  // MoEConfig of nn/moe.py
  const char* const kTo = "model.moe_shared_expert_intermediate_size";
  if (grouped)
    (void)experts.map(report, kWidth, kTo, kDefault);
  else
    (void)experts.map(report, kWidth, kTo, dense, "intermediate_size (models/qwen.py, Qwen2MLP)");
  check_hidden_size(experts, kHidden, report);
  report.map("model.moe_shared_expert_gate", true, experts.from(kSwitch));
}

void map_qwen_experts(const Section& experts, bool grouped, Report& report) {
  (void)experts.map(report, "num_experts", "model.num_experts", 8);
  (void)experts.map(report, "top_k", "model.moe_router_topk", 2);
  const std::int64_t dense = report.whole("model.ffn_hidden_size").value_or(1),
                     tensor = report.whole("parallelism.tensor").value_or(1);
  if (grouped)
    experts.require(report, "moe_intermediate_size", "model.moe_ffn_hidden_size");
  else
    report.assume("model.moe_ffn_hidden_size", dense, "intermediate_size (models/qwen.py, Qwen2MLP)");
  if (!grouped)
    report.approximate("experts", "experts run in products of one group; Qwen2MoELayer may run one after another");
  report.assume("parallelism.expert_tensor", grouped ? 1 : tensor,
                grouped ? "each tensor rank has its experts whole (nn/moe.py, GroupedMLP)"
                        : "each expert is split over the tensor ranks (models/qwen.py, Qwen2MLP)");
  check_hidden_size(experts, "moe_hidden_size", report);
  map_shared_expert(experts, grouped, dense, report);
  check_layers_of_experts(experts, report);
  if (experts.has("token_dispatcher_type")) report.ignore(experts.from("token_dispatcher_type"), "");
  experts.sort_rest(report);
}

// examples/moe of nanotron: config_llamoe.py and moe.py (dMoE), whose experts drop no token, whatever the capacity.
void map_llamoe_experts(const Section& config, Report& report) {
  (void)config.map(report, "moe_num_experts", "model.num_experts", 1);
  (void)config.map(report, "num_experts_per_tok", "model.moe_router_topk", 1);
  report.assume("model.activation", "gelu", "GELU between the two products of an expert (examples/moe/moe.py)");
  report.assume("parallelism.expert_tensor", report.whole("parallelism.tensor").value_or(1),
                "each expert is split over the tensor ranks (examples/moe/moe.py)");
  for (const char* key : {"moe_capacity_factor", "is_llamoe_config"})
    if (config.has(key)) report.ignore(config.from(key), "");
}

void ignore_expert_ranks(const Section& parallel, Report& report) {
  for (const char* key : {kGroups, kExpertTensor, kExpertData})
    if (parallel.has(key) && !report.names(parallel.from(key))) report.ignore(parallel.from(key), "");
}

// ParallelContext with enabled_moe: EP_DP x EP_TP x EP x PP are the GPUs, as DP x TP x CP x PP are. Without it the run
// stops, as no GPUs are left for a dimension of expert ranks: src/nanotron/parallel/context.py at 009b8f71.
void check_folded_ranks(const Section& parallel, Report& report) {
  const std::int64_t expert = report.whole("parallelism.expert").value_or(1),
                     tensor = report.whole("parallelism.tensor").value_or(1);
  const std::int64_t own = whole_of(parallel.text(kExpertTensor)).value_or(1),
                     copies = whole_of(parallel.text(kExpertData)).value_or(1);
  if (!parallel.on(kGroups) && expert > 1)
    report.refuse(parallel.from(kExpertRanks),
                  fmt::format("expected enabled_moe: true beside it, found {} expert ranks without: nanotron makes "
                              "groups of them with that key only (parallel/context.py); try enabled_moe: true",
                              expert));
  if (!parallel.on(kGroups)) return ignore_expert_ranks(parallel, report);
  const double ranks = static_cast<double>(whole_of(parallel.text("dp")).value_or(1)) * static_cast<double>(tensor) *
                       static_cast<double>(report.whole("parallelism.context").value_or(1));
  const double of_copy = static_cast<double>(own) * static_cast<double>(expert);
  if (static_cast<double>(copies) * of_copy != ranks)
    report.refuse(parallel.from(kExpertData),
                  fmt::format("expected expert data x expert tensor x expert ranks as many as dp x tp x context, {:g}, "
                              "found {:g}: nanotron stops (parallel/context.py); try {}",
                              ranks, static_cast<double>(copies) * of_copy,
                              std::fmod(ranks, of_copy) == 0 ? fmt::format("{}: {:g}", kExpertData, ranks / of_copy)
                                                             : "expert ranks that divide them"));
  if (own != 1)
    report.refuse(
        parallel.from(kExpertTensor),
        fmt::format("expected 1, found {}: each rank has its experts whole (nn/moe.py, GroupedMLP); try 1", own));
  if (expert > 1 && tensor > 1)
    report.refuse(
        parallel.from(kExpertRanks),
        fmt::format("expected tp: 1 beside {} expert ranks, found {}: groups of expert ranks then hold tensor "
                    "ranks, which is not modelled; try tp: 1",
                    expert, tensor));
  ignore_expert_ranks(parallel, report);
}

}  // namespace

bool folds_expert_ranks(const Section& config, const Section& parallel) {
  return has_grouped_experts(config, parallel);
}

void map_experts(const Section& config, const Section& parallel, Report& report) {
  const char* const kAgain = "moe_layer_recompute";
  const bool again = parallel.on(kAgain), llamoe = config.has("moe_num_experts");
  // LlamaConfig has no such field (config/models_config.py).
  const bool stated = has_qwen_experts(config), qwen = stated && config.on("is_qwen2_config"), has = qwen || llamoe;
  if (config.has(kQwen) && !stated)
    report.ignore(config.from(kQwen), "");
  else if (stated && !qwen)
    report.refuse(config.from(kQwen),
                  fmt::format("expected is_qwen2_config: true beside it, found {}: only nanotron's qwen2 has such "
                              "experts; try is_qwen2_config: true",
                              config.on("is_llama_config") ? "is_llama_config" : "neither model"));
  if (has && again && !parallel.on("recompute_layer"))
    report.refuse(parallel.from(kAgain), "the layers' experts alone are computed anew");
  else if (parallel.has(kAgain))
    report.ignore(parallel.from(kAgain), "");
  const bool folded = folds_expert_ranks(config, parallel);
  if (qwen) map_qwen_experts(Section(config.values(), "model.model_config.moe_config"), folded, report);
  if (llamoe) map_llamoe_experts(config, report);
  if (folded) return check_folded_ranks(parallel, report);
  if (!has) ignore_expert_ranks(parallel, report);
  // dp_pg, which chooses the sequences (dataloader.py), has one rank of experts: parallel/context.py of v0.4.
  if (has && report.whole("parallelism.expert").value_or(1) > 1)
    report.refuse(
        parallel.from(kExpertRanks),
        "expected 1: ranks of these experts, which have no moe_intermediate_size, read the same sequences and "
        "repeat all layers but the experts; expert ranks of a scenario have sequences of their own");
}

}  // namespace foretoken::io::launch::nanotron
