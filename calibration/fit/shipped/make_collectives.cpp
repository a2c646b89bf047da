// Makes laws of collectives from recipes: fitted on pools of nccl-tests tables, or taken from another profile.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "calibration/fit/collectives/relabel.h"
#include "calibration/fit/laws/fit_collective.h"
#include "calibration/fit/shipped/fitting.h"

namespace foretoken::fit {
namespace {

/// Returns the tables inside one NVLink domain, or the tables across nodes over NICs of a stated rate.
TablePool pool_of(const Recipe& recipe, const TableChoice& choice, bool across, const Tables& tables) {
  TablePool pool{.tables = {}, .source = choice.source, .reference_gb_per_s = choice.link_gb_per_s};
  const auto begins = [](const std::string& text) {
    return [&text](const std::string& start) { return text.starts_with(start); };
  };
  const auto holds = [](const std::string& text) {
    return [&text](const std::string& part) { return text.find(part) != std::string::npos; };
  };
  for (const CollectiveTable& table : tables.collectives(recipe, choice)) {
    const bool ours = std::any_of(choice.gpus.begin(), choice.gpus.end(), begins(table.gpu));
    if (table.message || !ours || (table.nodes > 1) != across || (across && table.nic_gb_per_s <= 0)) continue;
    if (std::none_of(choice.not_over.begin(), choice.not_over.end(), holds(table.network)))
      pool.tables.push_back(table);
  }
  return pool;
}

/// Returns the same tables. Throws ConfigError without a table of all-reduce; other kinds may have none.
TablePool fitted_pool(const Recipe& recipe, const TableChoice& choice, bool across, const Tables& tables) {
  TablePool pool = pool_of(recipe, choice, across, tables);
  if (tables_of(pool, CollectiveKind::kAllReduce).empty())
    refuse(choice.place, fmt::format("no table of all-reduce {} among GPUs whose name begins with {}",
                                     across ? "across nodes" : "inside a node", fmt::join(choice.gpus, " or ")));
  return pool;
}

cost::InsideNodeLaw make_inside(const Recipe& recipe, const InsideFit& fit, Fitting& fitting) {
  const cost::InsideNodeLaw* latencies = fit.latencies ? &fitting.nvlink(*fit.latencies) : nullptr;
  cost::InsideNodeLaw law = fit_inside(fitted_pool(recipe, fit.tables, false, fitting.tables()), latencies);
  if (!fit.measured_on) return law;
  for (cost::CollectiveCurve& curve : law.curves) {  // the errors stay: they are those on the GPU they come from
    if (curve.evidence.provenance != cost::Provenance::kFitted) continue;
    curve.evidence.provenance = cost::Provenance::kScaled;
    curve.evidence.scaled_from = *fit.measured_on;
  }
  return law;
}

double nvlink_gb_per_s(const net::Gpu& gpu, const Place& place) {
  if (!gpu.nvlink) refuse(place, fmt::format("the GPU file of {} states no NVLink", gpu.name));
  return gpu.nvlink->count * gpu.nvlink->each.value() / 1e9;
}

cost::AcrossNodesLaw make_across(const Recipe& recipe, const AcrossFit& fit, Fitting& fitting) {
  const Tables& tables = fitting.tables();
  AcrossGivens givens;
  if (fit.two_node_gain)
    givens.two_node_gain = highest_two_node_gain(pool_of(recipe, *fit.two_node_gain, true, tables));
  if (fit.latency_per_doubling)
    givens.doubling = fitting.network(*fit.latency_per_doubling).curves.front().latency_per_doubling;
  const TablePool pool = fitted_pool(recipe, fit.tables, true, tables);
  return fit_across(pool, fitting.nvlink({recipe.name, fit.tables.place}), givens);
}

cost::AcrossNodesLaw make_across(const Recipe& recipe, const AcrossOfProfile& from, Fitting& fitting) {
  cost::AcrossNodesLaw law = fitting.network(from.from);
  if (from.checked_on)
    return checked(law, pool_of(recipe, *from.checked_on, true, fitting.tables()),
                   fitting.nvlink({recipe.name, from.from.place}), *from.evidence);
  for (cost::AcrossNodesCurve& curve : law.curves) {
    if (from.evidence) curve.evidence = *from.evidence;
    if (!from.with_measured) curve.measured.clear();
  }
  return law;
}

}  // namespace

cost::InsideNodeLaw make_nvlink(const Recipe& recipe, Fitting& fitting) {
  if (const auto* fit = std::get_if<InsideFit>(&recipe.nvlink)) return make_inside(recipe, *fit, fitting);
  const auto& other = std::get<InsideOfProfile>(recipe.nvlink);
  cost::InsideNodeLaw law = fitting.nvlink(other.from);
  if (!other.at_own_rate) return law;
  return relabelled(std::move(law), nvlink_gb_per_s(recipe.gpu, other.from.place), *other.at_own_rate);
}

cost::InsideNodeLaw make_pcie(const Recipe& recipe, Fitting& fitting) {
  if (const auto* fit = std::get_if<InsideFit>(&recipe.pcie)) return make_inside(recipe, *fit, fitting);
  const auto& other = std::get<InsideOfProfile>(recipe.pcie);
  if (other.at_own_rate) refuse(other.from.place, "expected no \"evidence\": curves over PCIe are taken as they are");
  return fitting.pcie(other.from);
}

cost::AcrossNodesLaw make_network(const Recipe& recipe, Fitting& fitting) {
  return std::visit([&](const auto& from) { return make_across(recipe, from, fitting); }, recipe.network);
}

}  // namespace foretoken::fit
