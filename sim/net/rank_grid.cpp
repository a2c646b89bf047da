// Lays the grids of axes over a job's GPUs.
#include "sim/net/rank_grid.h"

#include <algorithm>
#include <map>

#include "sim/base/check.h"

namespace foretoken::net {

RankGrid::RankGrid(const PerAxis<int>& degrees, const RankOrder& order) {
  PerAxis<int> all = degrees;
  all[Axis::kExpertData] = 1;
  for (const auto& [axis, name] : kAxisNames) expects(all[axis] >= 1, "degrees are at least 1");
  for (const auto& [axis, name] : kAxisNames)
    if (kStageAxes.contains(axis)) stage_ranks_ *= all[axis];
  const int experts = all[Axis::kExpertTensor] * all[Axis::kExpert];
  expects(stage_ranks_ % experts == 0, "expert-tensor x expert divides the ranks of a stage");
  all[Axis::kExpertData] = stage_ranks_ / experts;
  const auto lay = [&](const std::array<Axis, 4>& axes) {
    int stride = 1;
    for (const Axis axis : axes) {
      rows_[axis] = {stride, all[axis]};
      stride *= all[axis];
    }
    return rows_[Axis::kPipeline];
  };
  const RankRow expert = lay(order.expert), dense = lay(order.dense);  // the pipeline's row
  expects(experts == 1 || dense.count == 1 || dense == expert, "both grids put the same ranks on a stage");
}

RankGroups RankGrid::groups(AxisSet axes) const {
  expects(kDenseAxes.contains(axes) || kExpertAxes.contains(axes), "the axes of a group are of one grid");
  std::array<RankRow, kAxes> rows{};
  std::size_t used = 0;
  for (const auto& [axis, name] : kAxisNames) {
    if (!axes.contains(axis) || degree(axis) == 1) continue;
    std::size_t at = used++;  // rows stand from the shortest stride to the longest
    for (; at > 0 && rows[at - 1].stride > rows_[axis].stride; --at) rows[at] = rows[at - 1];
    rows[at] = rows_[axis];
  }
  return {std::span<const RankRow>(rows).first(used), gpus()};
}

// The pipeline's row cuts ranks into blocks. A stage has `stride` consecutive ranks of each block.
StageRank RankGrid::stage_rank_of(Rank rank) const {
  const auto [stride, count] = rows_[Axis::kPipeline];
  return id_of<StageRank>(rank.number() / (stride * count) * stride + rank.number() % stride);
}

Rank RankGrid::rank_of(Stage stage, StageRank rank) const {
  const auto [stride, count] = rows_[Axis::kPipeline];
  const int block = rank.number() / stride;
  return id_of<Rank>((block * count + stage.number()) * stride + rank.number() % stride);
}

bool RankGrid::hop_crosses_nodes(Stage stage, int domain) const {
  const int stages = degree(Axis::kPipeline);
  expects(domain >= 1, "a node has at least one GPU");
  expects(stage.number() < stages, "the stage is one of the pipeline's");
  const Stage next = id_of<Stage>((stage.number() + 1) % stages);
  for (const StageRank rank : ids<StageRank>(stage_ranks_))
    if (rank_of(stage, rank).number() / domain != rank_of(next, rank).number() / domain) return true;
  return false;
}

int RankGrid::senders_per_node(int domain) const {
  expects(domain >= 1, "a node has at least one GPU");
  const auto [stride, count] = rows_[Axis::kPipeline];
  if (stride * count == gpus()) return std::min(stage_ranks_, domain);  // a stage's ranks follow one another
  int most = 0;
  std::map<std::pair<int, Stage>, int> senders;  // by node and stage
  for (const Rank rank : ids<Rank>(gpus())) most = std::max(most, ++senders[{rank.number() / domain, stage_of(rank)}]);
  return most;
}

}  // namespace foretoken::net
