// What an unfolded step moves, as flows over the cluster's links: messages, and collectives of every kind of group.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/lowering/nccl_flows.h"
#include "sim/lowering/wires.h"
#include "sim/lowering/workload.h"

namespace foretoken::lowering {

/// A time without flows, then flows that start together. `legs` stays valid as long as its Transfers.
struct Transfer {
  des::Duration before;
  const std::vector<Leg>* legs;
};

class Transfers {
 public:
  Transfers(const Scenario& scenario, des::TaskGraph& graph);

  /// What the task `meaning` moves, one transfer after another, when stage ranks `members` carry it out; nothing for
  /// tasks that move no bytes. As one cost it lasts `duration`, `stretched` with its slowest member. Valid until the
  /// next call.
  [[nodiscard]] std::span<const Transfer> transfers_of(const Meaning& meaning, des::Duration duration,
                                                       des::Duration stretched, const Passes& passes,
                                                       std::span<const int> members);

  /// As Wires::parts().
  [[nodiscard]] const LinkParts& link_parts() const { return wires_.parts(); }
  /// As Wires::gpus_beside().
  [[nodiscard]] std::vector<int> gpus_beside(std::uint32_t link) const { return wires_.gpus_beside(link); }
  /// As Wires::link_ids().
  [[nodiscard]] const std::vector<std::uint32_t>& link_ids() const { return wires_.link_ids(); }

 private:
  struct Kept {
    des::Duration latency;
    std::vector<Leg> legs;
  };
  // Kind, stage, first member, duration, payload, context.
  using Key = std::tuple<TaskMeaning, int, int, std::int64_t, double, bool>;
  void of_pass(const Meaning& meaning, des::Duration duration, des::Duration stretched, const Passes& passes,
               std::span<const int> members);
  /// Flows of the tensor-parallel groups among `members`, or of the context-parallel ones.
  [[nodiscard]] const std::vector<Leg>& in_groups(const Meaning& meaning, bool context, des::Duration moving,
                                                  std::span<const int> members);
  [[nodiscard]] Kept message(const Meaning& meaning, int rank);
  [[nodiscard]] Kept collective(const Meaning& meaning, des::Duration duration, std::span<const int> members);
  /// By the algorithm that NCCL chooses, over the GPUs of `ranks` (of the job, ascending).
  [[nodiscard]] std::vector<Leg> as_nccl(CollectiveKind kind, Bytes payload, std::span<const int> ranks,
                                         Seconds transfer, Alone alone);
  [[nodiscard]] static Alone alone(const GroupShape& group, const NodeLinks& links);
  [[nodiscard]] int gpu_of(int stage, int rank) const;

  const Scenario& scenario_;
  Wires wires_;
  std::optional<NcclLowering> nccl_;  // where its choice is known
  int ranks_a_stage_;
  std::map<Key, Kept> kept_;
  std::vector<Transfer> found_;
};

}  // namespace foretoken::lowering
