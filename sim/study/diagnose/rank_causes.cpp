// Scores causes by how well the times that they predict fit those of a log.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "sim/study/diagnose/diagnose.h"

namespace foretoken::study {
namespace {

// One time of the log, and its place in a signature. All are parts of the predicted step.
struct Feature {
  double observed = 0;
  Seconds (*predicted)(const Signature&, TimerKind) = nullptr;
  TimerKind kind = TimerKind::kForward;
};

const Spread& spread_of(const Signature& signature, TimerKind kind) {
  return (*signature.timers)[static_cast<std::size_t>(kind)];
}

Seconds step_of(const Signature& signature, TimerKind) { return signature.step; }
Seconds most_of(const Signature& signature, TimerKind kind) { return spread_of(signature, kind).most; }
Seconds least_of(const Signature& signature, TimerKind kind) { return spread_of(signature, kind).least; }
Seconds last_of(const Signature& signature, TimerKind kind) { return spread_of(signature, kind).last; }

std::vector<Feature> features_of(const ObservedStep& observed, const Signature& base) {
  std::vector<Feature> features{{observed.step / base.step, step_of}};
  if (!base.timers) return features;
  for (const ObservedTimer& timer : observed.timers) {
    const bool one = observed.scope == io::log::TimerScope::kOneRank;
    features.push_back({timer.most / base.step, one ? last_of : most_of, timer.kind});
    if (observed.scope == io::log::TimerScope::kLeastAndMost)
      features.push_back({timer.least / base.step, least_of, timer.kind});
  }
  return features;
}

double square(double x) { return x * x; }

// Adds logarithms: log(e^a + e^b).
double log_sum(double a, double b) {
  const double most = std::max(a, b);
  return std::isinf(most) ? most : most + std::log(std::exp(a - most) + std::exp(b - most));
}

// The fit of one signature to the log, as a logarithm.
class Fit {
 public:
  Fit(const ObservedStep& observed, const Signature& base, Doubt doubt)
      : observed_(observed), base_(base), doubt_(doubt), features_(features_of(observed, base)) {}

  [[nodiscard]] bool is_of_step_alone() const { return features_.size() == 1; }
  [[nodiscard]] double of(const Signature& signature) const {
    constexpr int kReach = 12;
    constexpr double kApart = 0.25;  // of the model's deviation: the grid reaches three of them
    double sum = -std::numeric_limits<double>::infinity();
    for (int at = -kReach; at <= kReach; ++at) {
      const double deviations = kApart * at;
      sum = log_sum(sum, -0.5 * square(deviations) + with_factor(signature, std::exp(doubt_.model * deviations)));
    }
    return sum;
  }
  // A cause with a jitter of its own fits a log that jitters as much; any other fits one that is calm.
  [[nodiscard]] double of_jitter(double usual) const {
    constexpr double kCalm = 0.01, kLeast = 0.002, kSpread = 1;  // within a factor of e
    const double expected = usual > 0 ? usual : kCalm;
    if (observed_.entries < 3 || (usual == 0 && observed_.jitter < kCalm)) return 0;
    return -0.5 * square(std::log(std::max(observed_.jitter, kLeast) / expected) / kSpread);
  }
  // The batch generator shows the time that late data add.
  [[nodiscard]] double of_data(double part, Seconds added) const {
    if (!observed_.data) return 0;
    constexpr double kUsual = 0.002;  // of the step, that handing over a batch takes
    const double expected = kUsual + part * std::max(0.0, added / base_.step);
    return -0.5 * square((*observed_.data / base_.step - expected) / std::max(doubt_.part, expected / 3));
  }

 private:
  [[nodiscard]] double with_factor(const Signature& signature, double factor) const {
    double log = 0;
    for (const Feature& feature : features_) {
      const double predicted = factor * (feature.predicted(signature, feature.kind) / base_.step);
      log -= 0.5 * square((feature.observed - predicted) / doubt_.part);
    }
    return log;
  }

  const ObservedStep& observed_;
  const Signature& base_;
  Doubt doubt_;
  std::vector<Feature> features_;
};

// Returns the least distance between the measured step and the cause's at the strengths that are usual for it.
double distance_of_usual(const Cause& cause, Seconds measured) {
  double most = 0, distance = std::numeric_limits<double>::infinity();
  for (const Strength& strength : cause.strengths) most = std::max(most, strength.part);
  for (const Strength& strength : cause.strengths)
    if (strength.part == most) distance = std::min(distance, std::abs(std::log(measured / strength.signature.step)));
  return distance;
}

// A cause with the distance of its usual strengths.
struct Scored {
  RankedCause cause;
  double distance = 0;
};

// Returns the cause at its likeliest strength, with the logarithm of its likelihood in `likelihood`.
Scored scored(const Cause& cause, const Fit& fit, const Signature& base, Seconds measured) {
  RankedCause result{.key = cause.key, .words = {}, .test = cause.test};
  double sum = -std::numeric_limits<double>::infinity(), best = sum;
  for (const Strength& strength : cause.strengths) {
    const double log = std::log(strength.part) + fit.of(strength.signature) + fit.of_jitter(cause.jitter) +
                       fit.of_data(cause.data, strength.signature.step - base.step);
    sum = log_sum(sum, log);
    if (log <= best && !result.words.empty()) continue;
    best = log;
    result.words = strength.words;
    result.step = strength.signature.step;
  }
  result.worth = measured - measured / (result.step / base.step);
  result.likelihood = std::log(cause.prior) + sum;
  return {std::move(result), distance_of_usual(cause, measured)};
}

// Marks the causes that are as likely as the first, within a factor. A log of steps alone orders them no further: the
// one whose usual strength is nearest to the measured step then comes first.
void mark_ties(std::vector<Scored>& all, bool step_alone) {
  constexpr double kTied = 4;
  std::size_t tied = 1;
  while (tied < all.size() && all.front().cause.likelihood < kTied * all[tied].cause.likelihood) ++tied;
  if (tied < 2) return;
  for (std::size_t at = 0; at < tied; ++at) all[at].cause.tied = true;
  if (!step_alone) return;
  std::stable_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(tied),
                   [](const Scored& a, const Scored& b) { return a.distance < b.distance; });
}

}  // namespace

std::vector<RankedCause> ranked(const std::vector<Cause>& causes, const Signature& base, const ObservedStep& observed,
                                Doubt doubt, double& unexplained) {
  const Fit fit(observed, base, doubt);
  std::vector<Scored> all;
  const double none = fit.of(base) + fit.of_jitter(0) + fit.of_data(0, Seconds(0));
  double total = none;
  for (const Cause& cause : causes) {
    all.push_back(scored(cause, fit, base, observed.step));
    total = log_sum(total, all.back().cause.likelihood);
  }
  for (Scored& each : all) each.cause.likelihood = std::exp(each.cause.likelihood - total);
  unexplained = std::exp(none - total);
  std::stable_sort(all.begin(), all.end(),
                   [](const Scored& a, const Scored& b) { return a.cause.likelihood > b.cause.likelihood; });
  mark_ties(all, fit.is_of_step_alone());
  std::vector<RankedCause> causes_in_order;
  for (Scored& each : all) causes_in_order.push_back(std::move(each.cause));
  return causes_in_order;
}

}  // namespace foretoken::study
