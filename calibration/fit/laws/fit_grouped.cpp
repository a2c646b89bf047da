// Fits five constants of grouped products beside three of the kernels around them, in log space.
#include "calibration/fit/laws/fit_grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "calibration/fit/laws/benchmark_clock.h"
#include "calibration/fit/numerics/minimise.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

using measured::ExpertSample;

constexpr double kFewestRows = 16, kWeightBound = 32;  // rows of an expert
constexpr std::size_t kFewestLayers = 50;
constexpr Seconds kAroundProducts(60e-6);  // of the kernels around the products: twice the 27 to 41 us that fits give

/// The engine's kernels beside the products.
struct Beside {
  BytesPerSecond copies{};
  Seconds once{}, each_row{};
};

struct Fitted {
  cost::GroupedLaw law{};
  Beside beside{};
};

double real(std::int64_t whole) { return static_cast<double>(whole); }

GemmShape first_product(const ExpertSample& s) {
  const double rows = std::max(1.0, std::ceil(s.rows_of_expert()));
  return {.m = static_cast<std::int64_t>(rows),
          .n = (s.gated ? 2 : 1) * s.width,
          .k = s.hidden,
          .batch = s.experts,
          .precision = s.precision,
          .kind = BatchKind::kGrouped};
}

GemmShape second_product(const ExpertSample& s) {
  GemmShape shape = first_product(s);
  shape.n = s.hidden;
  shape.k = s.width;
  return shape;
}

/// The laws of brief and of long runs, and of memory-bound kernels.
class Layers {
 public:
  Layers(const cost::Profile& profile, Precision precision)
      : precision_(precision), memory_bound_(profile.memory_bound), single_(profile.gemm.at(precision)) {
    brief_.gemm[precision] = sustained_.gemm[precision] = single_;
    brief_.misaligned_rows = sustained_.misaligned_rows = profile.misaligned_rows;
    std::get<cost::TileWaveLaw>(brief_.gemm[precision].law).sustained_factor = 1;
  }

  void set(const Fitted& fitted) {
    brief_.gemm[precision_].grouped = sustained_.gemm[precision_].grouped = fitted.law;
    beside_ = fitted.beside;
  }

  /// Tokens and the sum are 16-bit, as is the output of each product. Copies are as wide as the operands.
  [[nodiscard]] Seconds time(const ExpertSample& s) const {
    const double width = bytes_per_element(precision_), tokens = real(s.tokens) * real(s.hidden);
    const double copies = s.rows() * real(s.hidden);
    const Bytes moved(4 * tokens + (2 + width) * copies);
    const Bytes activation((s.gated ? 4 + width : 2 + width) * s.rows() * real(s.width));
    return product(first_product(s)) + product(second_product(s)) + beside_.once + s.rows() * beside_.each_row +
           moved / beside_.copies + activation / (memory_bound_.efficiency * memory_bound_.bandwidth);
  }

  /// Returns true when the layer takes longer than reading its weights at half the bandwidth of single products.
  [[nodiscard]] bool slow(const ExpertSample& s) const {
    const double met = std::min(real(s.experts), s.rows());
    const Bytes weights(bytes_per_element(precision_) * met * (s.gated ? 3 : 2) * real(s.width) * real(s.hidden));
    return s.time > kAroundProducts + weights / (0.5 * single().memory_bandwidth);
  }

  [[nodiscard]] const cost::TileWaveLaw& single() const { return std::get<cost::TileWaveLaw>(single_.law); }

 private:
  [[nodiscard]] Seconds product(const GemmShape& shape) const {
    return in_table(cost::gemm_time(shape, brief_), cost::gemm_time(shape, sustained_), kFullClockProduct, precision_);
  }

  Precision precision_;
  cost::MemoryBoundLaw memory_bound_;
  cost::GemmLaw single_;
  cost::Profile brief_{}, sustained_{};
  Beside beside_{};
};

/// Leaves out layers with few rows, and shapes whose kernels were not tuned.
std::vector<ExpertSample> usable(const std::vector<ExpertSample>& samples, const Layers& layers) {
  const auto shape_of = [](const ExpertSample& s) {
    return std::tuple(s.hidden, s.width, s.per_token, s.experts, s.gated);
  };
  std::map<decltype(shape_of(samples.front())), int> slow;  // slow layers less others, of few rows
  for (const ExpertSample& s : samples)
    if (s.rows_of_expert() < kWeightBound) slow[shape_of(s)] += layers.slow(s) ? 1 : -1;
  std::vector<ExpertSample> kept;
  for (const ExpertSample& s : samples)
    if (s.rows_of_expert() >= kFewestRows && slow[shape_of(s)] <= 0) kept.push_back(s);
  return kept;
}

Fitted fitted_at(const Arguments& at) {
  const auto positive = [&](std::size_t i) { return rounded(std::exp(at[i])); };
  return {.law = {.efficiency = std::min(1.0, positive(0)),
                  .prologue_k = positive(1),
                  .small_tile_loss = rounded(std::clamp(at[2], 0.0, 0.3)),
                  .memory_bandwidth = BytesPerSecond(positive(3)),
                  .wave_softness = std::round(100 * std::clamp(at[4], 0.0, 1.0)) / 100},
          .beside = {
              .copies = BytesPerSecond(positive(5)), .once = Seconds(positive(6)), .each_row = Seconds(positive(7))}};
}

std::vector<Outcome> layer_outcomes(const std::vector<ExpertSample>& samples, const Layers& layers) {
  std::vector<Outcome> all;
  for (const ExpertSample& s : samples) all.push_back({layers.time(s).value(), s.time.value()});
  return all;
}

Fitted best_of(const std::vector<ExpertSample>& samples, Layers& layers, const cost::MemoryBoundLaw& memory) {
  const Objective objective = [&](const Arguments& at) {
    layers.set(fitted_at(at));
    const double beyond = std::max(0.0, at[0]) + std::max(0.0, -at[2]) + std::max(0.0, at[2] - 0.3) +
                          std::max(0.0, -at[4]) + std::max(0.0, at[4] - 1);
    return mean_log_error(layer_outcomes(samples, layers)) + beyond;
  };
  const cost::TileWaveLaw& single = layers.single();
  double least = std::numeric_limits<double>::infinity();
  Fitted best;
  for (const double prologue : {150.0, 600.0, 2400.0}) {
    const Arguments start{std::log(std::min(1.0, 1.15 * single.efficiency)),
                          std::log(prologue),
                          0.1,
                          std::log(single.memory_bandwidth.value()),
                          0.5,
                          std::log(0.5 * memory.efficiency * memory.bandwidth.value()),
                          std::log(30e-6),
                          std::log(2e-9)};
    const Arguments found = minimise(objective, start, 0.15, 1200);
    if (const double value = objective(found); value < least) {
      least = value;
      best = fitted_at(found);
    }
  }
  return best;
}

}  // namespace

std::optional<cost::GroupedLaw> fit_grouped(const std::vector<ExpertSample>& samples, const cost::Profile& profile,
                                            const std::string& source) {
  if (samples.empty()) return std::nullopt;
  Layers layers(profile, samples.front().precision);
  const std::vector<ExpertSample> kept = usable(samples, layers);
  std::vector<ExpertSample> fitted, left_out;
  for (const ExpertSample& s : kept) {
    const std::string key = fmt::format("{} {} {} {} {}", s.tokens, s.hidden, s.width, s.per_token, s.experts);
    (held_out(key) ? left_out : fitted).push_back(s);
  }
  if (fitted.size() < kFewestLayers) return std::nullopt;
  const Fitted best = best_of(fitted, layers, profile.memory_bound);
  layers.set(best);
  cost::GroupedLaw law = best.law;
  law.evidence = evidence(source, fitted.size(), layer_outcomes(left_out, layers));
  return law;
}

}  // namespace foretoken::fit
