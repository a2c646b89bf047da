// Lists and measures the groups of ranks that differ in some axes.
//
// A row of stride t and count c cuts the ranks into blocks of t c. A block holds t interleaved groups of c ranks. The
// job is a row of such blocks. Rows of rows repeat this inside a group. A node is `domain` consecutive ranks.
#include "sim/net/rank_groups.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::net {

RankGroups::RankGroups(std::span<const RankRow> rows, int gpus) : gpus_(gpus) {
  for (const RankRow& row : rows) {
    expects(row.stride >= 1 && row.count >= 1, "strides and degrees are at least 1");
    if (row.count == 1) continue;
    RankRow* const last = used_ > 0 ? &rows_[used_ - 1] : nullptr;
    size_ *= row.count;
    if (last != nullptr && last->stride * last->count == row.stride) {
      last->count *= row.count;  // the next axis goes on where the last one ends: one row
      continue;
    }
    expects(used_ < kMostRows, "a grid has at most four axes");
    expects(last == nullptr || last->stride * last->count < row.stride, "rows stand in order of their strides");
    rows_[used_++] = row;
  }
  expects(gpus >= 1 && gpus % size_ == 0, "the ranks of a group divide the GPUs of a job");
}

Rank RankGroups::first_of(Rank rank) const {
  int first = rank.number();
  for (const RankRow& row : rows()) first -= rank.number() / row.stride % row.count * row.stride;
  return id_of<Rank>(first);
}

int RankGroups::place_of(Rank rank) const {
  int place = 0, below = 1;
  for (const RankRow& row : rows()) {
    place += rank.number() / row.stride % row.count * below;
    below *= row.count;
  }
  return place;
}

Rank RankGroups::member(Rank first, int place) const {
  int rank = first.number();
  for (const RankRow& row : rows()) {
    rank += place % row.count * row.stride;
    place /= row.count;
  }
  return id_of<Rank>(rank);
}

std::vector<Rank> RankGroups::members(Rank first) const {
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(size_));
  for (int place = 0; place < size_; ++place) ranks.push_back(member(first, place));
  return ranks;
}

std::vector<std::vector<Rank>> RankGroups::all() const {
  std::vector<std::vector<Rank>> groups;
  for (const Rank rank : ids<Rank>(gpus_))
    if (first_of(rank) == rank) groups.push_back(members(rank));
  return groups;
}

bool RankGroups::nodes_alike(int domain) const {
  if (used_ == 0) return true;
  if (used_ > 1) return false;
  const int stride = rows_[0].stride, block = stride * rows_[0].count;
  return domain % block == 0 || (block % domain == 0 && domain % stride == 0);
}

GroupShape RankGroups::shape(int domain) const {
  expects(domain >= 1, "a node has at least one GPU");
  if (used_ == 0) return {};
  const auto [stride, count] = rows_[0];
  const int block = stride * count;
  if (used_ > 1) return counted_shape(domain);
  if (domain % block == 0)  // whole blocks inside a node
    return {.ranks = count, .nodes = 1, .ranks_per_node = count, .groups_per_node = 1};
  if (block % domain == 0 && stride % domain == 0)  // one member on a node
    return {.ranks = count, .nodes = count, .ranks_per_node = 1, .groups_per_node = domain};
  if (block % domain == 0 && domain % stride == 0)
    return {.ranks = count, .nodes = block / domain, .ranks_per_node = domain / stride, .groups_per_node = stride};
  return counted_shape(domain);
}

// Counts every group and every node, and takes the worst.
GroupShape RankGroups::counted_shape(int domain) const {
  GroupShape worst{.ranks = size_, .nodes = 0, .ranks_per_node = 0, .groups_per_node = 1};
  std::vector<int> crossing(static_cast<std::size_t>((gpus_ + domain - 1) / domain));  // groups that leave each node
  const std::vector<Rank> offsets = members(Rank{});
  for (const Rank first : ids<Rank>(gpus_)) {
    if (first_of(first) != first) continue;
    const auto node_of = [&](std::size_t place) {
      return static_cast<std::size_t>((first.number() + offsets[place].number()) / domain);
    };
    const bool crosses = node_of(0) != node_of(offsets.size() - 1);
    int nodes = 0, fewest = size_;
    for (std::size_t place = 0, end = 0; place < offsets.size(); place = end) {
      while (end < offsets.size() && node_of(end) == node_of(place)) ++end;
      fewest = std::min(fewest, static_cast<int>(end - place));
      ++nodes;
      if (crosses) worst.groups_per_node = std::max(worst.groups_per_node, ++crossing[node_of(place)]);
    }
    if (nodes < worst.nodes) continue;
    worst.ranks_per_node = nodes > worst.nodes ? fewest : std::min(worst.ranks_per_node, fewest);
    worst.nodes = nodes;
  }
  return worst;
}

}  // namespace foretoken::net
