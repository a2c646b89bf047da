// The groups of ranks that differ in some axes: which ranks they join, and how they lie on nodes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/placement.h"

namespace foretoken::net {

/// `count` ranks, `stride` apart.
struct RankRow {
  int stride = 1, count = 1;
  friend bool operator==(const RankRow&, const RankRow&) = default;
};

/// All groups of one set of axes over the ranks of a job. A group is named by its lowest rank. Its ranks form rows of
/// rows: a single row where the axes follow one another in the order of ranks.
class RankGroups {
 public:
  /// Rows from the shortest stride to the longest; rows of one rank count for nothing. Precondition: at most as many as
  /// a grid has axes, and the ranks of all rows divide `gpus`.
  RankGroups(std::span<const RankRow> rows, int gpus);

  [[nodiscard]] int size() const { return size_; }  ///< ranks of a group
  [[nodiscard]] int gpus() const { return gpus_; }  ///< ranks of all groups
  [[nodiscard]] std::span<const RankRow> rows() const { return std::span(rows_).first(used_); }

  /// The lowest rank of the group that `rank` is in.
  [[nodiscard]] Rank first_of(Rank rank) const;
  /// The place of `rank` in its group, in the order of ranks.
  [[nodiscard]] int place_of(Rank rank) const;
  /// The rank at `place` of the group of `first`, its lowest rank.
  [[nodiscard]] Rank member(Rank first, int place) const;
  /// Ascending.
  [[nodiscard]] std::vector<Rank> members(Rank first) const;
  /// In the order of their lowest ranks.
  [[nodiscard]] std::vector<std::vector<Rank>> all() const;

  /// The shape of a group on nodes of `domain` GPUs (NVLink domains), ranks in order.
  ///
  /// Where groups do not divide the nodes evenly they differ. The shape is then that of the group that touches the most
  /// nodes, with its most ranks in one of them, and the most groups that share the NICs of any node. A group inside one
  /// node uses no NIC and has groups_per_node 1. Precondition: domain >= 1.
  [[nodiscard]] GroupShape shape(int domain) const;

  /// True when groups lie on every node as on the first.
  [[nodiscard]] bool nodes_alike(int domain) const;

 private:
  [[nodiscard]] GroupShape counted_shape(int domain) const;

  static constexpr std::size_t kMostRows = 4;
  std::array<RankRow, kMostRows> rows_{};
  std::size_t used_ = 0;
  int size_ = 1, gpus_ = 1;
};

}  // namespace foretoken::net
