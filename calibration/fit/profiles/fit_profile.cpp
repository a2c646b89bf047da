// Builds a profile part by part: fitted on the samples of the part, or taken from the base.
#include "calibration/fit/profiles/fit_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "calibration/fit/collectives/measured_machine.h"
#include "calibration/fit/collectives/relabel.h"
#include "calibration/fit/laws/fit_exchanges.h"
#include "calibration/fit/laws/fit_gemm.h"
#include "calibration/fit/laws/fit_host.h"
#include "calibration/fit/laws/fit_kernels.h"
#include "calibration/fit/laws/fit_memory_bound.h"
#include "calibration/fit/laws/fit_quantisation.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/layer_time.h"
#include "calibration/fit/profiles/lend.h"
#include "calibration/fit/profiles/own_samples.h"
#include "calibration/fit/shipped/profile_notes.h"
#include "calibration/import/sample_json.h"
#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

constexpr std::size_t kFullTable = 5000;  // products: a grid of 704 knots then has seven at each
constexpr std::size_t kLeastProducts = 100, kLeastSteady = 50, kLeastKernels = 10, kLeastRows = 2;

/// Sorts samples by the measured work, then by the result, so that the order of files does not matter.
template <class T>
void sort_samples(std::vector<measured::From<T>>& samples) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  for (std::size_t i = 0; i < samples.size(); ++i)
    lines.emplace_back(measured::line_of(measured::Sample(static_cast<const T&>(samples[i]))), i);
  std::sort(lines.begin(), lines.end());
  std::vector<measured::From<T>> sorted;
  for (const auto& [line, index] : lines) sorted.push_back(samples[index]);
  samples = std::move(sorted);
}

std::vector<measured::GemmSample> all_products(
    const std::map<Precision, std::vector<measured::GemmSample>>& by_precision) {
  std::vector<measured::GemmSample> all;
  for (const auto& [precision, products] : by_precision) all.insert(all.end(), products.begin(), products.end());
  return all;
}

/// Returns the ratios of the datasheets, or without them the ratios of the products. The multiprocessors are the number
/// that the measuring program counted, or that the products suggest.
Ratios ratios_of(const FitRequest& request, const measured::Samples& samples,
                 const std::map<Precision, std::vector<measured::GemmSample>>& products) {
  if (request.base.gpu == request.gpu) return {};
  if (const auto ratios = datasheet_ratios(request)) return *ratios;
  Ratios ratios = measured_ratios(request.base, all_products(products)).value_or(Ratios{});
  ratios.multiprocessors =
      request.datasheet ? request.datasheet->streaming_multiprocessors : counted_multiprocessors(samples);
  for (const auto& [precision, some] : products) {
    const auto start = start_of(request, ratios, precision);
    if (!ratios.multiprocessors && start && steady_count(some) >= kLeastSteady)
      ratios.multiprocessors = likely_multiprocessors(some, *start);
  }
  return ratios;
}

// Distances of profiles that could lend, in octaves of the peak. Any peak is nearer than a scaled profile, and a scaled
// profile is nearer than another architecture.
constexpr double kNoRateInCommon = 100, kScaledDistance = 500, kOtherArchitecture = 1000;

/// Returns the octaves between two peaks.
double distance_of(const net::Gpu& own, const std::optional<net::Gpu>& other) {
  if (!other) return std::numeric_limits<double>::infinity();
  double octaves = kNoRateInCommon;
  for (const Precision precision : {Precision::kFp16, Precision::kBf16})
    if (own.peak_of(precision) && other->peak_of(precision))
      octaves = std::abs(std::log2(*own.peak_of(precision) / *other->peak_of(precision)));
  return octaves + (own.architecture == other->architecture ? 0 : kOtherArchitecture);
}

/// Returns the mean distance of the products' log ratios from their median.
double distance_of(const std::vector<measured::GemmSample>& products, const cost::Profile& profile) {
  std::vector<double> logs;
  for (const measured::GemmSample& product : products)
    if (profile.gemm.count(product.shape.precision) > 0)
      logs.push_back(std::log(product.time.median.value() / cost::gemm_time(product.shape, profile).value()));
  if (logs.empty()) return std::numeric_limits<double>::infinity();
  std::sort(logs.begin(), logs.end());
  const double middle = logs[logs.size() / 2];
  double sum = 0;
  for (const double value : logs) sum += std::abs(value - middle);
  return sum / static_cast<double>(logs.size());
}

/// Checks the peak. Products faster than a datasheet's rate belong to another GPU. A guessed peak may be exceeded; it
/// was only a scale.
void check_peak(cost::GemmLaw& law, Precision precision, const FitRequest& request) {
  auto& tiles = std::get<cost::TileWaveLaw>(law.law);
  if (tiles.efficiency <= 1) return;
  if (!request.datasheet || !request.datasheet->peak_of(precision)) {
    tiles.peak = FlopPerSecond(rounded(tiles.efficiency * tiles.peak.value()));
    tiles.efficiency = 1;
    return;
  }
  throw ConfigError({{"--gpu " + request.gpu, "/peak_tflops/" + std::string(name_of(precision)),
                      fmt::format("the products reach {:.2f} times the dense rate of {:g} TFLOP/s: expected the "
                                  "datasheet of the GPU that was measured",
                                  tiles.efficiency, tiles.peak.value() / 1e12)}});
}

/// Writes the errors of large products for the source of a law. Large products take most of a step.
std::string large_errors(const std::vector<measured::GemmSample>& products, const cost::GemmLaw& law) {
  constexpr std::int64_t kLarge = 1024;
  const cost::Evidence large = evidence("", 0, held_out_outcomes(products, law, kLarge));
  if (large.held_out == 0) return "";
  return fmt::format("; of {} held out with m, n, k >= {}: median {:.1f} %, p90 {:.1f} %", large.held_out, kLarge,
                     100 * large.median_error, 100 * large.p90_error);
}

/// Returns the base's law of the precision, or of 16 bit where it has none: clocks and layouts are alike.
std::map<Precision, cost::GemmLaw>::const_iterator like_precision(const cost::Profile& base, Precision precision) {
  const auto own = base.gemm.find(precision);
  return own != base.gemm.end() ? own : base.gemm.find(Precision::kBf16);
}

/// Returns the factor of long runs, or else the base's factor for the same GPU beside published tables.
double sustained_factor_of(const measured::Samples& samples, const FitRequest& request, Precision precision,
                           const cost::GemmLaw& law) {
  if (const auto factor = sustained_factor(samples, precision, law)) return *factor;
  const auto known = like_precision(request.base, precision);
  const bool published = law.evidence.provenance == cost::Provenance::kFitted;
  if (request.base.gpu != request.gpu || !published || known == request.base.gemm.end()) return 1;
  return std::visit([](const auto& l) { return l.sustained_factor; }, known->second.law);
}

void fit_products(cost::Profile& profile, const measured::Samples& samples, const FitRequest& request,
                  const Ratios& ratios, const std::map<Precision, std::vector<measured::GemmSample>>& by_precision) {
  std::set<Precision> done;
  for (const auto& [precision, products] : by_precision) {
    const auto start = start_of(request, ratios, precision);
    if (!start || products.size() < kLeastProducts || steady_count(products) < kLeastSteady) continue;
    // Few products bound by memory or launches say little about either: the start counts like twenty products.
    const double loyalty = 20.0 / static_cast<double>(steady_count(products));
    const GemmFit fit{
        .start = *start, .fine = products.size() >= kFullTable, .lines = request.lines, .loyalty = loyalty};
    cost::GemmLaw law = fit_gemm(products, fit, source_of(samples, samples.gemms));
    check_peak(law, precision, request);
    law.evidence.provenance = provenance_of(samples.gemms);
    law.evidence.source += large_errors(products, law);
    std::get<cost::TileWaveLaw>(law.law).sustained_factor = sustained_factor_of(samples, request, precision, law);
    const bool weights = std::any_of(products.begin(), products.end(), [](const measured::GemmSample& product) {
      return product.shape.pass == GemmPass::kWeightGradient;
    });
    const auto own = like_precision(request.base, precision);
    if (!weights && own != request.base.gemm.end()) law.weight_gradient_factor = own->second.weight_gradient_factor;
    profile.gemm[precision] = law;
    done.insert(precision);
  }
  // Both 16-bit types run at one tensor-core rate (one BLOOM pair, fp16 against bf16, differs by 1 %).
  for (const auto& [own, twin] :
       {std::pair(Precision::kBf16, Precision::kFp16), {Precision::kFp16, Precision::kBf16}}) {
    const bool has_twin = !request.datasheet || request.datasheet->peak_of(twin);
    if (!done.contains(own) || done.contains(twin) || !has_twin) continue;
    profile.gemm[twin] = profile.gemm.at(own);
    profile.gemm[twin].evidence.source += fmt::format(" (products in {})", name_of(own));
  }
}

/// Puts curves that follow the samples' own tables in the place of the base's.
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
  if (measured.nvlink_message) stamp(profile.point_to_point.nvlink.evidence);
  if (measured.network_message) stamp(profile.point_to_point.network.evidence);
}

/// Gives products in 16 bit the clock of measured layers, when the law is of these samples.
void take_clock_of_layers(cost::Profile& profile, const measured::Samples& samples) {
  const auto factor = sustained_factor_of_layers(samples, profile);
  if (!factor || samples.gemms.empty()) return;
  for (const Precision precision : {Precision::kBf16, Precision::kFp16}) {
    const auto law = profile.gemm.find(precision);
    if (law == profile.gemm.end() || law->second.evidence.provenance != cost::Provenance::kMeasured) continue;
    std::visit([&](auto& l) { l.sustained_factor = *factor; }, law->second.law);
    law->second.evidence.source += fmt::format("; clock of {} layers", samples.layers.size());
  }
}

/// Lets attention take the sustained factor of the products, once its laws are of this GPU: the clock is one for all
/// kernels. The base's factor belongs to the base's laws.
void share_clock(cost::Profile& profile, const FitRequest& request) {
  const auto is_own = [](const cost::AttentionLaw& law) {
    return law.evidence.provenance == cost::Provenance::kFitted ||
           law.evidence.provenance == cost::Provenance::kMeasured;
  };
  const auto products = profile.gemm.find(Precision::kBf16);
  const auto& laws = profile.attention.laws;
  if (request.base.gpu == request.gpu || products == profile.gemm.end() ||
      std::none_of(laws.begin(), laws.end(), is_own))
    return;
  profile.attention.sustained_factor =
      std::visit([](const auto& law) { return law.sustained_factor; }, products->second.law);
}

}  // namespace

cost::Profile fit_profile(measured::Samples samples, const FitRequest& request) {
  sort_samples(samples.gemms);
  sort_samples(samples.kernels);
  sort_samples(samples.attention);
  sort_samples(samples.layers);
  sort_samples(samples.collectives);
  sort_samples(samples.host);
  sort_samples(samples.clocks);
  const Ratios ratios = ratios_of(request, samples, gemm_samples(samples, request.base));
  cost::Profile profile = profile_from_base(request, ratios);
  fit_quantisation(profile, samples);
  fit_products(profile, samples, request, ratios, gemm_samples(samples, profile));
  fit_attention_kernels(profile, samples);
  if (samples.kernels.size() >= kLeastKernels) fit_memory_bound(profile, samples);
  take_clock_of_layers(profile, samples);
  share_clock(profile, request);
  fit_collectives(profile, samples, request);
  fit_exchanges(profile, samples);
  fit_host(profile, samples);
  profile.notes = notes_of(profile);
  return profile;
}

bool has_fitted_part(const cost::Profile& profile, const cost::Profile& base) {
  std::set<std::string> known;
  for (const cost::Part& part : cost::parts_of(base))
    for (const cost::Evidence& evidence : part.evidence) known.insert(evidence.source);
  for (const cost::Part& part : cost::parts_of(profile))
    for (const cost::Evidence& evidence : part.evidence) {
      const bool fitted =
          evidence.provenance == cost::Provenance::kMeasured || evidence.provenance == cost::Provenance::kFitted;
      if (fitted && !known.contains(evidence.source)) return true;
    }
  return false;
}

std::optional<std::size_t> nearest(const std::vector<Candidate>& candidates, const std::string& gpu,
                                   const std::optional<net::Gpu>& datasheet, const measured::Samples& samples) {
  std::vector<measured::GemmSample> products;
  if (!datasheet) products = all_products(gemm_samples(samples, candidates.front().profile));
  std::optional<std::size_t> best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const auto& [profile, sheet] = candidates[i];
    const double between = datasheet ? distance_of(*datasheet, sheet) : distance_of(products, profile);
    const double distance = profile.gpu == gpu ? -1 : between + (has_scaled_products(profile) ? kScaledDistance : 0);
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best;
}

}  // namespace foretoken::fit
