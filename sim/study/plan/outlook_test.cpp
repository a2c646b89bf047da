// Tests the end of uncertain runs: limits, and histories made from the shipped residuals.
#include "sim/study/plan/outlook.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "sim/io/scenario/read_residuals.h"
#include "sim/trust/bias.h"
#include "sim/trust/interval.h"

namespace foretoken::study {
namespace {

constexpr search::FailureModel kFailures{.mtbf_hours_per_gpu = 50'000, .checkpoint_write_s = 30, .restart_s = 600};
constexpr search::FailureModel kNoFailures{.mtbf_hours_per_gpu = 1e12, .checkpoint_write_s = 1e-6, .restart_s = 1};

TEST(Outlook, WithoutFailuresItIsTheSpreadOfTheStep) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  const auto error = [&](double part) { return trust::error_quantile(evidence, 0, part); };
  const Outlook outlook(10, 8, kNoFailures, error);
  for (const double part : {0.1, 0.25, 0.5, 0.75, 0.9}) {
    EXPECT_NEAR(outlook.days_by(part), 10 * std::exp(error(part)), 0.02) << part;
    EXPECT_NEAR(outlook.chance_within(outlook.days_by(part)), part, 0.006) << part;
  }
  EXPECT_NEAR(error(0.5), 0, 0.01) << "a headline lies near the median of the measured steps";
}

TEST(Outlook, WithACertainStepItIsTheSpreadOfFailures) {
  const Outlook outlook(20, 4096, kFailures, [](double) { return 0.0; });
  const search::RunWithFailures run = search::run_with_failures(20, 4096, kFailures);
  EXPECT_NEAR(outlook.days_by(0.5), run.p50_days, 1e-6);
  EXPECT_NEAR(outlook.days_by(0.9), run.p90_days, 1e-6);
}

TEST(Outlook, BothTogetherSpreadMoreThanEither) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  const auto error = [&](double part) { return trust::error_quantile(evidence, 1, part); };
  const auto spread = [](const Outlook& outlook) { return outlook.days_by(0.9) - outlook.days_by(0.5); };
  const double both = spread(Outlook(20, 16384, kFailures, error));
  EXPECT_GT(both, spread(Outlook(20, 16384, kFailures, [](double) { return 0.0; })));
  EXPECT_GT(both, spread(Outlook(20, 16384, kNoFailures, error)));
}

// Plays failures one by one.
double played_days(double days, int gpus, std::mt19937_64& random) {
  const search::RunWithFailures run = search::run_with_failures(days, gpus, kFailures);
  std::exponential_distribution<double> next(1 / (run.job_mtbf_hours * 3600));
  double time = 0;
  for (double left = days * 86400; left > 0; left -= run.checkpoint_interval_s) {
    const double done = std::min(run.checkpoint_interval_s, left);
    const double length = done + kFailures.checkpoint_write_s * done / run.checkpoint_interval_s;
    for (double failure = next(random); failure < length; failure = next(random)) {
      time += failure + kFailures.restart_s;
      for (double again = next(random); again < kFailures.restart_s; again = next(random)) time += again;
    }
    time += length;
  }
  return time / 86400;
}

// The error of a step is that of a validated row against a headline made without it, scaled to the place of the run.
std::vector<double> errors_of_rows(const trust::Evidence& evidence) {
  std::vector<double> errors;
  for (const trust::Case& one : evidence.cases) {
    trust::Evidence others = evidence;
    std::erase_if(others.cases, [&](const trust::Case& each) { return each.publication == one.publication; });
    const double bias = trust::bias_at(one.place, others).log_ratio;
    errors.push_back((one.log_ratio - bias) / trust::spread_at(trust::distance_to(one.place, others), evidence.growth));
  }
  return errors;
}

TEST(Outlook, HalfAndNineInTenOfSimulatedHistoriesAreDone) {
  constexpr double kDays = 20, kDistance = 1;
  constexpr int kGpus = 4096, kDraws = 1000;
  const trust::Evidence evidence = io::read_shipped_residuals();
  const Outlook outlook(kDays, kGpus, kFailures,
                        [&](double part) { return trust::error_quantile(evidence, kDistance, part); });
  // A publication counts as at most twenty rows, as where widths were calibrated.
  const std::vector<double> errors = errors_of_rows(evidence);
  std::vector<double> weights;
  for (const trust::Case& one : evidence.cases) {
    const auto rows = std::count_if(evidence.cases.begin(), evidence.cases.end(),
                                    [&](const trust::Case& each) { return each.publication == one.publication; });
    weights.push_back(std::min(1.0, 20 / static_cast<double>(rows)));
  }
  std::mt19937_64 random(20260105);
  std::discrete_distribution<std::size_t> row(weights.begin(), weights.end());
  const double p50 = outlook.days_by(0.5), p90 = outlook.days_by(0.9);
  int by_p50 = 0, by_p90 = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    const double factor = std::exp(errors[row(random)] * trust::spread_at(kDistance, evidence.growth));
    const double days = played_days(kDays * factor, kGpus, random);
    if (days <= p50) ++by_p50;
    if (days <= p90) ++by_p90;
  }
  RecordProperty("by_p50", by_p50);
  RecordProperty("by_p90", by_p90);
  EXPECT_NEAR(by_p50 / double{kDraws}, 0.5, 0.03);
  EXPECT_NEAR(by_p90 / double{kDraws}, 0.9, 0.03);
}

}  // namespace
}  // namespace foretoken::study
