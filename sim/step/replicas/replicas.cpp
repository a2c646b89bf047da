// What data-parallel replicas exchange.
#include "sim/step/replicas/replicas.h"

#include <algorithm>

#include "sim/cost/costs.h"
#include "sim/cost/kernels/smooth_law.h"
#include "sim/net/cables.h"
#include "sim/step/passes/lower_layer.h"

namespace foretoken::step {

GroupShape replica_group(const job::Job& job) { return job.grid().shape(net::kReplicaAxes, job.cluster.links.gpus); }

des::Duration replica_collective(const job::Job& job, CollectiveKind kind, double bytes) {
  const GroupShape group = replica_group(job);
  const CollectiveShape shape{kind, Bytes(bytes), group};
  const job::Runtime& runtime = job.runtime;
  const NodeLinks links = net::collective_links(job.cluster, job.grid().groups(net::kReplicaAxes));
  Seconds time = cost::collective_time(shape, links, job.profile);
  if (group.nodes == 1) return duration_of(time);
  if (runtime.data_comm_nics && group.ranks_per_node > 1) {
    const BytesPerSecond used = *runtime.data_comm_nics * job.cluster.links.nic;
    time = std::max(time, static_cast<double>(group.groups_per_node) * cost::ring_bytes(shape) / used);
  }
  return duration_of(runtime.data_comm_factor * time);
}

Bytes gathered_bytes(const job::Job& job, double parameters) { return Bytes(parameters * job.recipe.weight_bytes); }

Bytes reduced_bytes(const job::Job& job, double parameters) { return Bytes(parameters * gradient_element_bytes(job)); }

des::Duration gather_parameters(const job::Job& job, double parameters) {
  return replica_collective(job, CollectiveKind::kAllGather, gathered_bytes(job, parameters).value());
}

des::Duration reduce_gradients(const job::Job& job, double parameters) {
  const bool shared = job.optimizer.zero_stage >= 1;
  return replica_collective(job, shared ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                            reduced_bytes(job, parameters).value());
}

double gradient_element_bytes(const job::Job& job) {
  if (job.runtime.fully_sharded) return job.recipe.gradient_bytes;
  return job.precision == Precision::kFp16 ? job.runtime.fp16_gradient_bytes : job.runtime.bf16_gradient_bytes;
}

}  // namespace foretoken::step
