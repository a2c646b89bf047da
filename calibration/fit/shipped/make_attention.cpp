// Makes attention laws from recipes: of series, of another profile, or in the proportions of another profile.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/laws/fit_attention.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/shipped/factors.h"
#include "calibration/fit/shipped/fitting.h"
#include "sim/base/check.h"

namespace foretoken::fit {
namespace {

constexpr double kLeastHalfLength = 50;

/// The fitted rates of both directions.
struct Directions {
  cost::AttentionRate forward{}, backward{};
  cost::Evidence forward_evidence{}, backward_evidence{};
};

cost::AttentionRate fit_one(const std::vector<measured::AttentionSample>& kernels, const DirectionFit& fit,
                            const Rows& rows, cost::Evidence& evidence) {
  if (!has_fitted_kernels(kernels, fit.backward))
    refuse(rows.place,
           fmt::format("no {} attention among these rows that is not held out", fit.backward ? "backward" : "forward"));
  return fit_direction(kernels, fit, evidence);
}

/// Fits both directions. `half_length` is known beforehand, or nothing when the rows show it.
Directions fit_both(const Recipe& recipe, const Rows& rows, int multiprocessors, std::optional<double> half_length,
                    const Tables& tables) {
  const auto kernels = tables.attention(recipe, rows);
  Directions found;
  found.forward = fit_one(kernels, {false, multiprocessors, half_length}, rows, found.forward_evidence);
  found.backward = fit_one(kernels, {true, multiprocessors, half_length}, rows, found.backward_evidence);
  return found;
}

// ---- laws fitted on series

/// Fits the laws of one recipe on its series.
class SeriesLaws {
 public:
  SeriesLaws(const Recipe& recipe, const AttentionOfSeries& laws, int multiprocessors, const Tables& tables)
      : recipe_(&recipe), laws_(&laws), tables_(&tables) {
    const Directions halves =
        fit_both(recipe, laws.halves.rows, laws.halves.multiprocessors, laws.halves.half_length, tables);
    givens_ = {.forward_over_backward = rounded(halves.forward.peak / halves.backward.peak),
               .forward_tail = halves.forward.tail,
               .backward_tail = halves.backward.tail,
               .multiprocessors = multiprocessors};
  }

  [[nodiscard]] cost::AttentionLaw fit(const SeriesLaw& asked) const {
    const AttentionSeries forward = series(asked.forward);
    want_half(forward, AttentionHalf::kForward, asked);
    cost::AttentionLaw law = fit_series(forward, givens_, asked.source);
    law.head_dim = asked.head_dim;
    law.causal = asked.causal;
    if (asked.backward != asked.forward) {
      const AttentionSeries backward = series(asked.backward);
      want_half(backward, AttentionHalf::kBackward, asked);
      law.backward = fit_series(backward, givens_, asked.source).backward;
    }
    if (asked.guessed) law.evidence = assumed(law.evidence.source);
    return law;
  }

 private:
  /// Refuses a series that does not time the direction. A series of both directions serves for each of them.
  static void want_half(const AttentionSeries& series, AttentionHalf half, const SeriesLaw& asked) {
    const bool both = asked.forward == asked.backward;
    if (both ? series.half == AttentionHalf::kBoth : series.half == half || series.half == AttentionHalf::kBoth) return;
    refuse(asked.place, fmt::format("{} does not time {}", series.name,
                                    both                              ? "both directions together"
                                    : half == AttentionHalf::kForward ? "the forward pass"
                                                                      : "the backward pass"));
  }

  [[nodiscard]] AttentionSeries series(const std::string& name) const {
    const SeriesRecipe& recipe = laws_->series.at(name);
    if (const auto* chart = std::get_if<ChartSeries>(&recipe.from))
      return with_points(tables_->series(*recipe_, *chart, recipe.place), recipe.place);
    const auto& scaled = std::get<ScaledSeries>(recipe.from);
    const AttentionSeries base = series(scaled.base), times = series(scaled.times), over = series(scaled.over);
    if (base.sequences != times.sequences || base.sequences != over.sequences)
      refuse(recipe.place, "expected three series over the same sequence lengths");
    return with_points(in_proportion(base, times, over), recipe.place);
  }

  static AttentionSeries with_points(AttentionSeries series, const Place& place) {
    constexpr std::size_t kLeastPoints = 4;  // three constants
    if (points_of(series).size() < kLeastPoints)
      refuse(place, fmt::format("expected at least {} points that could be read", kLeastPoints));
    return series;
  }

  const Recipe* recipe_;
  const AttentionOfSeries* laws_;
  const Tables* tables_;
  AttentionGivens givens_{};
};

void make_of_series(cost::AttentionLaws& laws, const Recipe& recipe, const AttentionOfSeries& from,
                    const Tables& tables) {
  const SeriesLaws fit(recipe, from, laws.multiprocessors, tables);
  for (const SeriesLaw& law : from.laws) laws.laws.push_back(fit.fit(law));
  for (const SeriesLaw& law : from.flash2) laws.flash2.push_back(fit.fit(law));
  if (from.flash2_is_laws) laws.flash2 = laws.laws;
}

// ---- laws of another profile

const cost::AttentionLaw& law_of(const cost::AttentionLaws& laws, int head_dim, bool causal, const FromProfile& from) {
  const auto found = std::find_if(laws.laws.begin(), laws.laws.end(),
                                  [&](const auto& law) { return law.head_dim == head_dim && law.causal == causal; });
  if (found == laws.laws.end())
    refuse(from.place, fmt::format("{} has no law of {} attention with head dimension {}", from.profile,
                                   causal ? "causal" : "full", head_dim));
  return *found;
}

double peak_16bit(const net::Gpu& gpu, const Place& place) {
  const auto peak = gpu.peak_of(Precision::kFp16);
  if (!peak) refuse(place, fmt::format("the GPU file of {} has no fp16 peak", gpu.name));
  return peak->value() / 1e12;
}

/// Rates relative to the other profile's rates. They come from rows of causal attention with head dimension 128, or
/// without rows from the datasheets.
double rate_ratio(const Recipe& recipe, const AttentionOfProfile& from, const cost::AttentionLaws& other,
                  Fitting& fitting) {
  if (!from.backward_rate)
    return peak_16bit(recipe.gpu, from.from.place) / peak_16bit(fitting.datasheet(from.from), from.from.place);
  const Halves& halves = *from.backward_rate;
  const Directions own = fit_both(recipe, halves.rows, halves.multiprocessors, halves.half_length, fitting.tables());
  return own.backward.peak / law_of(other, 128, true, from.from).backward.peak;
}

void make_of_profile(cost::AttentionLaws& laws, const Recipe& recipe, const AttentionOfProfile& from,
                     Fitting& fitting) {
  const int multiprocessors = laws.multiprocessors;
  laws = fitting.attention(from.from);
  laws.multiprocessors = multiprocessors;
  const double factor = rate_ratio(recipe, from, laws, fitting);
  for (std::vector<cost::AttentionLaw>* kernel : {&laws.laws, &laws.flash2, &laws.fp8, &laws.serving})
    for (cost::AttentionLaw& law : *kernel) {
      law.forward.peak = FlopPerSecond(rounded(factor * law.forward.peak.value()));
      law.backward.peak = FlopPerSecond(rounded(factor * law.backward.peak.value()));
      law.engines.clear();  // another card has another memory
      law.evidence = from.evidence;
    }
  for (cost::AttentionLaw& law : laws.serving) law.cache_write.reset();
  if (from.with_flash2) return;
  laws.flash2.clear();
  laws.serving.clear();  // they are of FlashAttention-2, too
}

// ---- laws in the proportions of another profile

/// Returns `rate` with the change from `from` to `to`. Peak and sharpness change by the ratio. The half length, an
/// overhead in tokens, changes by the difference.
cost::AttentionRate scaled_rate(cost::AttentionRate rate, const cost::AttentionRate& to,
                                const cost::AttentionRate& from) {
  rate.peak = FlopPerSecond(rounded(rate.peak.value() * (to.peak / from.peak)));
  rate.half_length = rounded(std::max(kLeastHalfLength, rate.half_length + to.half_length - from.half_length));
  rate.sharpness = sharpness_at(std::log(rate.sharpness * to.sharpness / from.sharpness));
  return rate;
}

void make_in_proportion(cost::AttentionLaws& laws, const Recipe& recipe, const AttentionInProportion& from,
                        Fitting& fitting) {
  const cost::AttentionLaws& others = fitting.attention(from.others);
  const cost::AttentionLaw& known = law_of(others, from.head_dim, from.causal, from.others);
  const Directions own = fit_both(recipe, from.rows, laws.multiprocessors, std::nullopt, fitting.tables());
  cost::Evidence proof = own.forward_evidence;
  proof.source = from.source;
  for (const cost::AttentionLaw& law : others.laws)
    laws.laws.push_back({.head_dim = law.head_dim,
                         .causal = law.causal,
                         .forward = scaled_rate(own.forward, law.forward, known.forward),
                         .backward = scaled_rate(own.backward, law.backward, known.backward),
                         .evidence = &law == &known ? proof : from.others_evidence});
}

double sustained_of(const FactorRecipe& recipe, const Recipe& whole, const cost::AttentionLaws& laws,
                    Fitting& fitting) {
  if (const auto* number = std::get_if<double>(&recipe)) return *number;
  if (const auto* from = std::get_if<FromProfile>(&recipe)) return fitting.attention(*from).sustained_factor;
  if (const auto* own = std::get_if<FactorOfProducts>(&recipe))
    return sustained_of({whole.name, whole.place}, own->precision, fitting);
  const auto& factor = std::get<FactorOfRows>(recipe);
  return rounded(median_over_law(fitting.tables().attention(whole, factor.rows), factor, laws), 3);
}

}  // namespace

cost::AttentionLaws make_attention(const Recipe& recipe, Fitting& fitting) {
  const AttentionRecipe& from = recipe.attention;
  cost::AttentionLaws laws{.multiprocessors = from.multiprocessors.value_or(recipe.gpu.streaming_multiprocessors),
                           .block_rows = from.block_rows.value_or(1),
                           .launch = from.launch.value_or(Seconds(0))};
  if (const auto* series = std::get_if<AttentionOfSeries>(&from.from))
    make_of_series(laws, recipe, *series, fitting.tables());
  if (const auto* profile = std::get_if<AttentionOfProfile>(&from.from))
    make_of_profile(laws, recipe, *profile, fitting);
  if (const auto* rows = std::get_if<AttentionInProportion>(&from.from))
    make_in_proportion(laws, recipe, *rows, fitting);
  if (from.sustained) {
    laws.sustained_factor = 1;  // of short runs
    laws.sustained_factor = sustained_of(*from.sustained, recipe, laws, fitting);
  }
  return laws;
}

}  // namespace foretoken::fit
