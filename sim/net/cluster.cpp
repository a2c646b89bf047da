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

Cluster seen_by_job(Cluster cluster, int gpus) {
  cluster = in_whole_domains(std::move(cluster));
  const std::optional<Segment>& segment = cluster.segment;
  if (segment && gpus > segment->of && gpus % segment->gpus == 0) resize_domain(cluster, segment->gpus);
  return cluster;
}

}  // namespace foretoken::net
