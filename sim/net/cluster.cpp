// Cuts the NVLink domains of a cluster into the segments that a job takes.
#include "sim/net/cluster.h"

#include <utility>

namespace foretoken::net {
namespace {

void resize_domain(Cluster& cluster, int gpus) {
  cluster.links.nics = cluster.links.nics * gpus / cluster.links.gpus;
  cluster.links.gpus = gpus;
}

}  // namespace

Cluster in_whole_domains(Cluster cluster) {
  if (cluster.segment) resize_domain(cluster, cluster.segment->of);
  return cluster;
}

int domain_of_job(const Cluster& cluster, int gpus, std::int64_t group) {
  if (!cluster.segment) return cluster.links.gpus;
  const auto [segment, whole] = *cluster.segment;
  const bool fills_whole = gpus % whole == 0 && whole % group == 0;
  return gpus > whole && gpus % segment == 0 && !fills_whole ? segment : whole;
}

Cluster as_placed(Cluster cluster, int gpus, std::int64_t group) {
  if (cluster.segment) resize_domain(cluster, domain_of_job(cluster, gpus, group));
  return cluster;
}

bool domains_hold(const Cluster& cluster, std::int64_t ranks) {
  if (!cluster.segment) return cluster.links.gpus % ranks == 0;
  return cluster.segment->of % ranks == 0 || cluster.segment->gpus % ranks == 0;
}

}  // namespace foretoken::net
