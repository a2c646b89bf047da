// The groups of a job, from the rank order and the size of a node.
//
// Every kind of group is a run of equally spaced ranks. In the order tensor, context, data, pipeline (fastest first) a
// tensor group has stride 1, a context group stride t and count c, and a gradient group (data x context, neighbours in
// the order) stride t and count c d. Ranks 0 .. stride * count - 1 form a block that holds `stride` interleaved groups,
// and the job is a row of such blocks. A node is `domain` consecutive ranks.
#include "sim/net/process_groups.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::net {
namespace {

/// All groups of one kind: `blocks` blocks, in each of them `stride` groups of `count` ranks, `stride` apart.
struct Layout {
  int stride = 1, count = 1, blocks = 1;
  [[nodiscard]] int block_ranks() const { return stride * count; }
  [[nodiscard]] int gpus() const { return block_ranks() * blocks; }
  /// First rank of the group that `rank` belongs to.
  [[nodiscard]] int first_of(int rank) const { return rank / block_ranks() * block_ranks() + rank % stride; }
};

/// Nodes that the group starting at rank `first` touches.
int nodes_touched(const Layout& layout, int first, int domain) {
  if (layout.stride >= domain) return layout.count;  // no two members on one node
  const int last = first + (layout.count - 1) * layout.stride;
  return last / domain - first / domain + 1;  // steps shorter than a node skip none
}

/// Most members of the group starting at `first` on one node.
int most_on_a_node(const Layout& layout, int first, int domain) {
  int most = 0, here = 0, node = first / domain;
  for (int k = 0; k < layout.count; ++k) {
    const int now = (first + k * layout.stride) / domain;
    here = now == node ? here + 1 : 1;
    node = now;
    most = std::max(most, here);
  }
  return most;
}

/// Groups that have a rank on the node beginning at rank `begin` and another elsewhere.
int crossing_groups(const Layout& layout, int begin, int domain) {
  const int end = std::min(begin + domain, layout.gpus());
  int groups = 0;
  for (int rank = begin; rank < end; ++rank) {
    const int first = layout.first_of(rank);
    const bool seen = rank - layout.stride >= std::max(begin, first);  // its previous member lies on this node too
    if (!seen && nodes_touched(layout, first, domain) > 1) ++groups;
  }
  return groups;
}

/// Groups that fall on nodes unevenly: every group and every node is looked at, and the worst taken.
GroupShape uneven_shape(const Layout& layout, int domain) {
  GroupShape worst{.ranks = layout.count, .nodes = 0, .ranks_per_node = 0, .groups_per_node = 1};
  for (int block = 0; block < layout.blocks; ++block) {
    for (int lane = 0; lane < layout.stride; ++lane) {
      const int first = block * layout.block_ranks() + lane;
      const int nodes = nodes_touched(layout, first, domain);
      if (nodes < worst.nodes) continue;
      const int most = most_on_a_node(layout, first, domain);
      worst.ranks_per_node = nodes > worst.nodes ? most : std::max(worst.ranks_per_node, most);
      worst.nodes = nodes;
    }
  }
  for (int begin = 0; begin < layout.gpus(); begin += domain)
    worst.groups_per_node = std::max(worst.groups_per_node, crossing_groups(layout, begin, domain));
  return worst;
}

GroupShape shape_of(const Layout& layout, int domain) {
  expects(layout.stride >= 1 && layout.count >= 1 && layout.blocks >= 1 && domain >= 1,
          "degrees and the GPUs of a node are at least 1");
  const int block = layout.block_ranks();
  const int count = layout.count;
  if (domain % block == 0)  // whole blocks inside a node
    return {.ranks = count, .nodes = 1, .ranks_per_node = count, .groups_per_node = 1};
  if (block % domain == 0 && layout.stride % domain == 0)  // one member on a node
    return {.ranks = count, .nodes = count, .ranks_per_node = 1, .groups_per_node = count > 1 ? domain : 1};
  if (block % domain == 0 && domain % layout.stride == 0)
    return {.ranks = count,
            .nodes = block / domain,
            .ranks_per_node = domain / layout.stride,
            .groups_per_node = layout.stride};
  return uneven_shape(layout, domain);
}

}  // namespace

GroupShape tensor_group(Degrees degrees, int domain) {
  return shape_of({.stride = 1, .count = degrees.tensor, .blocks = degrees.context * degrees.data * degrees.pipeline},
                  domain);
}

GroupShape context_group(Degrees degrees, int domain) {
  return shape_of({.stride = degrees.tensor, .count = degrees.context, .blocks = degrees.data * degrees.pipeline},
                  domain);
}

GroupShape gradient_group(Degrees degrees, int domain) {
  return shape_of({.stride = degrees.tensor, .count = degrees.context * degrees.data, .blocks = degrees.pipeline},
                  domain);
}

bool pipeline_hop_crosses_nodes(Degrees degrees, int domain, int stage) {
  expects(domain >= 1, "a node has at least one GPU");
  expects(stage >= 0 && stage < degrees.pipeline, "the stage is one of the pipeline's");
  const int stage_ranks = degrees.gpus() / degrees.pipeline;
  for (int rank = stage * stage_ranks; rank < (stage + 1) * stage_ranks; ++rank) {
    const int partner = (rank + stage_ranks) % degrees.gpus();
    if (rank / domain != partner / domain) return true;
  }
  return false;
}

int pipeline_senders_per_node(Degrees degrees, int domain) {
  expects(domain >= 1, "a node has at least one GPU");
  return std::min(degrees.gpus() / degrees.pipeline, domain);
}

}  // namespace foretoken::net
