// Part by part: fitted on the samples of that part, or lent.
#include "calibration/fit/fit_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/collective_profiles.h"
#include "calibration/fit/fit_gemm.h"
#include "calibration/fit/fit_kernels.h"
#include "calibration/fit/measured_machine.h"
#include "calibration/fit/own_samples.h"
#include "calibration/fit/profile_notes.h"
#include "calibration/fit/residuals.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kLeastProducts = 100, kLeastKernels = 10, kLeastRows = 2;

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

/// Curves that follow the samples' own tables, in the place of the base's.
void fit_collectives(cost::Profile& profile, const measured::Samples& samples, const FitRequest& request) {
  Machine machine{.name = request.gpu,
                  .architecture = "",
                  .source = source_of(samples, samples.collectives),
                  .tables = {},
                  .over_pcie = request.over_pcie};
  machine.link_gb_per_s = (request.over_pcie ? profile.pcie : profile.nvlink).reference.value() / 1e9;
  for (CollectiveTable& table : collective_tables(samples)) {
    table.source = machine.source;
    table.nic_gb_per_s = request.nic_gb_per_s;
    if (table.rows.size() < kLeastRows || (table.nodes > 1 && request.nic_gb_per_s <= 0)) continue;
    machine.tables.push_back(std::move(table));
  }
  cost::MeasuredCollectives measured = measure(machine, profile);
  const auto stamp = [&](cost::Evidence& evidence) {
    if (evidence.provenance == cost::Provenance::kFitted) evidence.provenance = provenance_of(samples.collectives);
  };
  for (auto* law : {&measured.nvlink, &measured.pcie})
    if (*law)
      for (cost::CollectiveCurve& curve : (*law)->curves) stamp(curve.evidence);
  if (measured.network)
    for (cost::AcrossNodesCurve& curve : measured.network->curves) {
      stamp(curve.evidence);
      for (cost::MeasuredShape& shape : curve.measured) stamp(shape.evidence);
    }
  profile = cost::with_measured(std::move(profile), measured);
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
  fit_collectives(profile, samples, request);
  profile.notes = notes_of(profile);
  return profile;
}

}  // namespace foretoken::fit
