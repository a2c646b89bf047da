// Tests runs with failures: closed forms, a simulation of the same process, and a published run.
#include "sim/study/search/goodput.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace foretoken::search {
namespace {

TEST(Goodput, DalysIntervalIsTheBestOne) {
  for (const double mtbf : {3600.0, 20'000.0, 1e6})
    for (const double write : {5.0, 60.0, 300.0}) {
      const double best = daly_interval_s(write, mtbf);
      const auto overhead = [&](double t) { return std::expm1((t + write) / mtbf) / t; };  // Daly's mean, per work
      EXPECT_LT(overhead(best), 1.001 * overhead(best * 0.7));
      EXPECT_LT(overhead(best), 1.001 * overhead(best * 1.4));
      double least = overhead(best);
      for (double t = best / 3; t < best * 3; t *= 1.01) least = std::min(least, overhead(t));
      EXPECT_LT(overhead(best) / least, 1.001);
    }
}

TEST(Goodput, WithHardlyAnyFailureOnlyCheckpointsCost) {
  const RunWithFailures run =
      run_with_failures(10, 8, {.mtbf_hours_per_gpu = 1e12, .checkpoint_write_s = 1, .restart_s = 600});
  EXPECT_NEAR(run.expected_days, 10, 1e-3);
  EXPECT_NEAR(run.goodput, 1, 1e-4);
  EXPECT_LT(run.expected_failures, 1e-6);
}

TEST(Goodput, MeanIsDalysFormula) {
  const FailureModel failures{.mtbf_hours_per_gpu = 20'000, .checkpoint_write_s = 120, .restart_s = 900};
  const RunWithFailures run = run_with_failures(30, 4096, failures);
  const double m = run.job_mtbf_hours * 3600, t = run.checkpoint_interval_s;
  const double expected = m * std::exp(900 / m) * std::expm1((t + 120) / m) * 30 / t;
  EXPECT_NEAR(run.expected_days, expected, 1e-9 * expected);
}

// Simulates the process once.
double play(double days, double mtbf, double interval, const FailureModel& failures, std::mt19937_64& random) {
  std::exponential_distribution<double> next(1 / mtbf);
  double time = 0;
  for (double left = days * 86400; left > 0; left -= interval) {
    const double length = std::min(interval, left) + failures.checkpoint_write_s * std::min(1.0, left / interval);
    for (double failure = next(random); failure < length; failure = next(random)) {
      time += failure;
      double again = next(random);
      for (; again < failures.restart_s; again = next(random)) time += again;
      time += failures.restart_s;
    }
    time += length;
  }
  return time / 86400;
}

TEST(Goodput, QuantilesAreThoseOfTheProcessPlayed) {
  struct Case {
    const char* name;
    double days;
    int gpus;
    FailureModel failures;
  };
  const Case cases[] = {{"many failures", 20, 4096, {30'000, 60, 900}},
                        {"a few", 10, 512, {50'000, 30, 1200}},
                        {"failures all the time", 3, 16384, {20'000, 120, 1800}}};
  for (const auto& [name, days, gpus, failures] : cases) {
    SCOPED_TRACE(name);
    const RunWithFailures run = run_with_failures(days, gpus, failures);
    std::mt19937_64 random(99);
    std::vector<double> played;
    for (int i = 0; i < 4000; ++i)
      played.push_back(play(days, run.job_mtbf_hours * 3600, run.checkpoint_interval_s, failures, random));
    std::sort(played.begin(), played.end());
    double mean = 0;
    for (const double each : played) mean += each / static_cast<double>(played.size());
    const double spread = played[3600] - played[400];
    EXPECT_NEAR(run.expected_days, mean, 0.05 * spread);
    EXPECT_NEAR(run.p50_days, played[2000], 0.1 * spread);
    EXPECT_NEAR(run.p90_days, played[3600], 0.1 * spread);
  }
}

// Llama 3 405B (arXiv:2407.21783, section 3.3.4): 419 unexpected interruptions in 54 days on 16,384 GPUs, more than 90
// % effective training time; its storage takes 2 TB/s, its states 14 bytes a parameter.
TEST(Goodput, LlamaThreesRunWasMoreThanNinetyPercentEffective) {
  const double mtbf = 54.0 * 24 * 16384 / 419;
  const RunWithFailures run = run_with_failures(
      54, 16384, {.mtbf_hours_per_gpu = mtbf, .checkpoint_write_s = 405e9 * 14 / 2e12, .restart_s = 600});
  EXPECT_GT(run.goodput, 0.90);
  EXPECT_LT(run.goodput, 0.96);
  EXPECT_NEAR(run.job_mtbf_hours, 3.1, 0.1);
}

TEST(Goodput, ARunThatGetsNowhereTakesForEver) {
  const RunWithFailures run =
      run_with_failures(24, 1024, {.mtbf_hours_per_gpu = 1e-3, .checkpoint_write_s = 20, .restart_s = 600});
  EXPECT_TRUE(std::isinf(run.p50_days) && std::isinf(run.p90_days) && std::isinf(run.expected_days));
  EXPECT_EQ(run.goodput, 0);
}

}  // namespace
}  // namespace foretoken::search
