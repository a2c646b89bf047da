// Messages and data-parallel collectives of an unfolded step as flows over the cluster's links.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/lowering/wires.h"
#include "sim/lowering/workload.h"

namespace foretoken::lowering {

/// A latency, then flows that start together. `legs` stays valid as long as its Transfers.
struct Transfer {
  des::Duration latency;
  const std::vector<Leg>* legs;
};

class Transfers {
 public:
  Transfers(const Scenario& scenario, des::TaskGraph& graph);

  /// What the task `meaning`, lasting `duration` as one cost, moves when stage ranks `members` carry it out; nothing
  /// for tasks that move no bytes between pipeline stages or replicas.
  [[nodiscard]] std::optional<Transfer> transfer_of(const Meaning& meaning, des::Duration duration,
                                                    std::span<const int> members);

  /// As Wires::parts().
  [[nodiscard]] const std::vector<int>& link_parts() const { return wires_.parts(); }
  /// As Wires::link_ids().
  [[nodiscard]] const std::vector<std::uint32_t>& link_ids() const { return wires_.link_ids(); }

 private:
  struct Kept {
    des::Duration latency;
    std::vector<Leg> legs;
  };
  [[nodiscard]] Kept message(const Meaning& meaning, int rank);
  [[nodiscard]] Kept collective(const Meaning& meaning, des::Duration duration, std::span<const int> members);
  [[nodiscard]] int gpu_of(int stage, int rank) const;

  const Scenario& scenario_;
  Wires wires_;
  int ranks_a_stage_;
  std::map<std::tuple<TaskMeaning, int, int, std::int64_t>, Kept> kept_;  // kind, stage, first member, duration
};

}  // namespace foretoken::lowering
