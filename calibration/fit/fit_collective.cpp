// One curve per kind and group size inside a node, one per kind across nodes.
//
// Tables come from many machines. Some harnesses (one process for eight GPUs, Python) add tens of microseconds to every
// call. A table whose floor is 1.6 times the lowest of its peers, or that has no small messages to show its floor,
// enters with its large messages only; the latency then has to come from elsewhere.
#include "calibration/fit/fit_collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/fit_size_correction.h"
#include "calibration/fit/minimise.h"
#include "calibration/fit/residuals.h"
#include "sim/base/check.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

using enum CollectiveKind;
constexpr CollectiveKind kKinds[] = {kAllReduce, kAllGather, kReduceScatter, kAllToAll, kBroadcast};
constexpr double kSmallest = 8 << 10;  // below, only the floor is measured
// Tree latency per doubling of nodes, 2 x network latency of the LL and Simple protocols (nccl src/graph/tuning.cc),
// us.
constexpr double kLeastDoubling = 10, kMostDoubling = 28;
constexpr double kBeyondOverhead = 16 << 20;  // sizes that a slow harness still measures rightly
constexpr double kSlowHarness = 1.6;
constexpr double kHighestAsymptote = 1.3;  // over the plateau; more only trades with the spread

struct Sample {
  CollectiveShape shape;
  NodeLinks links;
  double seconds = 0, bus_gb_per_s = 0;
  std::string key;
};

double floor_of(const CollectiveTable& table) {
  double least = 1;
  for (const auto& row : table.rows) least = std::min(least, row.seconds);
  return least;
}

bool starts_small(const CollectiveTable& table) { return !table.rows.empty() && table.rows.front().bytes <= 64 << 10; }

double lowest_floor(const std::vector<CollectiveTable>& tables) {
  double lowest = 1;
  for (const CollectiveTable& table : tables)
    if (starts_small(table)) lowest = std::min(lowest, floor_of(table));
  return lowest;
}

std::vector<Sample> samples_of(const std::vector<CollectiveTable>& tables, double reference) {
  const double lowest = lowest_floor(tables);
  std::vector<Sample> samples;
  for (const CollectiveTable& table : tables) {
    const bool slow = !starts_small(table) || floor_of(table) > kSlowHarness * lowest;
    for (const auto& row : table.rows) {
      if (row.bytes < (slow ? kBeyondOverhead : kSmallest)) continue;
      const GroupShape group{.ranks = table.ranks, .nodes = table.nodes, .ranks_per_node = table.ranks_per_node};
      samples.push_back({{table.kind, Bytes(row.bytes), group},
                         links_of(table, reference),
                         row.seconds,
                         row.bus_gb_per_s,
                         fmt::format("{} {}", table.id, row.bytes)});
    }
  }
  return samples;
}

using ProfileOf = std::function<cost::Profile(const Arguments&)>;

std::vector<Outcome> outcomes(const std::vector<Sample>& samples, const cost::Profile& profile) {
  std::vector<Outcome> all;
  for (const Sample& sample : samples)
    all.push_back({cost::collective_time(sample.shape, sample.links, profile).value(), sample.seconds});
  return all;
}

/// Best arguments on four fifths of the samples, and the evidence from the last fifth.
Arguments fit(const std::vector<Sample>& samples, const ProfileOf& profile_of, const Arguments& start,
              const std::string& source, cost::Evidence& proof) {
  std::vector<Sample> fitted, apart;
  for (const Sample& sample : samples) (held_out(sample.key) ? apart : fitted).push_back(sample);
  const auto objective = [&](const Arguments& at) { return mean_log_error(outcomes(fitted, profile_of(at))); };
  const Arguments best = minimise(objective, start, 0.3, 3000);
  proof = evidence(source, fitted.size(), outcomes(apart, profile_of(best)));
  return best;
}

double highest_bus(const std::vector<Sample>& samples) {
  double highest = 0;
  for (const Sample& sample : samples) highest = std::max(highest, sample.bus_gb_per_s);
  return highest;
}

/// A law in which every kind has the same curve.
cost::Profile profile_with(const cost::CollectiveCurve& curve, double reference) {
  cost::InsideNodeLaw law{.reference = gigabytes_per_second(reference)};
  for (const CollectiveKind each : kKinds) {
    law.curves.push_back(curve);
    law.curves.back().kind = each;
  }
  return {.nvlink = std::move(law)};
}

cost::SizeCorrection correction_of(const cost::Profile& smooth, const std::vector<Sample>& samples) {
  std::vector<SizePull> pulls;
  for (const Sample& sample : samples) {
    const Seconds law = cost::collective_time(sample.shape, sample.links, smooth);
    pulls.push_back({sample.shape.payload.value(), std::log(sample.seconds / law.value())});
  }
  return fit_size_correction(pulls, [&](double bytes) {
    CollectiveShape shape = samples.front().shape;
    shape.payload = Bytes(bytes);
    return cost::collective_time(shape, samples.front().links, smooth).value();
  });
}

/// The curve with what it misses at each size. Its evidence comes from samples that neither the curve nor its
/// correction saw; the correction that is kept then has them too, since a table has only a row or two per octave.
cost::CollectiveCurve corrected(cost::CollectiveCurve curve, const std::vector<Sample>& samples,
                                const TablePool& pool) {
  const cost::Profile smooth = profile_with(curve, pool.reference_gb_per_s);
  std::vector<Sample> fitted, apart;
  for (const Sample& sample : samples) (held_out(sample.key) ? apart : fitted).push_back(sample);
  curve.correction = correction_of(smooth, fitted);
  curve.evidence = evidence(pool.source, fitted.size(), outcomes(apart, profile_with(curve, pool.reference_gb_per_s)));
  curve.correction = correction_of(smooth, samples);
  return curve;
}

/// `latency`: known beforehand, or nothing when the tables show it.
cost::CollectiveCurve fit_curve(CollectiveKind kind, int ranks, const std::vector<CollectiveTable>& tables,
                                const TablePool& pool, std::optional<Seconds> latency) {
  const std::vector<Sample> samples = samples_of(tables, pool.reference_gb_per_s);
  const double plateau = highest_bus(samples);
  const auto curve_of = [&](const Arguments& at) {
    return cost::CollectiveCurve{
        .kind = kind,
        .ranks = ranks,
        .latency = latency ? *latency : microseconds(rounded(std::exp(at[2]))),
        .bandwidth = gigabytes_per_second(rounded(plateau * std::clamp(at[0], 1.0, kHighestAsymptote))),
        .spread = rounded(1e-3 * std::exp(at[1])),
        .plateau = gigabytes_per_second(rounded(plateau))};
  };
  const ProfileOf profile_of = [&](const Arguments& at) { return profile_with(curve_of(at), pool.reference_gb_per_s); };
  Arguments start{1.1, 1.0};
  if (!latency) start.push_back(std::log(lowest_floor(tables) * 1e6));
  cost::Evidence smooth_proof;
  const Arguments best = fit(samples, profile_of, start, pool.source, smooth_proof);
  return corrected(curve_of(best), samples, pool);
}

/// Latency at `ranks` on the straight line over log2(ranks) through the two nearest curves of the kind.
std::optional<Seconds> latency_in_line(const std::vector<cost::CollectiveCurve>& curves, int ranks) {
  std::vector<const cost::CollectiveCurve*> nearest;
  for (const cost::CollectiveCurve& curve : curves) nearest.push_back(&curve);
  const auto distance = [&](const cost::CollectiveCurve* c) { return std::abs(std::log2(1.0 * c->ranks / ranks)); };
  std::stable_sort(nearest.begin(), nearest.end(), [&](auto* a, auto* b) { return distance(a) < distance(b); });
  if (nearest.size() < 2) return std::nullopt;
  const double doublings = std::log2(1.0 * nearest[1]->ranks / nearest[0]->ranks);
  const Seconds slope = (nearest[1]->latency - nearest[0]->latency) / doublings;
  const Seconds latency = nearest[0]->latency + std::log2(1.0 * ranks / nearest[0]->ranks) * slope;
  return Seconds(rounded(std::max(latency, 0.6 * nearest[0]->latency).value()));
}

std::optional<Seconds> latency_from(const cost::InsideNodeLaw* law, CollectiveKind kind, int ranks) {
  if (!law) return std::nullopt;
  for (const cost::CollectiveCurve& curve : law->curves)
    if (curve.kind == kind && curve.ranks == ranks) return curve.latency;
  return std::nullopt;
}

/// All-gather and reduce-scatter run the same ring in opposite directions and share their tables.
bool akin(CollectiveKind a, CollectiveKind b) {
  const auto half = [](CollectiveKind kind) { return kind == kAllGather || kind == kReduceScatter; };
  return a == b || (half(a) && half(b));
}

/// Tables of a kind; of any number of ranks when `ranks` is 0.
std::vector<CollectiveTable> tables_of(const TablePool& pool, CollectiveKind kind, int ranks) {
  std::vector<CollectiveTable> found;
  for (const CollectiveTable& table : pool.tables)
    if (akin(table.kind, kind) && (ranks == 0 || table.ranks == ranks)) found.push_back(table);
  return found;
}

/// Curves of one kind at every power of two that was measured: those that show their latency first.
std::vector<cost::CollectiveCurve> fit_kind(CollectiveKind kind, const TablePool& pool,
                                            const cost::InsideNodeLaw* latencies) {
  std::vector<cost::CollectiveCurve> curves;
  for (const bool shown : {true, false}) {
    const std::vector<cost::CollectiveCurve> known = curves;
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
      const auto tables = tables_of(pool, kind, ranks);
      if (tables.empty() || std::any_of(tables.begin(), tables.end(), starts_small) != shown) continue;
      std::optional<Seconds> latency;
      if (!shown) latency = latency_from(latencies, kind, ranks);
      if (!shown && !latency) latency = latency_in_line(known, ranks);
      expects(shown || latency.has_value(), "a latency is measured, given, or follows from two other group sizes");
      curves.push_back(fit_curve(kind, ranks, tables, pool, latency));
    }
  }
  return curves;
}

/// The curves of another kind under this one's name.
std::vector<cost::CollectiveCurve> borrowed(CollectiveKind kind, std::vector<cost::CollectiveCurve> curves,
                                            double latency_share, const char* source) {
  for (cost::CollectiveCurve& curve : curves) {
    curve.kind = kind;
    curve.latency = Seconds(rounded(latency_share * curve.latency.value()));
    if (source) curve.evidence = assumed(source);
  }
  return curves;
}

cost::AcrossNodesCurve across_curve_of(CollectiveKind kind, const Arguments& at, const AcrossGivens& givens) {
  const double doubling_us = rounded(std::clamp(std::exp(at[3]), kLeastDoubling, kMostDoubling));
  return {.kind = kind,
          .latency = microseconds(rounded(std::exp(at[0]))),
          .latency_per_doubling = givens.doubling ? *givens.doubling : microseconds(doubling_us),
          .efficiency = rounded(std::min(1.0, std::exp(at[1]))),
          .spread = rounded(1e-3 * std::exp(at[2])),
          .plateau_efficiency = 1,
          .two_node_gain = givens.two_node_gain ? *givens.two_node_gain : rounded(1 + std::exp(at[4]))};
}

cost::AcrossNodesCurve fit_across_curve(CollectiveKind kind, const TablePool& pool, const cost::InsideNodeLaw& inside,
                                        const AcrossGivens& givens) {
  const ProfileOf profile_of = [&](const Arguments& at) {
    cost::AcrossNodesLaw law;
    for (const CollectiveKind each : kKinds) law.curves.push_back(across_curve_of(each, at, givens));
    return cost::Profile{.nvlink = inside, .network = std::move(law)};
  };
  cost::Evidence proof;
  const Arguments best = fit(samples_of(tables_of(pool, kind, 0), pool.reference_gb_per_s), profile_of,
                             {std::log(25.0), std::log(0.97), 2.0, std::log(15.0), std::log(0.2)}, pool.source, proof);
  cost::AcrossNodesCurve curve = across_curve_of(kind, best, givens);
  curve.evidence = proof;
  return curve;
}

}  // namespace

NodeLinks links_of(const CollectiveTable& table, double link_gb_per_s) {
  return {.nvlink_per_gpu = gigabytes_per_second(link_gb_per_s),
          .pcie_per_gpu = gigabytes_per_second(link_gb_per_s),
          .nic = gigabytes_per_second(table.nic_gb_per_s / 8),
          .nics = 8,
          .gpus = 8,
          .oversubscription = 1,
          .hop_latency = Seconds(0)};
}

cost::InsideNodeLaw fit_inside(const TablePool& pool, const cost::InsideNodeLaw* latencies) {
  const auto all_reduce = fit_kind(kAllReduce, pool, latencies);
  auto all_gather = fit_kind(kAllGather, pool, latencies);
  auto all_to_all = fit_kind(kAllToAll, pool, latencies);
  const char* halved = "as all-reduce with half its latency (half the steps of its ring)";
  if (all_gather.empty()) all_gather = borrowed(kAllGather, all_reduce, 0.5, halved);
  if (all_to_all.empty()) all_to_all = borrowed(kAllToAll, all_reduce, 0.5, halved);
  for (cost::CollectiveCurve& curve : all_gather) curve.evidence.source += "; broadcast assumed like all-gather";
  cost::InsideNodeLaw law{.reference = gigabytes_per_second(pool.reference_gb_per_s)};
  for (const auto& curves : {all_reduce, all_gather, borrowed(kReduceScatter, all_gather, 1, nullptr), all_to_all,
                             borrowed(kBroadcast, all_gather, 1, nullptr)})
    law.curves.insert(law.curves.end(), curves.begin(), curves.end());
  std::stable_sort(law.curves.begin(), law.curves.end(),
                   [](const auto& a, const auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; });
  return law;
}

cost::CollectiveCurve fit_tables(const TablePool& pool) {
  expects(std::any_of(pool.tables.begin(), pool.tables.end(), starts_small), "some table shows its latency");
  const CollectiveTable& first = pool.tables.front();
  return fit_curve(first.kind, first.ranks, pool.tables, pool, std::nullopt);
}

double highest_two_node_gain(const TablePool& pool) {
  double highest = 1;
  for (const CollectiveTable& table : tables_of(pool, kAllReduce, 0))
    for (const auto& row : table.rows)
      if (table.nodes == 2) highest = std::max(highest, row.bus_gb_per_s / table.nic_gb_per_s);
  return rounded(highest, 3);
}

cost::AcrossNodesLaw fit_across(const TablePool& pool, const cost::InsideNodeLaw& inside, const AcrossGivens& givens) {
  const cost::AcrossNodesCurve all_reduce = fit_across_curve(kAllReduce, pool, inside, givens);
  // No table measures one rank per node. 0.85 of the NIC rate, set beforehand, agreed with published iteration times.
  cost::AcrossNodesLaw law{.lone_rank_factor = rounded(std::min(1.0, 0.85 / all_reduce.efficiency), 3)};
  AcrossGivens one_ring = givens;
  one_ring.two_node_gain = 1;
  one_ring.doubling = 0.5 * all_reduce.latency_per_doubling;  // the other kinds' tables all have two nodes
  for (const CollectiveKind kind : kKinds) {
    if (kind == kAllReduce || !tables_of(pool, kind, 0).empty()) {
      law.curves.push_back(kind == kAllReduce ? all_reduce : fit_across_curve(kind, pool, inside, one_ring));
      continue;
    }
    // A ring all-reduce is a reduce-scatter and an all-gather, so each has half its steps.
    cost::AcrossNodesCurve curve = all_reduce;
    curve.kind = kind;
    curve.latency = 0.5 * curve.latency;
    curve.latency_per_doubling = 0.5 * curve.latency_per_doubling;
    curve.two_node_gain = 1;
    curve.evidence = assumed("as all-reduce with half its latency");
    law.curves.push_back(curve);
  }
  return law;
}

cost::AcrossNodesLaw checked(cost::AcrossNodesLaw law, const TablePool& pool, const cost::InsideNodeLaw& inside,
                             const cost::Evidence& origin) {
  for (cost::AcrossNodesCurve& curve : law.curves) {
    const auto samples = samples_of(tables_of(pool, curve.kind, 0), pool.reference_gb_per_s);
    const auto apart = outcomes(samples, {.nvlink = inside, .network = law});
    curve.evidence = evidence(origin.source + (apart.empty() ? "" : "; checked on " + pool.source), 0, apart);
    curve.evidence.provenance = origin.provenance;
    curve.evidence.scaled_from = origin.scaled_from;
  }
  return law;
}

}  // namespace foretoken::fit
