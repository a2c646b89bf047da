// Several jobs at work on one cluster: what each loses to its neighbours, and on which links.
#pragma once

#include <string>
#include <vector>

#include "sim/job/job.h"

namespace foretoken::study {

/// A job and the nodes (NVLink domains) of the cluster that it has to itself.
struct PlacedJob {
  job::Job job;
  std::vector<int> nodes;  ///< in the order of its ranks; as many as it needs, none of them another job's
  std::vector<std::string> warnings = {};
};

struct SharedJob {
  std::string name;
  std::vector<int> nodes;
  Seconds alone;                      ///< its step with nobody else on the cluster
  Seconds shared;                     ///< its mean step in company
  int steps = 1;                      ///< of which that is the mean
  std::vector<std::string> warnings;  ///< of its scenario
  [[nodiscard]] double slowdown() const { return shared / alone; }
};

struct SharedLink {
  std::string name;  ///< "leaf 0 to spine 0"
  BytesPerSecond capacity;
  Seconds full;           ///< time in which it was full with traffic of several jobs
  std::vector<int> jobs;  ///< whose, by their place in the question
};

struct SharedCluster {
  std::vector<SharedJob> jobs;
  std::vector<SharedLink> links;  ///< the longest full first
  Seconds simulated;              ///< until the job with the longest step has ended its first
};

/// Nodes that a job of this size takes.
[[nodiscard]] int nodes_of(const job::Job& job);

/// All jobs start together and repeat their steps without a pause until each has ended its first; a job's time in
/// company is the mean of the steps that it ended by then. Messages and data-parallel collectives are flows that share
/// the cluster's links; NICs and what is inside a node belong to the node's job. The result does not depend on the
/// order of the jobs. Throws ConfigError where a step is more than a hundred times as long as another.
/// Precondition: all scenarios name the same cluster; at least one job.
[[nodiscard]] SharedCluster share_cluster(const std::vector<PlacedJob>& jobs);

}  // namespace foretoken::study
