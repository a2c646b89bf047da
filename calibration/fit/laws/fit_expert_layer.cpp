// Fits seven numbers of a layer of experts in log space.
#include "calibration/fit/laws/fit_expert_layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"

namespace foretoken::fit {
namespace {

using measured::ExpertSample;

constexpr std::size_t kFewestSamples = 100, kMostSamples = 1500;  // of a fit
constexpr double kMostSharp = 8;

struct LayerRow {
  cost::ExpertLayer layer;
  double time = 0;
};

/// Weights that stay in the L2 cache between runs would seem to come faster than the memory gives them.
cost::ExpertLayerLaw law_at(const Arguments& logs, BytesPerSecond bandwidth, FlopPerSecond peak) {
  const auto positive = [&](std::size_t i) { return rounded(std::exp(logs[i])); };
  return {.launch = Seconds(positive(0)),
          .expert = Seconds(positive(1)),
          .row = Seconds(positive(2)),
          .token = Seconds(positive(3)),
          .bandwidth = std::min(bandwidth, BytesPerSecond(positive(4))),
          .rate = std::min(peak, FlopPerSecond(positive(5))),
          .sharpness = rounded(std::min(kMostSharp, 1 + std::exp(logs[6])))};
}

double ratio(const LayerRow& row, const cost::ExpertLayerLaw& law) {
  return cost::expert_layer_time(row.layer, law).value() / row.time;
}

double layer_misfit(const std::vector<LayerRow>& rows, const cost::ExpertLayerLaw& law) {
  std::vector<double> errors;
  for (const LayerRow& row : rows) errors.push_back(std::abs(std::log(ratio(row, law))));
  return median_misfit(std::move(errors));
}

/// The search starts from two launches and three ratios of operations to bytes, and takes the deepest valley.
cost::ExpertLayerLaw best_law(const std::vector<LayerRow>& rows, BytesPerSecond bandwidth, FlopPerSecond peak) {
  const Objective objective = [&](const Arguments& logs) { return layer_misfit(rows, law_at(logs, bandwidth, peak)); };
  Arguments best;
  for (const double launch : {10e-6, 40e-6})
    for (const double intensity : {100.0, 300.0, 700.0}) {
      const Arguments start{std::log(launch),
                            std::log(50e-9),
                            std::log(1e-12),
                            std::log(0.3e-12),
                            std::log(0.8 * bandwidth.value()),
                            std::log(intensity * bandwidth.value()),
                            0};
      Arguments found = minimise(objective, start, 0.5, 3000);
      if (best.empty() || objective(found) < objective(best)) best = std::move(found);
    }
  return law_at(best, bandwidth, peak);
}

}  // namespace

cost::ExpertLayer expert_layer_of(const ExpertSample& sample) {
  const std::int64_t experts = std::max<std::int64_t>(1, sample.experts / sample.ranks);
  const double rows = std::max(1.0, std::ceil(sample.rows() / real(sample.ranks)));
  const double met = std::min(real(experts), rows);
  return {.tokens = real(sample.tokens),
          .experts = experts,
          .met = static_cast<std::int64_t>(met),
          .rows = static_cast<std::int64_t>(std::ceil(rows / met)),
          .hidden = sample.hidden,
          .weights = (sample.gated ? 3 : 2) * real(sample.width) * real(sample.hidden),
          .weight_bytes = bytes_per_element(sample.precision)};
}

std::optional<cost::ExpertLayerLaw> fit_expert_layer(const std::vector<ExpertSample>& samples, BytesPerSecond bandwidth,
                                                     FlopPerSecond peak) {
  std::vector<LayerRow> fitted, left_out;
  for (const ExpertSample& s : samples) {
    const std::string key =
        fmt::format("{} {} {} {} {} {}", s.tokens, s.hidden, s.width, s.per_token, s.experts, s.ranks);
    (held_out(key) ? left_out : fitted).push_back({expert_layer_of(s), s.time.value()});
  }
  if (samples.size() < kFewestSamples || left_out.empty()) return std::nullopt;
  cost::ExpertLayerLaw law = best_law(thinned(fitted, kMostSamples), bandwidth, peak);
  std::vector<Outcome> outcomes;
  for (const LayerRow& row : left_out) outcomes.push_back({ratio(row, law) * row.time, row.time});
  law.evidence = evidence("", fitted.size(), outcomes);
  return law;
}

}  // namespace foretoken::fit
