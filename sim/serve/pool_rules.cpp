// Checks degrees against heads, layers, experts and GPUs.
#include "sim/serve/pool_rules.h"

#include <fmt/format.h>

#include "sim/base/text.h"
#include "sim/job/rules/rules.h"

namespace foretoken::serve {
namespace {

using Faults = std::vector<PoolFault>;

void check_heads_and_layers(const model::Transformer& model, const Degrees& cut, Faults& faults) {
  if (model.heads % cut.tensor != 0)
    faults.push_back({"tensor", fmt::format("expected a divisor of the {} heads, found {}", model.heads, cut.tensor)});
  else if (model.kv_heads % cut.tensor != 0 && cut.tensor % model.kv_heads != 0)
    faults.push_back({"tensor", fmt::format("expected a divisor or a multiple of the {} key-value heads, found {}",
                                            model.kv_heads, cut.tensor)});
  if (cut.pipeline > model.layers)
    faults.push_back(
        {"pipeline", fmt::format("expected at most {} (the layers), found {}", model.layers, cut.pipeline)});
}

void check_halves(const model::Transformer& model, const Degrees& cut, Faults& faults) {
  if (!model.encoder_decoder) return;
  const auto expect_one = [&](std::string_view key, int degree) {
    if (degree > 1)
      faults.push_back(
          {key, fmt::format("expected 1: an encoder-decoder is served on tensor ranks alone, found {}", degree)});
  };
  expect_one("pipeline", cut.pipeline);
  expect_one("attention_data", cut.attention_data);
}

void check_experts(const model::Transformer& model, const Degrees& cut, Faults& faults) {
  if (cut.expert == 1) return;
  if (!model.experts) {
    faults.push_back({"expert", fmt::format("expected 1: {} has no experts, found {}", model.name, cut.expert)});
    return;
  }
  if (cut.stage_ranks() % cut.expert != 0)
    faults.push_back({"expert", fmt::format("expected a divisor of tensor x attention_data = {}, found {}",
                                            cut.stage_ranks(), cut.expert)});
  if (model.experts->count % cut.expert != 0)
    faults.push_back(
        {"expert", fmt::format("expected a divisor of the {} experts, found {}", model.experts->count, cut.expert)});
}

void check_gpus(const Service& service, const Pool& pool, Faults& faults) {
  const int instance = pool.degrees.gpus();
  if (pool.gpus % instance != 0)
    faults.push_back({"gpus", fmt::format("expected a multiple of {} (tensor x pipeline x attention_data), found {}",
                                          instance, pool.gpus)});
  else if (const auto reason = job::why_not_whole_nodes(service.cluster, instance))
    faults.push_back({"gpus", *reason});
  // Pools of a disaggregated service send caches to each other, so both stand in one node.
  const int joined = service.disaggregated ? service.gpus() : instance;
  if (service.cluster.links.nics == 0 && joined > service.cluster.links.gpus)
    faults.push_back({"gpus", fmt::format("expected at most {}: the nodes of {} have no NICs, found {}",
                                          service.cluster.links.gpus, in_quotes(service.cluster.name), joined)});
}

}  // namespace

std::vector<PoolFault> faults_of(const Service& service, const Pool& pool) {
  Faults faults;
  check_heads_and_layers(service.model, pool.degrees, faults);
  check_halves(service.model, pool.degrees, faults);
  check_experts(service.model, pool.degrees, faults);
  check_gpus(service, pool, faults);
  return faults;
}

}  // namespace foretoken::serve
