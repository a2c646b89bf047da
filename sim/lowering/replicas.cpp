// What data-parallel replicas exchange.
#include "sim/lowering/replicas.h"

#include "sim/cost/costs.h"
#include "sim/lowering/lower_layer.h"

namespace foretoken::lowering {

GroupShape replica_group(const Scenario& scenario) {
  return net::gradient_group(scenario.degrees(), scenario.cluster.links.gpus);
}

des::Duration replica_collective(const Scenario& scenario, CollectiveKind kind, double bytes) {
  const GroupShape group = replica_group(scenario);
  const Seconds time = cost::collective_time({kind, Bytes(bytes), group}, scenario.cluster.links, scenario.profile);
  return duration_of((group.nodes > 1 ? scenario.runtime.data_comm_factor : 1.0) * time);
}

des::Duration gather_parameters(const Scenario& scenario, double parameters) {
  return replica_collective(scenario, CollectiveKind::kAllGather, parameters * scenario.recipe.weight_bytes);
}

des::Duration reduce_gradients(const Scenario& scenario, double parameters) {
  const bool shared = scenario.optimizer.zero_stage >= 1;
  return replica_collective(scenario, shared ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                            parameters * gradient_element_bytes(scenario));
}

double gradient_element_bytes(const Scenario& scenario) {
  if (scenario.runtime.fully_sharded) return scenario.recipe.gradient_bytes;
  return scenario.precision == Precision::kFp16 ? scenario.runtime.fp16_gradient_bytes
                                                : scenario.runtime.bf16_gradient_bytes;
}

}  // namespace foretoken::lowering
