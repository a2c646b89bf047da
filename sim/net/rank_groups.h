// The groups of ranks that differ in some axes: their ranks, and their places on nodes.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/placement.h"

namespace foretoken::net {

/// `count` ranks at a distance of `stride`.
struct RankRow {
  int stride = 1, count = 1;
  friend bool operator==(const RankRow&, const RankRow&) = default;
};

/// All groups of one set of axes over the ranks of a job. The lowest rank of a group names it. Its ranks form rows of
/// rows: a single row where the axes follow one another in the order of ranks.
class RankGroups {
 public:
  /// Rows go from the shortest stride to the longest. Rows of one rank are ignored. Precondition: at most as many rows
  /// as a grid has axes, and the ranks of all rows divide `gpus`.
  RankGroups(std::span<const RankRow> rows, int gpus);

  [[nodiscard]] int size() const { return size_; }  ///< ranks of a group
  [[nodiscard]] int gpus() const { return gpus_; }  ///< ranks of all groups
  [[nodiscard]] std::span<const RankRow> rows() const { return std::span(rows_).first(used_); }

  /// Returns the lowest rank of the group that `rank` is in.
  [[nodiscard]] Rank first_of(Rank rank) const;
  /// Returns the place of `rank` in its group, in the order of ranks.
  [[nodiscard]] int place_of(Rank rank) const;
  /// Returns the rank at `place` of the group whose lowest rank is `first`.
  [[nodiscard]] Rank member(Rank first, int place) const;
  /// Returns the ranks of one group, ascending.
  [[nodiscard]] std::vector<Rank> members(Rank first) const;
  /// Returns all groups, in the order of their lowest ranks.
  [[nodiscard]] std::vector<std::vector<Rank>> all() const;

  /// Returns the shape of a group on nodes of `domain` GPUs (NVLink domains), ranks in order.
  ///
  /// Groups differ where they do not divide the nodes evenly. The shape is then the worst of each: the group that
  /// touches the most nodes, with its fewest ranks in one of them, and the most groups that share the NICs of any node.
  /// A node with few ranks of a group has few NICs for it. A group inside one node uses no NIC and has groups_per_node
  /// 1. Precondition: domain >= 1.
  [[nodiscard]] GroupShape shape(int domain) const;

  /// Returns true when groups lie on every node as on the first.
  [[nodiscard]] bool nodes_alike(int domain) const;

 private:
  [[nodiscard]] GroupShape counted_shape(int domain) const;

  static constexpr std::size_t kMostRows = 4;
  std::array<RankRow, kMostRows> rows_{};
  std::size_t used_ = 0;
  int size_ = 1, gpus_ = 1;
};

}  // namespace foretoken::net
