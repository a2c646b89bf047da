// The optimizer's update on the host: gradients arrive, states are updated, weights go back.
#pragma once

#include <vector>

#include "sim/step/offload/host_copies.h"

namespace foretoken::step {

/// The parts of an update that are added to a graph.
struct HostUpdate {
  Stage stage = {};
  double parameters = 0;         ///< whose states stand outside the GPU
  bool brings_gradients = true;  ///< gradients leave the GPU now; otherwise they did so before
  bool updates = true;           ///< false: the states are updated elsewhere in the graph
  bool returns_weights = true;   ///< new weights go to the GPU; otherwise they stay on the host
};

/// Adds an update after `after`, piece by piece where the runtime overlaps it. Returns the tasks that end it.
std::vector<des::TaskId> add_host_update(HostCopies& copies, const job::Job& job, const HostUpdate& update,
                                         const std::vector<des::TaskId>& after);

}  // namespace foretoken::step
