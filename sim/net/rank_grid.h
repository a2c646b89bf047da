// The grids of axes over a job's GPUs: every rank's coordinates, the groups of any axes, and the hops between stages.
#pragma once

#include <string_view>

#include "sim/base/axis.h"
#include "sim/net/rank_groups.h"

namespace foretoken::net {

/// The axes of dense layers and those of experts: two grids over the same GPUs.
inline constexpr AxisSet kDenseAxes{Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline};
inline constexpr AxisSet kExpertAxes{Axis::kExpertTensor, Axis::kExpert, Axis::kExpertData, Axis::kPipeline};
/// The ranks of a pipeline stage. Those that a layer is cut over: they wait for one another in every layer. Those among
/// which gradients are reduced.
inline constexpr AxisSet kStageAxes{Axis::kTensor, Axis::kContext, Axis::kData};
inline constexpr AxisSet kLayerAxes{Axis::kTensor, Axis::kContext};
inline constexpr AxisSet kReplicaAxes{Axis::kContext, Axis::kData};

/// The axes of both grids from the fastest to the slowest: neighbours on the first one have neighbouring ranks.
struct RankOrder {
  std::string_view name;
  std::array<Axis, 4> dense, expert;
};

/// Megatron-Core's default and, with --use-tp-pp-dp-mapping, its other order (megatron/core/parallel_state.py, class
/// RankGenerator).
inline constexpr RankOrder kPipelineSlowest{"tp-cp-ep-dp-pp",
                                            {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline},
                                            {Axis::kExpertTensor, Axis::kExpert, Axis::kExpertData, Axis::kPipeline}};
inline constexpr RankOrder kDataSlowest{"tp-cp-ep-pp-dp",
                                        {Axis::kTensor, Axis::kContext, Axis::kPipeline, Axis::kData},
                                        {Axis::kExpertTensor, Axis::kExpert, Axis::kPipeline, Axis::kExpertData}};

class RankGrid {
 public:
  /// The degree of expert-data is what expert-tensor and expert leave of a stage's ranks; a stated one is not read.
  /// Precondition: degrees are at least 1, and expert-tensor x expert divides the ranks of a stage. With experts, both
  /// grids put the same ranks on a stage: where the pipeline is not the slowest axis, expert-data equals data.
  explicit RankGrid(const PerAxis<int>& degrees, const RankOrder& order = kPipelineSlowest);

  [[nodiscard]] int degree(Axis axis) const { return rows_[axis].count; }
  /// Ranks that differ in these axes and in no other: the product of their degrees.
  [[nodiscard]] int degree(AxisSet axes) const { return groups(axes).size(); }
  [[nodiscard]] int gpus() const { return stage_ranks_ * degree(Axis::kPipeline); }
  [[nodiscard]] int stage_ranks() const { return stage_ranks_; }

  /// The groups of ranks that differ in `axes` and in no other axis of their grid. Precondition: the axes are of one
  /// grid.
  [[nodiscard]] RankGroups groups(AxisSet axes) const;
  [[nodiscard]] GroupShape shape(AxisSet axes, int domain) const { return groups(axes).shape(domain); }

  [[nodiscard]] int coordinate(Rank rank, Axis axis) const { return rank.number() / rows_[axis].stride % degree(axis); }
  [[nodiscard]] Stage stage_of(Rank rank) const { return id_of<Stage>(coordinate(rank, Axis::kPipeline)); }
  /// Ranks of a stage are numbered in the order of ranks; the same number on the next stage is a rank's partner.
  [[nodiscard]] StageRank stage_rank_of(Rank rank) const;
  [[nodiscard]] Rank rank_of(Stage stage, StageRank rank) const;

  /// True when any GPU of `stage` and its partner in the next one (the first after the last) lie on different nodes of
  /// `domain` GPUs.
  [[nodiscard]] bool hop_crosses_nodes(Stage stage, int domain) const;
  /// GPUs of one node that may send to the next stage through its NICs at the same time: the most that a node has of
  /// one stage.
  [[nodiscard]] int senders_per_node(int domain) const;

 private:
  PerAxis<RankRow> rows_;
  int stage_ranks_ = 1;
};

}  // namespace foretoken::net
