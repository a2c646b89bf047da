// Times of collectives: latency, bus bandwidth and a square-root term, per kind, group size and placement.
//
// All times are functions of V, the bytes that each rank of a ring sends. Messages of training lie between 1 and 256
// MiB. Plain latency + V / bandwidth errs there by 9 % per table (worst row 37 %). The square-root term brings this to
// 4 %.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.h"
#include "sim/cost/collectives/network_share.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/smooth_law.h"
#include "sim/cost/unseen.h"

namespace foretoken::cost {
namespace {

/// The nearest measured group sizes on both sides of `ranks`. Both are the same where there is only one.
struct Bracket {
  const CollectiveCurve *below = nullptr, *above = nullptr;
  const CollectiveCurve* before_below = nullptr;  ///< the measured size before `below`

  /// Returns the place of `ranks` between below (0) and above (1), measured by an increasing function of the ranks. It
  /// is 0 outside.
  template <class Measure>
  [[nodiscard]] double weight(int ranks, Measure measure) const {
    if (above->ranks <= below->ranks || ranks < below->ranks) return 0;
    return (measure(ranks) - measure(below->ranks)) / (measure(above->ranks) - measure(below->ranks));
  }
};

// A ring's latency grows with its steps. The bytes that a rank sends, and that its peers share, grow like 1 - 1 / n.
// The bus bandwidth grows likewise: public all-reduce tables of 2 to 8 A100 (vTrain), and all-gathers of 2, 4, 8 H200
// and B200.
double by_steps(int ranks) { return ranks; }
double by_share(int ranks) { return -1.0 / ranks; }

Bracket bracket(const InsideNodeLaw& law, CollectiveKind kind, int ranks) {
  Bracket found;
  for (const CollectiveCurve& curve : law.curves) {
    if (curve.kind != kind) continue;
    if (curve.ranks <= ranks) {
      found.before_below = found.below;
      found.below = &curve;
    }
    if (curve.ranks >= ranks && !found.above) found.above = &curve;
  }
  expects(found.below || found.above, "the profile has a curve for every kind of collective");
  if (!found.below) found.below = found.above;
  if (!found.above) found.above = found.below;
  return found;
}

double lerp(double a, double b, double weight) { return a + weight * (b - a); }
Seconds lerp(Seconds a, Seconds b, double weight) { return a + weight * (b - a); }

/// Latency between measured group sizes, in proportion to the steps of a ring. Below the smallest size it falls with
/// the steps as NCCL's own latencies do. Above the largest it grows with each doubling as between the two largest.
/// Source: nccl src/graph/tuning.cc, LL protocol: 6.6 us and 0.6 us for each NVLink step.
Seconds inside_latency(const Bracket& b, CollectiveKind kind, int ranks) {
  if (ranks < b.below->ranks) {
    const double rounds = kind == CollectiveKind::kAllReduce ? 2 : 1;
    const auto floor = [&](int n) { return 6.6 + 0.6 * rounds * (n - 1); };
    return floor(ranks) / floor(b.below->ranks) * b.below->latency;
  }
  if (ranks <= b.above->ranks) return lerp(b.below->latency, b.above->latency, b.weight(ranks, by_steps));
  if (!b.before_below) return b.below->latency;
  const Seconds rise = std::max(Seconds(0), b.below->latency - b.before_below->latency);
  const double slope = std::log2(static_cast<double>(b.below->ranks) / b.before_below->ranks);
  return b.below->latency + std::log2(static_cast<double>(ranks) / b.below->ranks) / slope * rise;
}

/// Time inside one node, between measured group sizes. Rates scale with the link rate.
Seconds inside_node(const CollectiveShape& shape, const InsideNodeLaw& law, BytesPerSecond link) {
  const double scale = link / law.reference;
  const int ranks = shape.group.ranks;
  const Bracket b = bracket(law, shape.kind, ranks);
  const Bytes volume = ring_bytes(shape);
  const auto volume_at = [&](const CollectiveCurve& c) {
    return volume_time(volume, scale * c.bandwidth, c.spread, scale * c.plateau);
  };
  const double share = b.weight(ranks, by_share);
  Seconds sending = volume_at(*b.below);
  double correction = log_ratio(b.below->correction, shape.payload);
  if (share > 0) {
    sending = lerp(sending, volume_at(*b.above), share);
    correction = lerp(correction, log_ratio(b.above->correction, shape.payload), b.weight(ranks, by_share));
  }
  return std::exp(correction) * (inside_latency(b, shape.kind, ranks) + sending);
}

/// Bus bandwidth that `ranks` GPUs of one node sustain among themselves.
BytesPerSecond inside_plateau(CollectiveKind kind, const InsideNodeLaw& law, BytesPerSecond link, int ranks) {
  const Bracket b = bracket(law, kind, ranks);
  const double share = b.weight(ranks, by_share);
  return (link / law.reference) * lerp(1, b.above->plateau / b.below->plateau, share) * b.below->plateau;
}

const AcrossNodesCurve& across_curve(const AcrossNodesLaw& law, CollectiveKind kind) {
  const auto found = std::find_if(law.curves.begin(), law.curves.end(), [&](const auto& c) { return c.kind == kind; });
  expects(found != law.curves.end(), "the profile has a curve across nodes for every kind of collective");
  return *found;
}

/// Bus bandwidth per byte of NIC rate. A ring sends V over each node's NICs. A tree over exactly two nodes may send
/// only n / (2 (n - 1)) of it. In an all-to-all, each rank of the node sends the bytes bound for other nodes.
double bus_per_nic_byte(const GroupShape& group, CollectiveKind kind, double two_node_gain) {
  const double n = group.ranks, local = group.ranks_per_node;
  if (kind == CollectiveKind::kAllToAll) return (n - 1) / ((n - local) * local);
  return group.nodes == 2 ? std::clamp(2.0 * (n - 1) / n, 1.0, two_node_gain) : 1.0;
}

/// The rates and laws that decide the cost of groups across nodes.
struct Fabric {
  const NodeLinks& links;
  const InsideNodeLaw& inside;
  BytesPerSecond link;    ///< of one GPU inside its node
  BytesPerSecond shared;  ///< what a group gets of the fullest link inside the node that it shares
  const AcrossNodesLaw& law;
};

constexpr BytesPerSecond kNoLimit(std::numeric_limits<double>::infinity());

/// Time of the smooth law for a group like `shape.group` on `nodes` nodes.
Seconds smooth_across(CollectiveShape shape, int nodes, const AcrossNodesCurve& curve, const Fabric& fabric) {
  GroupShape& group = shape.group;
  if (nodes != group.nodes) group.ranks = nodes * group.ranks_per_node;
  group.nodes = nodes;
  const BytesPerSecond share = network_share(fabric.links, group.ranks_per_node, group.groups_per_node);
  expects(share.value() > 0, "a group across nodes has NICs");
  const double lone = group.ranks_per_node == 1 ? fabric.law.lone_rank_factor : 1.0;
  const BytesPerSecond bus = lone * bus_per_nic_byte(group, shape.kind, curve.two_node_gain) * share;
  BytesPerSecond bandwidth = curve.efficiency * bus, plateau = curve.plateau_efficiency * bus;
  if (group.ranks_per_node > 1) {  // the data also cross the links inside each node
    const BytesPerSecond local =
        std::min(fabric.shared, inside_plateau(shape.kind, fabric.inside, fabric.link, group.ranks_per_node));
    bandwidth = std::min(bandwidth, local);
    plateau = std::min(plateau, local);
  }
  const Seconds latency = curve.latency + std::log2(static_cast<double>(group.nodes)) * curve.latency_per_doubling;
  return latency + volume_time(ring_bytes(shape), bandwidth, curve.spread, plateau);
}

/// The measured shapes with as many ranks per node: the nearest with at most, and with at least, as many nodes.
struct MeasuredBeside {
  const MeasuredShape *fewer = nullptr, *more = nullptr;
};

MeasuredBeside measured_beside(const AcrossNodesCurve& curve, const GroupShape& group) {
  MeasuredBeside beside;
  for (const MeasuredShape& shape : curve.measured) {
    if (shape.ranks_per_node != group.ranks_per_node) continue;
    if (shape.nodes <= group.nodes) beside.fewer = &shape;
    if (shape.nodes >= group.nodes && !beside.more) beside.more = &shape;
  }
  return beside;
}

/// Growth of the smooth law from `few` to `many` nodes, at least that of the network alone. Links inside nodes may
/// limit few nodes and not many. Faster ones would then lengthen the growth, and with it the time.
Seconds growth(const CollectiveShape& shape, int few, int many, const AcrossNodesCurve& curve, const Fabric& fabric) {
  const auto over = [&](const Fabric& of) {
    return smooth_across(shape, many, curve, of) - smooth_across(shape, few, curve, of);
  };
  const Fabric unlimited{
      .links = fabric.links, .inside = fabric.inside, .link = kNoLimit, .shared = kNoLimit, .law = fabric.law};
  return std::max(over(fabric), over(unlimited));
}

/// Time across nodes, from the measured numbers of nodes. Between two of them the time is interpolated over
/// log2(nodes). Beyond the largest, the law's growth is added. Below the smallest, the law is used unchanged.
/// Corrections of many nodes say little of few nodes, and tables left out are met better without them.
Seconds across_nodes(const CollectiveShape& shape, const Fabric& fabric) {
  const AcrossNodesCurve& curve = across_curve(fabric.law, shape.kind);
  const int nodes = shape.group.nodes;
  const auto smooth = [&](int over) { return smooth_across(shape, over, curve, fabric); };
  const auto [fewer, more] = measured_beside(curve, shape.group);
  if (!fewer) return smooth(nodes);
  const Seconds base = size_factor(fewer->correction, shape.payload) * smooth(fewer->nodes);
  if (fewer->nodes == nodes) return base;
  if (!more) return base + growth(shape, fewer->nodes, nodes, curve, fabric);
  const Seconds next = size_factor(more->correction, shape.payload) * smooth(more->nodes);
  const double weight =
      std::log2(static_cast<double>(nodes) / fewer->nodes) / std::log2(static_cast<double>(more->nodes) / fewer->nodes);
  return (1 - weight) * base + weight * next;
}

/// Returns true when nobody measured the curve that the profile has for a group's collective.
bool unseen_place(const CollectiveShape& shape, const InsideNodeLaw& inside, const AcrossNodesLaw& across) {
  if (shape.group.nodes > 1) return unseen(shape.kind, across_curve(across, shape.kind).evidence.provenance);
  const Bracket b = bracket(inside, shape.kind, shape.group.ranks);
  return unseen(shape.kind, b.below->evidence.provenance) || unseen(shape.kind, b.above->evidence.provenance);
}

}  // namespace

Bytes ring_bytes(const CollectiveShape& shape) {
  const double n = shape.group.ranks;
  switch (shape.kind) {
    case CollectiveKind::kAllReduce:
      return 2.0 * (n - 1) / n * shape.payload;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return (n - 1) / n * shape.payload;
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kReduce:
      return shape.payload;
  }
  contract_broken("every kind of collective has a traffic factor", __FILE__, __LINE__);
}

/// Time of one collective that starts on all ranks at once.
///
///   t = (latency + max(V / B + spread sqrt(V / B), V / plateau)) x correction(payload)
///   V = 2 (n-1)/n payload (all-reduce), (n-1)/n payload (gather, scatter, all-to-all), payload (broadcast, reduce)
///   one node: B, latency, spread, correction per kind and group size, B scaled with the link rate
///   across nodes: B = efficiency x share of the NICs, at most the rate inside a node; latency grows with log2(nodes);
///                 a correction for each measured number of nodes
///
///   where nobody measured (unseen.h): NCCL's choice (nccl_law.h), if the profile has it
///
/// Source: public nccl-tests tables, see the profile; traffic factors from nccl-tests, doc/PERFORMANCE.md.
/// Holds for: no other traffic than `groups_per_node` equal groups, equal ranks on every node.
/// Error: the residuals of each curve in the profile; docs/modeller/costs.md.
/// Precondition: ranks, nodes, ranks_per_node, groups_per_node >= 1; the links used have a rate.
Seconds collective_time(const CollectiveShape& shape, const NodeLinks& links, const Profile& profile) {
  const GroupShape& group = shape.group;
  expects(group.ranks >= 1 && group.nodes >= 1 && group.ranks_per_node >= 1 && group.groups_per_node >= 1,
          "a group has ranks on nodes");
  expects(shape.payload >= Bytes(0), "a collective has no negative payload");
  if (group.ranks == 1) return Seconds(0);
  const bool nvlink = links.nvlink_per_gpu.value() > 0;
  const InsideNodeLaw& inside = nvlink ? profile.nvlink : profile.pcie;
  const BytesPerSecond link = nvlink ? links.nvlink_per_gpu : links.pcie_per_gpu;
  if (profile.nccl && profile.nccl->stands_in && nvlink && unseen_place(shape, inside, profile.network))
    return nccl_time(shape, links, *profile.nccl);
  const bool shares = !nvlink && links.groups_on_pcie > 1;
  if (group.nodes > 1)
    return across_nodes(shape, {links, inside, link, shares ? links.pcie_share() : kNoLimit, profile.network});
  expects(link.value() > 0, "a group inside a node has links");
  return inside_node(shape, inside, nvlink ? link : links.pcie_share());
}

}  // namespace foretoken::cost
