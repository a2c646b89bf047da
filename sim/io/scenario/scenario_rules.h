// The rules between the fields of a scenario.
#pragma once

#include "sim/io/json/node.h"
#include "sim/job/job.h"

namespace foretoken::io {

/// Which parts were read without a complaint. A rule is asked only when the parts it speaks of are sound, so that one
/// mistake does not make three complaints.
struct Sound {
  bool model = true, cluster = true, profile = true, gpus = true, parallelism = true, batch = true;
};

/// Completes what follows from other fields (the data-parallel degree, the schedule) and complains about every rule
/// that does not hold: expected, found, what would work.
void apply_scenario_rules(const Node& root, const Sound& sound, job::Job& scenario);

/// `gpus` of `node` take a part of one node of the cluster, or whole ones.
void check_gpus_fill_nodes(const Node& node, const net::Cluster& cluster, int gpus);

// Its parts that ask another room or the hardware (hardware_rules.cpp).

/// Takes the schedule by name, or the default; false, and a complaint, unless it interleaves exactly when stages hold
/// several chunks.
[[nodiscard]] bool schedule_known(const Node& root, job::Job& scenario);

/// The schedule's own conditions, and a bound on what can be replayed. Call when the degrees and the batch fit.
void check_schedule(const Node& root, const job::Job& scenario);

/// Precision, profile and placement against the cluster: complaints, and warnings of what is allowed but slow.
void check_hardware(const Node& root, const Sound& sound, job::Job& scenario);

}  // namespace foretoken::io
