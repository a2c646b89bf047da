// The bytes that an unfolded step moves, as flows over the cluster's links: messages, and collectives of every kind of
// group.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/job/parts.h"
#include "sim/ranks/all_to_all.h"
#include "sim/ranks/nccl_flows.h"
#include "sim/ranks/wires.h"
#include "sim/step/workload.h"

namespace foretoken::ranks {

/// A time without flows, followed by flows that start together. `legs` stays valid as long as its Transfers.
struct Transfer {
  des::Duration before;
  const std::vector<Leg>* legs;
};

class Transfers {
 public:
  /// `workload` is the folded step, lowered for flows. All arguments must outlive this object.
  Transfers(const job::Job& job, const step::Workload& workload, des::TaskGraph& graph);

  /// Returns true when a task of `workload` moves bytes, carried out by `members` stage ranks. Its transfers then have
  /// one leg or more. Routes are not laid for it.
  [[nodiscard]] static bool moves(const step::Meaning& meaning, const step::Workload& workload,
                                  const step::Passes& passes, std::size_t members);

  /// Returns the transfers of task `meaning`, one after another, when stage ranks `members` carry it out. Tasks that
  /// move no bytes have none. As one cost the task lasts `duration`, or `stretched` with its slowest member. The result
  /// is valid until the next call.
  [[nodiscard]] std::span<const Transfer> transfers_of(const step::Meaning& meaning, des::Duration duration,
                                                       des::Duration stretched, const step::Passes& passes,
                                                       std::span<const StageRank> members);

  /// Returns Wires::parts() of all nodes.
  [[nodiscard]] LinkParts link_parts() const;
  /// Returns GPUs of the job beside a link with parts, as Wires::gpus_beside() does.
  [[nodiscard]] std::vector<Gpu> gpus_beside(std::uint32_t link) const;
  /// Returns Wires::link_ids(). It is empty where nodes are of several kinds, because their fabrics number links
  /// separately.
  [[nodiscard]] std::vector<std::uint32_t> link_ids() const;

 private:
  /// Stages on nodes of one kind, and the wires between their GPUs.
  struct Kind {
    Kind(const job::Job& costs, const net::Cluster& cluster, Side where, des::TaskGraph& graph);
    const job::Job& part;  ///< of full bisection, for costs
    Side side;
    Wires wires;
    std::optional<NcclLowering> nccl;  // present where NCCL's choice is known
    AllToAlls exchanges;               // of experts
  };
  /// One end of a transfer between nodes of different kinds.
  struct End {
    Kind& kind;
    net::FabricGpu gpu;
    BytesPerSecond rate;
  };
  struct Kept {
    des::Duration latency;
    std::vector<Leg> legs;
  };
  /// A time, and the part of it in which bytes move.
  struct Cost {
    Seconds whole, transfer;
  };
  /// Rows that a task exchanges, with the times that it does so.
  using Rows = std::vector<std::pair<const step::Communication*, int>>;
  // Row, pass (nullptr: only the row), stage, first member, members, duration.
  using Key = std::tuple<step::CommunicationId, const step::PassTiming*, Stage, StageRank, std::size_t, std::int64_t>;
  void of_pass(const step::Meaning& meaning, des::Duration duration, des::Duration stretched,
               const step::Passes& passes, std::span<const StageRank> members);
  /// Returns what a pass exchanges over `axis`. All its rows have the same axes.
  [[nodiscard]] const Rows& rows_of(const step::Meaning& meaning, Axis axis, const step::Passes& passes);
  /// Returns the transfers of a row among stage ranks `members` of `stage`. They take `moving` without other traffic.
  [[nodiscard]] const Kept& of_row(step::CommunicationId id, Stage stage, des::Duration moving,
                                   std::span<const StageRank> members);
  [[nodiscard]] Kept laid_out(const step::Communication& row, Stage stage, des::Duration moving,
                              std::span<const StageRank> members);
  /// Makes flows of all groups of the rows' axes among `members`. They take `moving` where ranks are in order.
  [[nodiscard]] Kept in_groups(const Rows& rows, Stage stage, des::Duration moving, std::span<const StageRank> members);
  /// Returns the cost of the rows where ranks are in order. `rows` are those of a pass, or a single one.
  [[nodiscard]] const Cost& in_order(const Rows& rows, Stage stage);
  /// Returns the cost of the rows on the site that `site_of` gives for theirs.
  template <class SiteOf>
  [[nodiscard]] Cost cost_of(const Rows& rows, Stage stage, const SiteOf& site_of) const;
  /// Returns the cost of a rank's message, which may not cross nodes where another's does.
  [[nodiscard]] const Cost& of_message(const step::Communication& row, bool crosses);
  /// Returns the site of a row's group on `gpus` (ascending), where a placement puts `ranks` (ascending).
  [[nodiscard]] static step::Site placed(const step::Site& site, const Kind& here, std::span<const Rank> ranks,
                                         std::span<const net::FabricGpu> gpus);
  [[nodiscard]] Kept message(const step::Communication& row, des::Duration duration, StageRank rank);
  [[nodiscard]] Kept message_across(const step::Communication& row, des::Duration duration, StageRank rank);
  [[nodiscard]] Kept collective(const step::Communication& row, des::Duration duration,
                                std::span<const StageRank> members);
  /// Makes a collective of a pair of ranks on nodes of different kinds.
  [[nodiscard]] Kept pair_across(const step::Communication& row, des::Duration duration, StageRank rank);
  [[nodiscard]] End end_at(const step::Site& site, StageRank rank);
  /// Makes flows of NCCL's algorithm over `gpus` (ascending) on nodes of this kind.
  [[nodiscard]] static std::vector<Leg> as_nccl(Kind& here, CollectiveKind kind, Bytes payload,
                                                std::span<const net::FabricGpu> gpus, Seconds transfer, Alone alone);
  /// Returns the GPUs of ranks, ascending.
  [[nodiscard]] std::vector<net::FabricGpu> gpus_of(const Kind& here, std::span<const Rank> ranks) const;
  [[nodiscard]] static Alone alone(const step::Site& site);
  [[nodiscard]] static std::vector<Leg> across(const End& from, const End& to, Seconds transfer);
  [[nodiscard]] Kind& kind_of(Stage stage);
  /// Returns the GPU of a rank in the fabric of its kind of nodes.
  [[nodiscard]] net::FabricGpu gpu_of(const Kind& here, Rank rank) const;
  [[nodiscard]] Rank rank_of(Stage stage, StageRank rank) const {
    return id_of<Rank>(stage.number() * ranks_a_stage_ + rank.number());
  }

  const job::Job& job_;
  const step::Workload& workload_;
  job::Job costs_;  // of full bisection
  job::Parts parts_;
  std::deque<Kind> kinds_;  // in order of stages
  int ranks_a_stage_;
  std::map<Key, Kept> kept_;
  std::map<std::pair<const step::PassTiming*, Axis>, Rows> rows_;
  std::map<std::pair<Rows, Stage>, Cost> in_order_;
  std::map<std::pair<const step::Communication*, bool>, Cost> of_message_;
  std::vector<Transfer> found_;
};

}  // namespace foretoken::ranks
