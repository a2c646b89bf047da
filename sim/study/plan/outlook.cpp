// Computes the distribution of a run's length as the mean over many step times.
#include "sim/study/plan/outlook.h"

#include <cmath>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::study {
namespace {

constexpr int kSteps = 199;

}  // namespace

Outlook::Outlook(double training_days, int gpus, const search::FailureModel& failures,
                 const std::function<double(double)>& error_quantile) {
  for (int step = 0; step < kSteps; ++step) {
    const double days = training_days * std::exp(error_quantile((step + 0.5) / kSteps));
    runs_.push_back(search::run_with_failures(days, gpus, failures));
  }
}

double Outlook::chance_within(double days) const {
  double sum = 0;
  for (const search::RunWithFailures& run : runs_) sum += search::chance_within(run, days);
  return sum / kSteps;
}

double Outlook::days_by(double part) const {
  expects(part > 0 && part < 1, "a part of all runs lies between none and all");
  double low = 0, high = runs_.back().p90_days;
  if (!std::isfinite(high)) return std::numeric_limits<double>::infinity();
  while (chance_within(high) < part) high *= 2;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (chance_within(middle) < part ? low : high) = middle;
  }
  return high;
}

}  // namespace foretoken::study
