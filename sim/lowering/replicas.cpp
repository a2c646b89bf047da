// What data-parallel replicas exchange.
#include "sim/lowering/replicas.h"

#include <algorithm>

#include "sim/cost/costs.h"
#include "sim/cost/smooth_law.h"
#include "sim/lowering/lower_layer.h"
#include "sim/net/cables.h"

namespace foretoken::lowering {

GroupShape replica_group(const Scenario& scenario) {
  return net::gradient_group(scenario.degrees(), scenario.cluster.links.gpus);
}

des::Duration replica_collective(const Scenario& scenario, CollectiveKind kind, double bytes) {
  const GroupShape group = replica_group(scenario);
  const CollectiveShape shape{kind, Bytes(bytes), group};
  const Runtime& runtime = scenario.runtime;
  const NodeLinks links =
      net::collective_links(scenario.cluster, scenario.degrees(), net::gradient_row(scenario.degrees()));
  Seconds time = cost::collective_time(shape, links, scenario.profile);
  if (group.nodes == 1) return duration_of(time);
  if (runtime.data_comm_nics && group.ranks_per_node > 1) {
    const BytesPerSecond used = *runtime.data_comm_nics * scenario.cluster.links.nic;
    time = std::max(time, static_cast<double>(group.groups_per_node) * cost::ring_bytes(shape) / used);
  }
  return duration_of(runtime.data_comm_factor * time);
}

Bytes gathered_bytes(const Scenario& scenario, double parameters) {
  return Bytes(parameters * scenario.recipe.weight_bytes);
}

Bytes reduced_bytes(const Scenario& scenario, double parameters) {
  return Bytes(parameters * gradient_element_bytes(scenario));
}

des::Duration gather_parameters(const Scenario& scenario, double parameters) {
  return replica_collective(scenario, CollectiveKind::kAllGather, gathered_bytes(scenario, parameters).value());
}

des::Duration reduce_gradients(const Scenario& scenario, double parameters) {
  const bool shared = scenario.optimizer.zero_stage >= 1;
  return replica_collective(scenario, shared ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                            reduced_bytes(scenario, parameters).value());
}

double gradient_element_bytes(const Scenario& scenario) {
  if (scenario.runtime.fully_sharded) return scenario.recipe.gradient_bytes;
  return scenario.precision == Precision::kFp16 ? scenario.runtime.fp16_gradient_bytes
                                                : scenario.runtime.bf16_gradient_bytes;
}

}  // namespace foretoken::lowering
