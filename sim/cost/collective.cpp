// Collectives: a latency, a bus bandwidth and a square-root term between them, per kind, group size and placement.
//
// All times are functions of V, the bytes that each rank of a ring sends. Plain latency + V / bandwidth errs by 9 % per
// table (worst row 37 %) between 1 and 256 MiB, where training's messages lie; the square-root term brings it to 4 %.
#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/cost/network_share.h"

namespace foretoken::cost {
namespace {

/// V: bytes that each rank sends in a ring. Source: nccl-tests, doc/PERFORMANCE.md.
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
      return shape.payload;
  }
  contract_broken("every kind of collective has a traffic factor", __FILE__, __LINE__);
}

/// t = latency + max(x + spread sqrt(x), V / plateau), x = V / bandwidth.
Seconds smooth_time(Bytes volume, Seconds latency, BytesPerSecond bandwidth, double spread, BytesPerSecond plateau) {
  const double x = (volume / bandwidth).value();
  return latency + std::max(Seconds(x + spread * std::sqrt(x)), volume / plateau);
}

/// measured / law at a payload; 1 without a correction.
double size_factor(const SizeCorrection& correction, Bytes payload) {
  const std::vector<double>& values = correction.log_ratio;
  if (values.empty()) return 1;
  const double octave = std::log2(std::max(payload.value(), 1.0));
  const double part = (octave - correction.first_log2) / (correction.last_log2 - correction.first_log2);
  const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto cell = std::min(static_cast<std::size_t>(at), values.size() - 2);
  const double beyond = at - static_cast<double>(cell);
  return std::exp((1 - beyond) * values[cell] + beyond * values[cell + 1]);
}

/// The measured group sizes at and below, and at and above `ranks`, and how far between them (in log2) it lies.
struct Bracket {
  const CollectiveCurve* below;
  const CollectiveCurve* above;
  double weight;
  double doublings_beyond;  ///< above the largest measured size
};

Bracket bracket(const InsideNodeLaw& law, CollectiveKind kind, int ranks) {
  const CollectiveCurve *before_below = nullptr, *below = nullptr, *above = nullptr;
  for (const CollectiveCurve& curve : law.curves) {
    if (curve.kind != kind) continue;
    if (curve.ranks <= ranks) {
      before_below = below;
      below = &curve;
    }
    if (curve.ranks >= ranks && !above) above = &curve;
  }
  expects(below || above, "the profile has a curve for every kind of collective");
  if (!below) return {above, above, 0, 0};
  if (above) {
    const double span = std::log2(static_cast<double>(above->ranks) / below->ranks);
    return {below, above, span > 0 ? std::log2(static_cast<double>(ranks) / below->ranks) / span : 0, 0};
  }
  return {before_below ? before_below : below, below, 1, std::log2(static_cast<double>(ranks) / below->ranks)};
}

/// Latency that each doubling of the ranks adds, from the two curves of the bracket.
Seconds latency_slope(const Bracket& b) {
  if (b.below == b.above) return Seconds(0);
  const double doublings = std::log2(static_cast<double>(b.above->ranks) / b.below->ranks);
  return std::max(Seconds(0), (b.above->latency - b.below->latency) / doublings);
}

/// Inside one node: the time is interpolated over log2(ranks) between measured group sizes. Above the largest, latency
/// keeps growing per doubling and bandwidth stays. Rates scale with the link rate.
Seconds inside_node(const CollectiveShape& shape, const InsideNodeLaw& law, BytesPerSecond link) {
  const double scale = link / law.reference;
  const Bracket b = bracket(law, shape.kind, shape.group.ranks);
  const Bytes volume = ring_bytes(shape);
  const auto at = [&](const CollectiveCurve& c) {
    return size_factor(c.correction, shape.payload) *
           smooth_time(volume, c.latency, scale * c.bandwidth, c.spread, scale * c.plateau);
  };
  return (1 - b.weight) * at(*b.below) + b.weight * at(*b.above) + b.doublings_beyond * latency_slope(b);
}

/// Bus bandwidth that `ranks` GPUs of one node sustain among themselves.
BytesPerSecond inside_plateau(CollectiveKind kind, const InsideNodeLaw& law, BytesPerSecond link, int ranks) {
  const Bracket b = bracket(law, kind, ranks);
  return (link / law.reference) * ((1 - b.weight) * b.below->plateau + b.weight * b.above->plateau);
}

const AcrossNodesCurve& across_curve(const AcrossNodesLaw& law, CollectiveKind kind) {
  const auto found = std::find_if(law.curves.begin(), law.curves.end(), [&](const auto& c) { return c.kind == kind; });
  expects(found != law.curves.end(), "the profile has a curve across nodes for every kind of collective");
  return *found;
}

/// Bus bandwidth per byte of NIC rate. A ring sends V over each node's NICs; a tree over exactly two nodes may send as
/// little as n / (2 (n - 1)) of it; all-to-all sends what is bound for other nodes, from each of the node's ranks.
double bus_per_nic_byte(const GroupShape& group, CollectiveKind kind, double two_node_gain) {
  const double n = group.ranks, local = group.ranks_per_node;
  if (kind == CollectiveKind::kAllToAll) return (n - 1) / ((n - local) * local);
  return group.nodes == 2 ? std::clamp(2.0 * (n - 1) / n, 1.0, two_node_gain) : 1.0;
}

Seconds across_nodes(const CollectiveShape& shape, const NodeLinks& links, const InsideNodeLaw& inside,
                     BytesPerSecond link, const AcrossNodesLaw& law) {
  const GroupShape& group = shape.group;
  const AcrossNodesCurve& curve = across_curve(law, shape.kind);
  const BytesPerSecond share = network_share(links, group.ranks_per_node, group.groups_per_node);
  expects(share.value() > 0, "a group across nodes has NICs");
  const double lone = group.ranks_per_node == 1 ? law.lone_rank_factor : 1.0;
  const BytesPerSecond bus = lone * bus_per_nic_byte(group, shape.kind, curve.two_node_gain) * share;
  BytesPerSecond bandwidth = curve.efficiency * bus, plateau = curve.plateau_efficiency * bus;
  if (group.ranks_per_node > 1) {  // the data also cross the links inside each node
    const BytesPerSecond local = inside_plateau(shape.kind, inside, link, group.ranks_per_node);
    bandwidth = std::min(bandwidth, local);
    plateau = std::min(plateau, local);
  }
  const Seconds latency = curve.latency + std::log2(static_cast<double>(group.nodes)) * curve.latency_per_doubling;
  return smooth_time(ring_bytes(shape), latency, bandwidth, curve.spread, plateau);
}

}  // namespace

/// Time of one collective that starts on all ranks at once.
///
///   t = (latency + max(V / B + spread sqrt(V / B), V / plateau)) x correction(payload)
///   V = 2 (n-1)/n payload (all-reduce), (n-1)/n payload (gather, scatter, all-to-all), payload (broadcast)
///   one node: B, latency, spread per kind and group size, B scaled with the link rate
///   across nodes: B = efficiency x share of the NICs, at most the rate inside a node; latency grows with log2(nodes);
///                 no correction
///
/// Source: public nccl-tests tables, see the profile; traffic factors from nccl-tests, doc/PERFORMANCE.md.
/// Holds for: no other traffic than `groups_per_node` equal groups, equal ranks on every node.
/// Error: the residuals of each curve in the profile; docs/models/costs.md.
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
  if (group.nodes > 1) return across_nodes(shape, links, inside, link, profile.network);
  expects(link.value() > 0, "a group inside a node has links");
  return inside_node(shape, inside, link);
}

}  // namespace foretoken::cost
