// Computes mean and variance of the time of a run that starts again from its last checkpoint.
#include "sim/study/search/goodput.h"

#include <algorithm>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::search {
namespace {

struct Moments {
  double mean = 0, variance = 0;
};

// Returns the time lost before `length` seconds pass without an interruption. Every interruption costs `pause` and
// starts them again. K tries fail (geometric), each after an exponential time cut off at `length`.
Moments lost_before(double length, double mtbf, Moments pause) {
  const double ratio = length / mtbf;
  const double succeeds = std::exp(-ratio), fails = -std::expm1(-ratio);
  if (fails <= 0) return {};
  const double failures = fails / succeeds, failures_variance = fails / (succeeds * succeeds);
  const double mean = mtbf - length * succeeds / fails;
  const double square = 2 * mtbf * mtbf - succeeds * (length * length + 2 * length * mtbf) / fails;
  const Moments try_lost{mean + pause.mean, std::max(0.0, square - mean * mean) + pause.variance};
  return {failures * try_lost.mean, failures * try_lost.variance + failures_variance * try_lost.mean * try_lost.mean};
}

constexpr double kDay = 86400;

}  // namespace

double daly_interval_s(double checkpoint_write_s, double job_mtbf_s) {
  expects(checkpoint_write_s > 0 && job_mtbf_s > 0, "checkpoints take time and failures happen");
  const double c = checkpoint_write_s, m = job_mtbf_s;
  if (c >= 2 * m) return m;
  const double ratio = c / (2 * m);
  return std::sqrt(2 * c * m) * (1 + std::sqrt(ratio) / 3 + ratio / 9) - c;
}

RunWithFailures run_with_failures(double days, int gpus, const FailureModel& failures) {
  expects(days > 0 && gpus > 0, "a run takes time on GPUs");
  const double m = failures.mtbf_hours_per_gpu * 3600 / gpus, work = days * kDay;
  RunWithFailures run;
  run.job_mtbf_hours = m / 3600;
  run.checkpoint_interval_s = std::min(daly_interval_s(failures.checkpoint_write_s, m), work);
  const double intervals = work / run.checkpoint_interval_s;
  const double length = run.checkpoint_interval_s + failures.checkpoint_write_s;
  Moments pause = lost_before(failures.restart_s, m, {});
  pause.mean += failures.restart_s;
  const Moments lost = lost_before(length, m, pause);
  const double without = intervals * length, added = intervals * lost.mean, variance = intervals * lost.variance;
  run.expected_days = (without + added) / kDay;
  run.goodput = days / run.expected_days;
  run.expected_failures = (without + added) / m;
  run.p50_days = run.p90_days = run.expected_days;
  run.undisturbed_days = without / kDay;
  run.added_days = added / kDay;
  run.added_variance = variance / (kDay * kDay);
  if (!std::isfinite(added) || !std::isfinite(variance)) {  // no progress between two interruptions
    run.expected_days = run.p50_days = run.p90_days = run.expected_failures = std::numeric_limits<double>::infinity();
    run.goodput = 0;
  } else if (added > 0 && variance > 0) {
    const boost::math::gamma_distribution<double> shape(added * added / variance, variance / added);
    run.p50_days = (without + boost::math::quantile(shape, 0.5)) / kDay;
    run.p90_days = (without + boost::math::quantile(shape, 0.9)) / kDay;
  }
  return run;
}

double chance_within(const RunWithFailures& run, double days) {
  if (!std::isfinite(run.expected_days) || days <= run.undisturbed_days) return 0;
  if (run.added_days <= 0 || run.added_variance <= 0) return days >= run.expected_days ? 1 : 0;
  const boost::math::gamma_distribution<double> added(run.added_days * run.added_days / run.added_variance,
                                                      run.added_variance / run.added_days);
  return boost::math::cdf(added, days - run.undisturbed_days);
}

}  // namespace foretoken::search
