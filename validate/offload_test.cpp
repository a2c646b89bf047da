// Compares step times of jobs that offload with DeepSpeed's published runs. Their sets stand outside validate/cases, so
// no interval rests on them yet.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

// Errors of a set's rows, and its steps in sequences a second by GPUs and length, then by micro-batch.
struct Offloaded {
  int rows = 0;
  double mean = 0, mean_untouched = 0, worst = 0;
  std::map<std::pair<int, std::int64_t>, std::map<std::int64_t, double>> rates;
};

Offloaded offloaded_runs(const char* name) {
  const CaseSet set = read_case_set(FORETOKEN_SOURCE_DIR "/validate/testdata/" + std::string(name) + ".json");
  Offloaded all;
  int untouched = 0;
  for (const Case& row : set.cases) {
    const study::Prediction run = study::predict(io::read_scenario_text(row.scenario, row.id));
    EXPECT_TRUE(run.metrics.memory.fits) << row.id;
    const double predicted = run.metrics.simulated_step_time.value();
    const double error = std::abs(predicted / row.measured.step_time.value().value() - 1);
    ++all.rows;
    all.mean += error;
    all.worst = std::max(all.worst, error);
    if (!row.fitted) ++untouched, all.mean_untouched += error;
    const job::Job& job = run.job;
    all.rates[{job.gpus, job.batch.sequence_length}][job.batch.micro] =
        static_cast<double>(job.batch.micro) / predicted;
  }
  all.mean /= all.rows;
  all.mean_untouched /= untouched;
  return all;
}

TEST(OffloadedRuns, DeepSpeedOn128To1024GpusIsMetWithinSixPercentOnAverage) {
  const Offloaded runs = offloaded_runs("deepspeed-azure-175b");
  ASSERT_EQ(runs.rows, 37);
  EXPECT_LT(runs.mean, 0.055);
  EXPECT_LT(runs.mean_untouched, 0.05);
  EXPECT_LT(runs.worst, 0.17);
  // As measured, every larger micro-batch pays.
  for (const auto& [gpus_and_length, rates] : runs.rates)
    for (auto rate = std::next(rates.begin()); rate != rates.end(); ++rate)
      EXPECT_GT(rate->second, std::prev(rate)->second) << gpus_and_length.first << " GPUs, micro-batch " << rate->first;
}

// The published run of 2020 is slower than everything here: docs/modeller/offload.md.
TEST(OffloadedRuns, ZeroOffloadOnOneV100IsPredictedFast) {
  const Offloaded runs = offloaded_runs("zero-offload-v100");
  ASSERT_EQ(runs.rows, 3);
  EXPECT_LT(runs.worst, 0.47);
}

}  // namespace
}  // namespace foretoken::validate
