// Simulates several jobs on one cluster: the time that each loses to its neighbours, and the links where it does.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::study {

using ClusterNode = Id<struct ClusterNodeTag>;  ///< a node (NVLink domain) of a cluster that several jobs share

/// A job and its own nodes (NVLink domains) of the cluster.
struct PlacedJob {
  job::Job job;
  Table<NodeId, ClusterNode> nodes;  ///< the cluster's node of each of its own; none of another job
  std::vector<std::string> warnings = {};
};

struct SharedJob {
  std::string name;
  Table<NodeId, ClusterNode> nodes;   ///< as in PlacedJob
  Seconds unshared;                   ///< its step without other jobs on the cluster
  Seconds shared;                     ///< its mean step with the other jobs
  int steps = 1;                      ///< number of steps in the mean
  std::vector<std::string> warnings;  ///< of its scenario
  [[nodiscard]] double slowdown() const { return shared / unshared; }
};

struct SharedLink {
  std::string name;  ///< "leaf 0 to spine 0"
  BytesPerSecond capacity;
  Seconds full;           ///< time in which it was full with traffic of several jobs
  std::vector<int> jobs;  ///< the jobs of this traffic, by place in the question
};

struct SharedCluster {
  std::vector<SharedJob> jobs;
  std::vector<SharedLink> links;  ///< the longest full first
  Seconds simulated;              ///< until the job with the longest step has ended its first step
};

/// Returns the number of nodes that a job takes.
[[nodiscard]] int nodes_of(const job::Job& job);

/// Simulates jobs that start together and repeat their steps without a pause, until each has ended its first step. The
/// shared time of a job is the mean of the steps that it has ended by then.
/// Messages and data-parallel collectives are flows that share the cluster's links. NICs and links inside a node belong
/// to the node's job. The result does not depend on the order of the jobs. Throws ConfigError when a step is more than
/// a hundred times as long as another. Precondition: at least one job, and all jobs name the same cluster.
[[nodiscard]] SharedCluster share_cluster(const std::vector<PlacedJob>& jobs);

}  // namespace foretoken::study
