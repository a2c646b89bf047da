// Scales a base profile by ratios of datasheets, or of measured products where a GPU has no datasheet.
#include "calibration/fit/profiles/lend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/collectives/relabel.h"
#include "calibration/fit/numerics/residuals.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

BytesPerSecond times(double factor, BytesPerSecond rate) { return BytesPerSecond(rounded(factor * rate.value())); }
FlopPerSecond times(double factor, FlopPerSecond rate) { return FlopPerSecond(rounded(factor * rate.value())); }

/// Returns the 16-bit rate of a datasheet, which every GPU states.
std::optional<FlopPerSecond> peak_16bit(const net::Gpu& gpu) {
  const auto fp16 = gpu.peak_of(Precision::kFp16);
  return fp16 ? fp16 : gpu.peak_of(Precision::kBf16);
}

struct Lender {
  const FitRequest& request;
  const Ratios& ratios;

  void mark(cost::Evidence& evidence, const std::string& how) const {
    if (evidence.provenance == cost::Provenance::kAssumed) return;
    evidence = scaled_from(request.base.gpu, fmt::format("{}; {}", how, evidence.source));
  }
  void take_over(cost::Evidence& evidence) const { mark(evidence, "taken over"); }
  void lend(cost::GemmLaw& gemm) const {
    if (auto* tiles = std::get_if<cost::TileWaveLaw>(&gemm.law)) {
      const int before = tiles->multiprocessors;
      tiles->peak = times(ratios.compute, tiles->peak);
      tiles->memory_bandwidth = times(ratios.memory, tiles->memory_bandwidth);
      tiles->multiprocessors = ratios.multiprocessors.value_or(before);
      if (tiles->multiprocessors != before) gemm.corrections = {};  // waves of another length
    } else {
      auto& roofline = std::get<cost::RooflineLaw>(gemm.law);
      roofline.compute_rate = times(ratios.compute, roofline.compute_rate);
      roofline.memory_bandwidth = times(ratios.memory, roofline.memory_bandwidth);
    }
    if (gemm.grouped) {
      gemm.grouped->memory_bandwidth = times(ratios.memory, gemm.grouped->memory_bandwidth);
      mark(gemm.grouped->evidence, ratios.source);
    }
    mark(gemm.evidence, ratios.source);
  }
  void lend(cost::AttentionLaws& attention) const {
    attention.multiprocessors = ratios.multiprocessors.value_or(attention.multiprocessors);
    for (auto* laws : {&attention.laws, &attention.fp8, &attention.serving})
      for (cost::AttentionLaw& law : *laws) {
        law.forward.peak = times(ratios.compute, law.forward.peak);
        law.backward.peak = times(ratios.compute, law.backward.peak);
        law.engines.clear();  // measured on another memory
        mark(law.evidence, ratios.source);
      }
  }
  void lend(cost::MemoryBoundLaw& law) const {
    law.bandwidth = times(ratios.memory, law.bandwidth);
    mark(law.evidence, ratios.source);
  }
  void lend(cost::InsideNodeLaw& law, bool of_the_links) const {
    const double before = law.reference.value() / 1e9, rate = request.link_gb_per_s;
    for (cost::CollectiveCurve& curve : law.curves) take_over(curve.evidence);
    if (!of_the_links || rate <= 0 || rate == before) return;
    law = relabelled(law, rate, scaled_from(request.base.gpu, fmt::format("link rate {} / {}", rate, before)));
  }
};

}  // namespace

std::optional<Ratios> datasheet_ratios(const FitRequest& request) {
  if (!request.datasheet || !request.base_datasheet) return std::nullopt;
  const net::Gpu &own = *request.datasheet, &base = *request.base_datasheet;
  const auto peak = peak_16bit(own), base_peak = peak_16bit(base);
  if (!peak || !base_peak) return std::nullopt;
  const auto whole = [](double rate, double unit) { return std::round(10 * rate / unit) / 10; };
  return Ratios{.compute = *peak / *base_peak,
                .memory = own.memory_bandwidth / base.memory_bandwidth,
                .multiprocessors = own.streaming_multiprocessors,
                .source = fmt::format("dense peak {} / {}, memory bandwidth {} / {}", whole(peak->value(), 1e12),
                                      whole(base_peak->value(), 1e12), whole(own.memory_bandwidth.value(), 1e9),
                                      whole(base.memory_bandwidth.value(), 1e9))};
}

std::optional<Ratios> measured_ratios(const cost::Profile& base, const std::vector<measured::GemmSample>& products) {
  std::vector<double> compute, memory;
  for (const measured::GemmSample& product : products) {
    const GemmShape& s = product.shape;
    if (base.gemm.count(s.precision) == 0) continue;
    const double ratio = cost::gemm_time(s, base).value() / product.time.median.value();
    const auto [least, most] = std::minmax({s.m, s.n, s.k});
    if (least >= 1024) compute.push_back(ratio);                // bound by operations
    if (least <= 64 && most >= 16384) memory.push_back(ratio);  // bound by one large matrix
  }
  const auto median = [](std::vector<double>& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return rounded(*middle, 3);
  };
  if (compute.empty()) return std::nullopt;
  Ratios ratios{.compute = median(compute)};
  ratios.memory = memory.empty() ? ratios.compute : median(memory);
  ratios.source =
      fmt::format("speed of measured products {}, of those bound by memory {}", ratios.compute, ratios.memory);
  return ratios;
}

cost::Profile profile_from_base(const FitRequest& request, const Ratios& ratios) {
  cost::Profile profile = request.base;
  profile.name = profile.gpu = request.gpu;
  profile.host.reset();  // belongs to another machine
  const bool same = request.base.gpu == request.gpu;
  const Lender lender{request, ratios};
  if (!same) {
    for (auto& [precision, law] : profile.gemm) lender.lend(law);
    if (request.datasheet)
      std::erase_if(profile.gemm, [&](const auto& law) { return !request.datasheet->peak_of(law.first); });
    cost::Evidence& rows = profile.misaligned_rows.evidence;
    if (rows.provenance == cost::Provenance::kFitted) rows = assumed("the slowdown of " + request.base.gpu);
    lender.lend(profile.attention);
    profile.memory_bound.bandwidth =
        request.datasheet ? request.datasheet->memory_bandwidth : times(ratios.memory, profile.memory_bound.bandwidth);
    if (request.datasheet)
      lender.mark(profile.memory_bound.evidence, ratios.source);
    else
      profile.memory_bound.evidence = scaled_from(request.base.gpu, ratios.source);
    if (profile.quantisation) {
      lender.lend(profile.quantisation->cast);
      lender.lend(profile.quantisation->scan);
    }
    for (cost::AcrossNodesCurve& curve : profile.network.curves) lender.take_over(curve.evidence);
    for (auto* path : {&profile.point_to_point.nvlink, &profile.point_to_point.pcie, &profile.point_to_point.network})
      lender.take_over(path->evidence);
    const BytesPerSecond before = profile.nvlink.reference;
    const bool stated = request.link_gb_per_s > 0 && !request.over_pcie;
    if (request.over_pcie) profile.exchanges.clear();  // these libraries need NVLink
    lend_exchanges(profile.exchanges, request.base.gpu, stated ? gigabytes_per_second(request.link_gb_per_s) : before,
                   before);
    lender.lend(profile.nvlink, !request.over_pcie);
    lender.lend(profile.pcie, request.over_pcie);
  }
  return profile;
}

void lend_exchanges(std::vector<cost::ExchangeLaw>& laws, const std::string& from, BytesPerSecond links,
                    BytesPerSecond links_before) {
  const double faster = links / links_before;
  const auto mark = [&](cost::Evidence& evidence, std::string_view how) {
    if (evidence.provenance == cost::Provenance::kScaled) return;  // names its GPU already
    evidence = scaled_from(from, fmt::format("{}; {}", how, evidence.source));
  };
  for (cost::ExchangeLaw& law : laws) {
    law.link = times(faster, law.link);
    mark(law.evidence, faster == 1 ? "taken over"
                                   : fmt::format("link rate {} / {}", links.value() / 1e9, links_before.value() / 1e9));
    if (law.across) mark(law.across->evidence, "taken over");
  }
}

bool has_scaled_products(const cost::Profile& profile) {
  return std::any_of(profile.gemm.begin(), profile.gemm.end(), [](const auto& law) {
    return bits_per_element(law.first) == 16 && law.second.evidence.provenance == cost::Provenance::kScaled;
  });
}

std::optional<cost::TileWaveLaw> start_of(const FitRequest& request, const Ratios& ratios, Precision precision) {
  std::optional<cost::TileWaveLaw> law;
  for (const Precision other : {precision, Precision::kBf16, Precision::kFp16}) {
    const auto found = request.base.gemm.find(other);
    if (found == request.base.gemm.end() || law) continue;
    const auto* tiles = std::get_if<cost::TileWaveLaw>(&found->second.law);
    if (tiles == nullptr) continue;
    law = *tiles;
    law->peak = law->peak * (static_cast<double>(bits_per_element(other)) /
                             static_cast<double>(bits_per_element(precision)));  // tensor cores: rate x width
  }
  if (!law) return std::nullopt;
  law->sustained_factor = 1;  // samples are short runs; a long run among them gives the factor
  if (request.base.gpu != request.gpu) {
    law->peak = times(ratios.compute, law->peak);
    law->memory_bandwidth = times(ratios.memory, law->memory_bandwidth);
    law->multiprocessors = ratios.multiprocessors.value_or(law->multiprocessors);
  }
  if (request.datasheet) {
    law->multiprocessors = request.datasheet->streaming_multiprocessors;
    if (const auto peak = request.datasheet->peak_of(precision)) law->peak = *peak;
  }
  return law;
}

}  // namespace foretoken::fit
