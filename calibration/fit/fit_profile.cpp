// Part by part: fitted on the samples of that part, or lent.
#include "calibration/fit/fit_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/collective_profiles.h"
#include "calibration/fit/fit_collective.h"
#include "calibration/fit/fit_gemm.h"
#include "calibration/fit/fit_kernels.h"
#include "calibration/fit/own_samples.h"
#include "calibration/fit/profile_notes.h"
#include "calibration/fit/residuals.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastProducts = 100, kLeastKernels = 10, kLeastRows = 8;

/// Evidence of a part that `base` lends.
void lend(cost::Evidence& evidence, const FitRequest& request) {
  if (request.base.gpu == request.gpu || evidence.provenance == cost::Provenance::kAssumed) return;
  evidence = scaled_from(request.base.gpu, "taken over: " + evidence.source);
}

cost::Profile lent(const FitRequest& request) {
  cost::Profile profile = request.base;
  profile.name = profile.gpu = request.gpu;
  for (auto& [precision, law] : profile.gemm) lend(law.evidence, request);
  for (auto& law : profile.attention.laws) lend(law.evidence, request);
  lend(profile.memory_bound.evidence, request);
  for (cost::InsideNodeLaw* inside : {&profile.nvlink, &profile.pcie})
    for (auto& curve : inside->curves) lend(curve.evidence, request);
  for (auto& curve : profile.network.curves) lend(curve.evidence, request);
  lend(profile.point_to_point.evidence, request);
  return profile;
}

/// Where a precision's fit starts: the base's own tile law, or that of 16 bit at the datasheet's ratio of peaks.
std::optional<cost::TileWaveLaw> start_of(const cost::Profile& base, Precision precision) {
  const auto own = base.gemm.find(precision);
  if (own != base.gemm.end())
    if (const auto* law = std::get_if<cost::TileWaveLaw>(&own->second.law)) return *law;
  for (const Precision other : {Precision::kBf16, Precision::kFp16}) {
    const auto found = base.gemm.find(other);
    if (found == base.gemm.end()) continue;
    auto law = std::get<cost::TileWaveLaw>(found->second.law);
    law.peak = FlopPerSecond(law.peak.value() * 2 / bytes_per_element(precision));  // tensor cores: rate x bytes
    return law;
  }
  return std::nullopt;
}

void fit_products(cost::Profile& profile, const measured::Samples& samples, const FitRequest& request) {
  for (const auto& [precision, products] : gemm_samples(samples)) {
    const auto start = start_of(request.base, precision);
    if (!start || products.size() < kLeastProducts) continue;
    cost::GemmLaw law = fit_gemm(products, {.start = *start}, source_of(samples, samples.gemms));
    law.evidence.provenance = provenance_of(samples.gemms);
    const bool weights = std::any_of(products.begin(), products.end(), [](const GemmSample& product) {
      return product.shape.pass == GemmPass::kWeightGradient;
    });
    const auto own = request.base.gemm.find(precision);
    if (!weights && own != request.base.gemm.end()) law.weight_gradient_factor = own->second.weight_gradient_factor;
    profile.gemm[precision] = law;
  }
}

void put(cost::InsideNodeLaw& law, const cost::CollectiveCurve& curve) {
  const auto same = [&](const cost::CollectiveCurve& c) { return c.kind == curve.kind && c.ranks == curve.ranks; };
  law.curves.erase(std::remove_if(law.curves.begin(), law.curves.end(), same), law.curves.end());
  const auto after = std::find_if(law.curves.begin(), law.curves.end(), [&](const cost::CollectiveCurve& c) {
    return c.kind != curve.kind ? c.kind > curve.kind : c.ranks > curve.ranks;
  });
  law.curves.insert(after, curve);
}

void fit_collectives_inside(cost::Profile& profile, const measured::Samples& samples,
                            const std::vector<CollectiveTable>& tables, const FitRequest& request) {
  cost::InsideNodeLaw& law = request.over_pcie ? profile.pcie : profile.nvlink;
  if (request.link_gb_per_s > 0) law.reference = gigabytes_per_second(request.link_gb_per_s);
  for (const CollectiveTable& table : tables) {
    if (table.nodes > 1 || table.rows.size() < kLeastRows || table.rows.front().bytes > 64 << 10) continue;
    cost::CollectiveCurve curve = fit_tables({.tables = {table},
                                              .source = source_of(samples, samples.collectives),
                                              .reference_gb_per_s = law.reference.value() / 1e9});
    curve.evidence.provenance = provenance_of(samples.collectives);
    put(law, curve);
  }
}

void fit_collectives_across(cost::Profile& profile, const measured::Samples& samples,
                            std::vector<CollectiveTable> tables, const FitRequest& request) {
  TablePool pool{.tables = {},
                 .source = source_of(samples, samples.collectives),
                 .reference_gb_per_s = profile.nvlink.reference.value() / 1e9};
  for (CollectiveTable& table : tables) {
    table.nic_gb_per_s = request.nic_gb_per_s;
    if (table.nodes > 1 && table.rows.size() >= kLeastRows) pool.tables.push_back(std::move(table));
  }
  const bool reduced = std::any_of(pool.tables.begin(), pool.tables.end(),
                                   [](const auto& table) { return table.kind == CollectiveKind::kAllReduce; });
  if (request.nic_gb_per_s <= 0 || !reduced) return;
  profile.network = fit_across(pool, profile.nvlink);
  for (cost::AcrossNodesCurve& curve : profile.network.curves)
    if (curve.evidence.provenance == cost::Provenance::kFitted)
      curve.evidence.provenance = provenance_of(samples.collectives);
}

/// Curves of links with another rate, when `base` has other links.
void relink(cost::Profile& profile, const FitRequest& request) {
  cost::InsideNodeLaw& law = request.over_pcie ? profile.pcie : profile.nvlink;
  const double before = law.reference.value() / 1e9;
  if (request.link_gb_per_s <= 0 || request.link_gb_per_s == before) return;
  law = relabelled(law, request.link_gb_per_s,
                   scaled_from(request.base.gpu, fmt::format("link rate {} / {}", request.link_gb_per_s, before)));
}

}  // namespace

cost::Profile fit_profile(const measured::Samples& samples, const FitRequest& request) {
  cost::Profile profile = lent(request);
  relink(profile, request);
  fit_products(profile, samples, request);
  fit_attention_kernels(profile, samples);
  if (samples.kernels.size() >= kLeastKernels) fit_memory_bound(profile, samples);
  const std::vector<CollectiveTable> tables = collective_tables(samples);
  fit_collectives_inside(profile, samples, tables, request);
  fit_collectives_across(profile, samples, tables, request);
  profile.notes = notes_of(profile);
  return profile;
}

}  // namespace foretoken::fit
