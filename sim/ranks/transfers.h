// What an unfolded step moves, as flows over the cluster's links: messages, and collectives of every kind of group.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/job/parts.h"
#include "sim/ranks/nccl_flows.h"
#include "sim/ranks/wires.h"
#include "sim/step/workload.h"

namespace foretoken::ranks {

/// A time without flows, then flows that start together. `legs` stays valid as long as its Transfers.
struct Transfer {
  des::Duration before;
  const std::vector<Leg>* legs;
};

class Transfers {
 public:
  /// `workload` is the folded step, lowered for flows. Everything must outlive this.
  Transfers(const job::Job& job, const step::Workload& workload, des::TaskGraph& graph);

  /// What the task `meaning` moves, one transfer after another, when stage ranks `members` carry it out; nothing for
  /// tasks that move no bytes. As one cost it lasts `duration`, `stretched` with its slowest member. Valid until the
  /// next call.
  [[nodiscard]] std::span<const Transfer> transfers_of(const step::Meaning& meaning, des::Duration duration,
                                                       des::Duration stretched, const step::Passes& passes,
                                                       std::span<const int> members);

  /// As Wires::parts(), of all nodes.
  [[nodiscard]] LinkParts link_parts() const;
  /// GPUs of the job beside a link with parts, as Wires::gpus_beside().
  [[nodiscard]] std::vector<int> gpus_beside(std::uint32_t link) const;
  /// As Wires::link_ids(); empty where nodes are of several kinds and fabrics have ids of their own.
  [[nodiscard]] std::vector<std::uint32_t> link_ids() const;

 private:
  /// Stages on nodes of one kind, and what joins their GPUs.
  struct Kind {
    Kind(const job::Job& costs, const net::Cluster& cluster, Side where, des::TaskGraph& graph);
    const job::Job& part;  ///< of full bisection, for costs
    Side side;
    Wires wires;
    std::optional<NcclLowering> nccl;  // where its choice is known
  };
  /// One end of what crosses from nodes of one kind to those of another.
  struct End {
    Kind& kind;
    int gpu;
    BytesPerSecond rate;
  };
  struct Kept {
    des::Duration latency;
    std::vector<Leg> legs;
  };
  // Row, stage, first member, duration.
  using Key = std::tuple<step::CommunicationId, int, int, std::int64_t>;
  void of_pass(const step::Meaning& meaning, des::Duration duration, des::Duration stretched,
               const step::Passes& passes, std::span<const int> members);
  /// The transfers of a row among stage ranks `members` of `stage`, which take `moving` when alone.
  [[nodiscard]] const Kept& of_row(step::CommunicationId id, int stage, des::Duration moving,
                                   std::span<const int> members);
  [[nodiscard]] Kept laid_out(const step::Communication& row, int stage, des::Duration moving,
                              std::span<const int> members);
  /// Flows of all groups of the row's axes among `members`.
  [[nodiscard]] Kept in_groups(const step::Communication& row, int stage, des::Duration moving,
                               std::span<const int> members);
  [[nodiscard]] Kept message(const step::Communication& row, des::Duration duration, int rank);
  [[nodiscard]] Kept message_across(const step::Communication& row, des::Duration duration, int rank);
  [[nodiscard]] Kept collective(const step::Communication& row, des::Duration duration, std::span<const int> members);
  /// A collective of a pair of ranks on nodes of different kinds.
  [[nodiscard]] Kept pair_across(const step::Communication& row, des::Duration duration, int rank);
  [[nodiscard]] End end_at(const step::Site& site, int rank);
  /// By the algorithm that NCCL chooses, over the GPUs of `ranks` (of the job, ascending) on nodes of this kind.
  [[nodiscard]] std::vector<Leg> as_nccl(Kind& here, CollectiveKind kind, Bytes payload, std::span<const int> ranks,
                                         Seconds transfer, Alone alone);
  [[nodiscard]] static Alone alone(const step::Site& site);
  [[nodiscard]] static std::vector<Leg> across(const End& from, const End& to, Seconds transfer);
  [[nodiscard]] Kind& kind_of(int stage);
  /// As Wires number it: from the first on nodes of its kind.
  [[nodiscard]] int gpu_of(const Kind& here, int rank_of_job) const;

  const job::Job& job_;
  const step::Workload& workload_;
  job::Job costs_;  // of full bisection
  job::Parts parts_;
  std::deque<Kind> kinds_;  // in order of stages
  int ranks_a_stage_;
  std::map<Key, Kept> kept_;
  std::vector<Transfer> found_;
};

}  // namespace foretoken::ranks
