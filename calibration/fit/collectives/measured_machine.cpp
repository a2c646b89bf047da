// Fits one curve per table. The law behind a curve is fitted on its own table only.
#include "calibration/fit/collectives/measured_machine.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "calibration/fit/laws/fit_collective.h"

namespace foretoken::fit {
namespace {

using enum CollectiveKind;

const cost::AcrossNodesCurve& curve_of(const cost::AcrossNodesLaw& law, CollectiveKind kind) {
  return *std::find_if(law.curves.begin(), law.curves.end(), [&](const auto& c) { return c.kind == kind; });
}

/// Returns the latency of the kind in the smallest group with at least as many ranks, or else in the largest group.
Seconds latency_of(const cost::InsideNodeLaw& law, CollectiveKind kind, int ranks) {
  Seconds latency(0);
  for (const cost::CollectiveCurve& curve : law.curves) {
    if (curve.kind != kind) continue;
    latency = curve.latency;
    if (curve.ranks >= ranks) break;
  }
  return latency;
}

TablePool pool_of(const Machine& machine, std::vector<CollectiveTable> tables) {
  TablePool pool{.tables = std::move(tables), .source = "", .reference_gb_per_s = machine.link_gb_per_s};
  pool.one_machine = true;
  pool.source = pool.tables.front().source;
  return pool;
}

/// Gives all-gather the curves of reduce-scatter for group sizes where only one was measured, and the other way round.
void lend_halves(std::vector<cost::CollectiveCurve>& curves) {
  std::set<std::pair<CollectiveKind, int>> known;
  for (const auto& curve : curves) known.insert({curve.kind, curve.ranks});
  const std::vector<cost::CollectiveCurve> own = curves;
  for (cost::CollectiveCurve curve : own) {
    if (curve.kind != kAllGather && curve.kind != kReduceScatter) continue;
    curve.kind = curve.kind == kAllGather ? kReduceScatter : kAllGather;
    if (known.count({curve.kind, curve.ranks}) > 0) continue;
    curve.evidence = assumed("the same ring in the opposite direction: " + curve.evidence.source);
    curves.push_back(curve);
  }
}

void add_inside(cost::MeasuredCollectives& measured, const Machine& machine, const cost::Profile& general) {
  const cost::InsideNodeLaw& law = machine.over_pcie ? general.pcie : general.nvlink;
  std::vector<cost::CollectiveCurve> curves;
  for (const CollectiveTable& table : machine.tables) {
    if (table.nodes > 1 || table.message) continue;
    std::optional<Seconds> latency;
    if (!starts_small(table)) latency = latency_of(law, table.kind, table.ranks);
    curves.push_back(fit_tables(table.kind, pool_of(machine, {table}), latency));
  }
  if (curves.empty()) return;
  lend_halves(curves);
  std::stable_sort(curves.begin(), curves.end(),
                   [](const auto& a, const auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; });
  (machine.over_pcie ? measured.pcie : measured.nvlink) =
      cost::InsideNodeLaw{gigabytes_per_second(machine.link_gb_per_s), std::move(curves)};
}

AcrossGivens givens_of(const cost::AcrossNodesCurve& general, const std::vector<CollectiveTable>& tables) {
  AcrossGivens givens{general.two_node_gain, general.latency_per_doubling, std::nullopt};
  if (std::none_of(tables.begin(), tables.end(), starts_small)) givens.latency = general.latency;
  return givens;
}

/// Adds curves across nodes. Measured kinds follow their own tables. The others cross the same fabric, and follow
/// all-reduce if it was measured.
void add_across(cost::MeasuredCollectives& measured, const Machine& machine, const cost::Profile& general) {
  std::vector<CollectiveTable> across;
  for (const CollectiveTable& table : machine.tables)
    if (table.nodes > 1 && !table.message) across.push_back(table);
  if (across.empty()) return;
  const TablePool pool = pool_of(machine, across);
  cost::AcrossNodesLaw law{.lone_rank_factor = general.network.lone_rank_factor};
  std::optional<cost::AcrossNodesCurve> all_reduce;
  for (const CollectiveKind kind : kEveryKind) {
    const auto own = tables_of(pool, kind);
    if (!own.empty())
      law.curves.push_back(
          fit_across_curve(kind, pool, general.nvlink, givens_of(curve_of(general.network, kind), own)));
    else if (all_reduce)
      law.curves.push_back(like_all_reduce(kind, *all_reduce));
    if (kind != kAllReduce || own.empty()) continue;
    all_reduce = law.curves.back();
    law.lone_rank_factor = lone_rank_factor(*all_reduce);
  }
  measured.network = std::move(law);
}

void add_messages(cost::MeasuredCollectives& measured, const Machine& machine, const cost::Profile& general) {
  for (const CollectiveTable& table : machine.tables) {
    if (!table.message) continue;
    const bool crosses = table.nodes > 1;
    const cost::PointToPointLaw& law = general.point_to_point;
    (crosses ? measured.network_message : measured.nvlink_message) =
        fit_messages(pool_of(machine, {table}), crosses, crosses ? law.network.latency : law.nvlink.latency);
  }
}

}  // namespace

cost::MeasuredCollectives measure(const Machine& machine, const cost::Profile& general) {
  cost::MeasuredCollectives measured{
      .name = machine.name, .architecture = machine.architecture, .source = machine.source};
  add_inside(measured, machine, general);
  add_across(measured, machine, general);
  if (!machine.over_pcie) add_messages(measured, machine, general);
  return measured;
}

}  // namespace foretoken::fit
