// Fits curves across nodes: one smooth law per kind, and a correction for each measured shape of group.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "calibration/fit/laws/fit_collective.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::fit {
namespace {

using enum CollectiveKind;
// Tree latency per doubling of nodes, in us: 2 x network latency of the LL and Simple protocols (nccl
// src/graph/tuning.cc).
constexpr double kLeastDoubling = 10, kMostDoubling = 28;

/// Returns a network on which every kind has the same curve.
cost::Profile profile_with(const cost::AcrossNodesCurve& curve, const cost::InsideNodeLaw& inside) {
  cost::AcrossNodesLaw law;
  for (const CollectiveKind each : kEveryKind) {
    law.curves.push_back(curve);
    law.curves.back().kind = each;
  }
  return {.nvlink = inside, .network = std::move(law)};
}

cost::AcrossNodesCurve curve_of(CollectiveKind kind, const Arguments& at, const AcrossGivens& givens) {
  const double doubling_us = rounded(std::clamp(std::exp(at[3]), kLeastDoubling, kMostDoubling));
  return {.kind = kind,
          .latency = givens.latency ? *givens.latency : microseconds(rounded(std::exp(at[0]))),
          .latency_per_doubling = givens.doubling ? *givens.doubling : microseconds(doubling_us),
          .efficiency = rounded(std::min(1.0, std::exp(at[1]))),
          .spread = rounded(1e-3 * std::exp(at[2])),
          .plateau_efficiency = 1,
          .two_node_gain = givens.two_node_gain ? *givens.two_node_gain : rounded(1 + std::exp(at[4]))};
}

/// Returns the errors of the smooth curve for each shape of group in the tables, fewest nodes first.
std::vector<cost::MeasuredShape> measured_shapes(const cost::AcrossNodesCurve& curve, const TablePool& pool,
                                                 const cost::InsideNodeLaw& inside) {
  std::map<std::pair<int, int>, std::vector<CollectiveTable>> by_shape;
  for (const CollectiveTable& table : tables_of(pool, curve.kind))
    by_shape[{table.nodes, table.ranks_per_node}].push_back(table);
  const cost::Profile smooth = profile_with(curve, inside);
  std::vector<cost::MeasuredShape> shapes;
  for (const auto& [place, tables] : by_shape) {
    const std::vector<CollectiveRow> rows = rows_of(tables, pool);
    if (rows.empty()) continue;
    cost::MeasuredShape shape{.nodes = place.first, .ranks_per_node = place.second};
    const SplitRows parts = split(rows);
    shape.correction = correction_of(smooth, parts.fitted, pool);
    cost::AcrossNodesCurve known = curve;
    known.measured = {shape};
    shape.evidence = evidence(pool.source, parts.fitted.size(), outcomes(parts.left_out, profile_with(known, inside)));
    shape.correction = correction_of(smooth, rows, pool);
    if (!shape.correction.log_ratio.empty()) shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace

cost::AcrossNodesCurve fit_across_curve(CollectiveKind kind, const TablePool& pool, const cost::InsideNodeLaw& inside,
                                        const AcrossGivens& givens) {
  const std::vector<CollectiveRow> rows = rows_of(tables_of(pool, kind), pool);
  const auto profile_of = [&](const Arguments& at) { return profile_with(curve_of(kind, at, givens), inside); };
  const Arguments start{std::log(25.0), std::log(0.97), 2.0, std::log(15.0), std::log(0.2)};
  cost::AcrossNodesCurve curve = curve_of(kind, fit_rows(rows, profile_of, start), givens);
  const SplitRows parts = split(rows);
  curve.evidence = evidence(pool.source, parts.fitted.size(), outcomes(parts.left_out, profile_with(curve, inside)));
  curve.measured = measured_shapes(curve, pool, inside);
  return curve;
}

cost::AcrossNodesCurve like_all_reduce(CollectiveKind kind, cost::AcrossNodesCurve curve) {
  curve.kind = kind;
  curve.latency = 0.5 * curve.latency;
  curve.latency_per_doubling = 0.5 * curve.latency_per_doubling;
  curve.two_node_gain = 1;
  curve.measured.clear();
  curve.evidence = assumed("as all-reduce with half its latency");
  return curve;
}

/// Returns the factor of one rank per node, which no table measures. 0.85 of the NIC rate was set beforehand, and
/// agreed with published iteration times.
double lone_rank_factor(const cost::AcrossNodesCurve& all_reduce) {
  return rounded(std::min(1.0, 0.85 / all_reduce.efficiency), 3);
}

double highest_two_node_gain(const TablePool& pool) {
  double highest = 1;
  for (const CollectiveTable& table : tables_of(pool, kAllReduce))
    for (const CollectiveRow& row : rows_of({table}, pool)) {
      const double bus = cost::ring_bytes(row.shape).value() / row.seconds / 1e9;
      if (table.nodes == 2) highest = std::max(highest, bus / table.nic_gb_per_s);
    }
  return rounded(highest, 3);
}

cost::AcrossNodesLaw fit_across(const TablePool& pool, const cost::InsideNodeLaw& inside, const AcrossGivens& givens) {
  const cost::AcrossNodesCurve all_reduce = fit_across_curve(kAllReduce, pool, inside, givens);
  cost::AcrossNodesLaw law{.lone_rank_factor = lone_rank_factor(all_reduce)};
  AcrossGivens one_ring = givens;
  one_ring.two_node_gain = 1;
  one_ring.doubling = 0.5 * all_reduce.latency_per_doubling;  // all tables of the other kinds have two nodes
  if (givens.latency) one_ring.latency = 0.5 * *givens.latency;
  for (const CollectiveKind kind : kEveryKind) {
    if (kind == kAllReduce)
      law.curves.push_back(all_reduce);
    else if (tables_of(pool, kind).empty())
      law.curves.push_back(like_all_reduce(kind, all_reduce));
    else
      law.curves.push_back(fit_across_curve(kind, pool, inside, one_ring));
  }
  return law;
}

cost::AcrossNodesLaw checked(cost::AcrossNodesLaw law, const TablePool& pool, const cost::InsideNodeLaw& inside,
                             const cost::Evidence& origin) {
  for (cost::AcrossNodesCurve& curve : law.curves) {
    curve.measured.clear();
    const auto left_out = outcomes(rows_of(tables_of(pool, curve.kind), pool), profile_with(curve, inside));
    curve.evidence = evidence(origin.source + (left_out.empty() ? "" : "; checked on " + pool.source), 0, left_out);
    curve.evidence.provenance = origin.provenance;
    curve.evidence.scaled_from = origin.scaled_from;
    curve.measured = measured_shapes(curve, pool, inside);
  }
  return law;
}

}  // namespace foretoken::fit
