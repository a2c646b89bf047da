// The grids of axes over a job's GPUs: every rank's coordinates, the groups of any axes, and the hops between stages.
#pragma once

#include <string_view>

#include "sim/base/axis.h"
#include "sim/net/rank_groups.h"

namespace foretoken::net {

/// The axes of dense layers and the axes of experts: two grids over the same GPUs.
inline constexpr AxisSet kDenseAxes{Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline};
inline constexpr AxisSet kExpertAxes{Axis::kExpertTensor, Axis::kExpert, Axis::kExpertData, Axis::kPipeline};
/// The axes of the ranks of a pipeline stage; the axes that cut a layer, whose ranks wait for one another in every
/// layer; and the axes of the ranks that reduce gradients.
inline constexpr AxisSet kStageAxes{Axis::kTensor, Axis::kContext, Axis::kData};
inline constexpr AxisSet kLayerAxes{Axis::kTensor, Axis::kContext};
inline constexpr AxisSet kReplicaAxes{Axis::kContext, Axis::kData};
/// The same ranks of a stage by the axes of experts; and the axes that cut a layer's experts, whose ranks wait for one
/// another in every layer with experts.
inline constexpr AxisSet kExpertStageAxes{Axis::kExpertTensor, Axis::kExpert, Axis::kExpertData};
inline constexpr AxisSet kExpertLayerAxes{Axis::kExpertTensor, Axis::kExpert};

/// The axes of both grids from the fastest to the slowest. Neighbours on the first axis have neighbouring ranks.
struct RankOrder {
  std::string_view name;
  std::array<Axis, 4> dense, expert;
};

/// The two orders of Megatron-Core: its default, and the order of --use-tp-pp-dp-mapping
/// (megatron/core/parallel_state.py, class RankGenerator).
inline constexpr RankOrder kPipelineSlowest{"tp-cp-ep-dp-pp",
                                            {Axis::kTensor, Axis::kContext, Axis::kData, Axis::kPipeline},
                                            {Axis::kExpertTensor, Axis::kExpert, Axis::kExpertData, Axis::kPipeline}};
inline constexpr RankOrder kDataSlowest{"tp-cp-ep-pp-dp",
                                        {Axis::kTensor, Axis::kContext, Axis::kPipeline, Axis::kData},
                                        {Axis::kExpertTensor, Axis::kExpert, Axis::kPipeline, Axis::kExpertData}};

class RankGrid {
 public:
  /// The degree of expert-data follows from a stage's ranks, expert-tensor and expert; a stated one is not read.
  ///
  /// Precondition: degrees are at least 1, and expert-tensor x expert divides the ranks of a stage. With experts, both
  /// grids put the same ranks on a stage. Where the pipeline is not the slowest axis, expert-data equals data.
  explicit RankGrid(const PerAxis<int>& degrees, const RankOrder& order = kPipelineSlowest);

  [[nodiscard]] int degree(Axis axis) const { return rows_[axis].count; }
  /// Ranks that differ in these axes and in no other: the product of their degrees.
  [[nodiscard]] int degree(AxisSet axes) const { return groups(axes).size(); }
  [[nodiscard]] int gpus() const { return stage_ranks_ * degree(Axis::kPipeline); }
  [[nodiscard]] int stage_ranks() const { return stage_ranks_; }

  /// Returns the groups of ranks that differ in `axes` and in no other axis of their grid. Precondition: the axes are
  /// of one grid.
  [[nodiscard]] RankGroups groups(AxisSet axes) const;
  [[nodiscard]] GroupShape shape(AxisSet axes, int domain) const { return groups(axes).shape(domain); }

  [[nodiscard]] int coordinate(Rank rank, Axis axis) const { return rank.number() / rows_[axis].stride % degree(axis); }
  [[nodiscard]] Stage stage_of(Rank rank) const { return id_of<Stage>(coordinate(rank, Axis::kPipeline)); }
  /// Ranks of a stage are numbered in the order of ranks. A rank's partner has the same number on the next stage.
  [[nodiscard]] StageRank stage_rank_of(Rank rank) const;
  [[nodiscard]] Rank rank_of(Stage stage, StageRank rank) const;

  /// Returns true when any GPU of `stage` and its partner in the next stage lie on different nodes of `domain` GPUs.
  /// The first stage follows the last.
  [[nodiscard]] bool hop_crosses_nodes(Stage stage, int domain) const;
  /// Counts the GPUs of one node that may send to the next stage through its NICs at the same time: the most GPUs that
  /// a node has of one stage.
  [[nodiscard]] int senders_per_node(int domain) const;

 private:
  PerAxis<RankRow> rows_;
  int stage_ranks_ = 1;
};

}  // namespace foretoken::net
