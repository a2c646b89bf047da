// Checks a service whose parts were read.
#include "sim/io/serve/service_rules.h"

#include <fmt/format.h>

#include "sim/job/rules/rules.h"
#include "sim/serve/kernels.h"

namespace foretoken::io {
namespace {

using serve::Service;

void check_experts(const Node& degrees, const Service& service, const serve::Degrees& cut) {
  if (cut.expert == 1) return;
  if (!service.model.experts) {
    degrees.complain("expert", fmt::format("expected 1: {} has no experts, found {}", service.model.name, cut.expert));
    return;
  }
  if (cut.stage_ranks() % cut.expert != 0)
    degrees.complain("expert", fmt::format("expected a divisor of tensor x attention_data = {}, found {}",
                                           cut.stage_ranks(), cut.expert));
  if (service.model.experts->count % cut.expert != 0)
    degrees.complain("expert", fmt::format("expected a divisor of the {} experts, found {}",
                                           service.model.experts->count, cut.expert));
}

void check_heads_and_layers(const Node& degrees, const Service& service, const serve::Degrees& cut) {
  const model::Transformer& model = service.model;
  if (model.heads % cut.tensor != 0)
    degrees.complain("tensor", fmt::format("expected a divisor of the {} heads, found {}", model.heads, cut.tensor));
  else if (model.kv_heads % cut.tensor != 0 && cut.tensor % model.kv_heads != 0)
    degrees.complain("tensor", fmt::format("expected a divisor or a multiple of the {} key-value heads, found {}",
                                           model.kv_heads, cut.tensor));
  if (cut.pipeline > model.layers)
    degrees.complain("pipeline", fmt::format("expected at most {} (the layers), found {}", model.layers, cut.pipeline));
}

void check_static(const Node& root, const Service& service) {
  if (service.batching != serve::Batching::kStatic) return;
  const char* const advice = R"(; try "batching": "continuous" with an engine that has it)";
  if (service.requests.kind != serve::ArrivalKind::kBatch)
    root.complain("requests", fmt::format("expected batch: a static batch starts all requests together{}", advice));
  if (service.requests.length_spread > 0)
    root.complain("requests", "expected length_spread 0: requests of a static batch have equal lengths");
  if (service.requests.prefix_share > 0)
    root.complain("requests", "expected prefix_share 0: a static batch keeps no prefixes");
  if (service.disaggregated) root.complain("disaggregated", fmt::format("expected none for static batching{}", advice));
  if (service.speculation) root.complain("speculative", fmt::format("expected none for static batching{}", advice));
  if (service.pool.instances() > 1)
    root.complain("gpus", fmt::format("expected {}: one static batch runs on one copy of the model, found {}",
                                      service.pool.degrees.gpus(), service.pool.gpus));
}

}  // namespace

void check_pool(const Node& node, const Service& service, const serve::Pool& pool) {
  const serve::Degrees& cut = pool.degrees;
  const Node degrees = node.child("parallelism");
  check_heads_and_layers(degrees, service, cut);
  check_experts(degrees, service, cut);
  if (pool.gpus % cut.gpus() != 0) {
    node.complain("gpus", fmt::format("expected a multiple of {} (tensor x pipeline x attention_data), found {}",
                                      cut.gpus(), pool.gpus));
    return;
  }
  if (const auto reason = job::why_not_whole_nodes(service.cluster, cut.gpus())) node.complain("gpus", *reason);
}

void check_service(const Node& root, const Service& service) {
  if (service.model.encoder)
    root.complain("model",
                  fmt::format("{} is an encoder, which generates no tokens; try a decoder", service.model.name));
  const Precision products = serve::computes_in(service.precision);
  if (!service.profile.gemm.empty() && !service.profile.gemm.contains(products))
    root.complain("precision",
                  fmt::format("profile {} has no products in {}", service.profile.name, name_of(products)));
  const serve::Engine& engine = service.engine;
  if (service.batching == serve::Batching::kContinuous && !engine.continuous)
    root.complain("batching", fmt::format("engine {} batches statically; expected static", engine.name));
  if (service.speculation && engine.token_budget < service.speculation->tokens + 1)
    root.complain("speculative", "expected fewer tokens than a pass may have");
  check_static(root, service);
}

}  // namespace foretoken::io
