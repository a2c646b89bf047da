// Fits curves inside a node: one per kind and group size.
#include <algorithm>
#include <cmath>

#include "calibration/fit/laws/fit_collective.h"
#include "sim/base/check.h"
#include "sim/cost/kernels/smooth_law.h"

namespace foretoken::fit {
namespace {

using enum CollectiveKind;
constexpr double kHighestAsymptote = 1.3;  // relative to the plateau; a larger one only trades with the spread

/// Returns the highest bus bandwidth, in GB/s, as the links of the pool would carry it.
double highest_bus(const std::vector<CollectiveRow>& rows, const TablePool& pool) {
  double highest = 0;
  for (const CollectiveRow& row : rows) {
    const double scale = gigabytes_per_second(pool.reference_gb_per_s) / row.links.nvlink_per_gpu;
    highest = std::max(highest, scale * cost::ring_bytes(row.shape).value() / row.seconds / 1e9);
  }
  return highest;
}

/// Returns a law in which every kind has the same curve.
cost::Profile profile_with(const cost::CollectiveCurve& curve, double reference) {
  cost::InsideNodeLaw law{.reference = gigabytes_per_second(reference)};
  for (const CollectiveKind each : kEveryKind) {
    law.curves.push_back(curve);
    law.curves.back().kind = each;
  }
  return {.nvlink = std::move(law)};
}

/// Returns the curve with its correction at each size. Its evidence comes from rows that neither the curve nor its
/// correction used. The final correction uses these rows, too, because a table has only a row or two per octave.
cost::CollectiveCurve corrected(cost::CollectiveCurve curve, const std::vector<CollectiveRow>& rows,
                                const TablePool& pool) {
  const cost::Profile smooth = profile_with(curve, pool.reference_gb_per_s);
  const SplitRows parts = split(rows);
  curve.correction = correction_of(smooth, parts.fitted, pool);
  curve.evidence = evidence(pool.source, parts.fitted.size(),
                            outcomes(parts.left_out, profile_with(curve, pool.reference_gb_per_s)));
  curve.correction = correction_of(smooth, rows, pool);
  return curve;
}

/// `latency` is known beforehand, or absent when the tables show it.
cost::CollectiveCurve fit_curve(CollectiveKind kind, int ranks, const std::vector<CollectiveTable>& tables,
                                const TablePool& pool, std::optional<Seconds> latency) {
  const std::vector<CollectiveRow> rows = rows_of(tables, pool);
  const double plateau = highest_bus(rows, pool);
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
  return corrected(curve_of(fit_rows(rows, profile_of, start)), rows, pool);
}

/// Returns the latency at `ranks` on the straight line over the steps of a ring through the two nearest curves of the
/// kind. With one curve it grows with the square root of the ranks (24 us of eight A100, 12 us of two).
std::optional<Seconds> latency_in_line(const std::vector<cost::CollectiveCurve>& curves, int ranks) {
  std::vector<const cost::CollectiveCurve*> nearest;
  for (const cost::CollectiveCurve& curve : curves) nearest.push_back(&curve);
  const auto distance = [&](const cost::CollectiveCurve* c) { return std::abs(std::log2(1.0 * c->ranks / ranks)); };
  std::stable_sort(nearest.begin(), nearest.end(), [&](auto* a, auto* b) { return distance(a) < distance(b); });
  if (nearest.empty()) return std::nullopt;
  const cost::CollectiveCurve& first = *nearest[0];
  if (nearest.size() == 1) return Seconds(rounded(std::sqrt(1.0 * ranks / first.ranks) * first.latency.value()));
  const Seconds slope = (nearest[1]->latency - first.latency) / (nearest[1]->ranks - first.ranks);
  const Seconds latency = first.latency + (ranks - first.ranks) * slope;
  return Seconds(rounded(std::max(latency, 0.6 * first.latency).value()));
}

std::optional<Seconds> latency_from(const cost::InsideNodeLaw* law, CollectiveKind kind, int ranks) {
  if (!law) return std::nullopt;
  for (const cost::CollectiveCurve& curve : law->curves)
    if (curve.kind == kind && curve.ranks == ranks) return curve.latency;
  return std::nullopt;
}

/// Fits curves of one kind at every power of two that was measured. Curves that show their latency come first. Without
/// small messages, other group sizes and `latencies`, the latency is the rest that the large messages leave.
std::vector<cost::CollectiveCurve> fit_kind(CollectiveKind kind, const TablePool& pool,
                                            const cost::InsideNodeLaw* latencies) {
  std::vector<cost::CollectiveCurve> curves;
  for (const bool shown : {true, false}) {
    const std::vector<cost::CollectiveCurve> known = curves;
    for (int ranks = 2; ranks <= 64; ranks *= 2) {
      const auto tables = tables_of(pool, kind, ranks);
      const auto shows = [&](const CollectiveTable& table) { return shows_latency(table, pool); };
      if (tables.empty() || std::any_of(tables.begin(), tables.end(), shows) != shown) continue;
      std::optional<Seconds> latency;
      if (!shown) latency = latency_from(latencies, kind, ranks);
      if (!shown && !latency) latency = latency_in_line(known, ranks);
      curves.push_back(fit_curve(kind, ranks, tables, pool, latency));
    }
  }
  return curves;
}

/// Returns the curves of another kind under this kind's name.
std::vector<cost::CollectiveCurve> borrowed(CollectiveKind kind, std::vector<cost::CollectiveCurve> curves,
                                            double latency_share, const char* source) {
  for (cost::CollectiveCurve& curve : curves) {
    curve.kind = kind;
    curve.latency = Seconds(rounded(latency_share * curve.latency.value()));
    if (source) curve.evidence = assumed(source);
  }
  return curves;
}

}  // namespace

cost::InsideNodeLaw fit_inside(const TablePool& pool, const cost::InsideNodeLaw* latencies) {
  const auto all_reduce = fit_kind(kAllReduce, pool, latencies);
  auto all_gather = fit_kind(kAllGather, pool, latencies);
  auto all_to_all = fit_kind(kAllToAll, pool, latencies);
  const char* halved = "as all-reduce with half its latency (half the steps of its ring)";
  if (all_gather.empty()) all_gather = borrowed(kAllGather, all_reduce, 0.5, halved);
  if (all_to_all.empty()) all_to_all = borrowed(kAllToAll, all_reduce, 0.5, halved);
  for (cost::CollectiveCurve& curve : all_gather)
    curve.evidence.source += "; broadcast and reduce assumed like all-gather";
  cost::InsideNodeLaw law{.reference = gigabytes_per_second(pool.reference_gb_per_s)};
  for (const auto& curves : {all_reduce, all_gather, borrowed(kReduceScatter, all_gather, 1, nullptr), all_to_all,
                             borrowed(kBroadcast, all_gather, 1, nullptr), borrowed(kReduce, all_gather, 1, nullptr)})
    law.curves.insert(law.curves.end(), curves.begin(), curves.end());
  std::stable_sort(law.curves.begin(), law.curves.end(),
                   [](const auto& a, const auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; });
  return law;
}

cost::CollectiveCurve fit_tables(CollectiveKind kind, const TablePool& pool, std::optional<Seconds> latency) {
  expects(pool.one_machine && !pool.tables.empty(), "a measured curve rests on one machine's tables");
  return fit_curve(kind, pool.tables.front().ranks, pool.tables, pool, latency);
}

}  // namespace foretoken::fit
