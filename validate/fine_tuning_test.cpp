// Compares fine-tuning with 171 published rows and 17 of our own, and tests the plain answers about memory on shipped
// scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

/// Bounds of one set, as fractions, a little above its errors.
struct FineTuningSet {
  const char* name;
  std::size_t rows;
  double step_mean, step_worst;
  double peak_mean = 0, peak_worst = 0;
  int failed = 0, missed = 0;  ///< runs that failed for memory, and those of them that may be predicted to fit
};

// The sets are kept out of docs/modeller/validation.md: intervals rest on training from scratch.
constexpr FineTuningSet kSets[] = {{"finetune-mistral-a100", 132, 0.045, 0.17, 0.06, 0.26, 23, 1},
                                   {"finetune-santacoder-a100", 16, 0.17, 0.32, 0.22, 0.38},
                                   {"finetune-peft-l40s", 5, 0.26, 0.30},
                                   {"mlperf-70b-lora", 13, 0.11, 0.20},
                                   {"megatron-bridge-70b-lora", 5, 0.035, 0.06},
                                   {"huggingface-h200", 17, 0.17, 0.60, 0.065, 0.24}};

/// Sums the errors of one quantity over rows.
struct Errors {
  double sum = 0, worst = 0;
  int count = 0;

  void add(double predicted, double measured) {
    const double error = std::abs(predicted / measured - 1);
    sum += error;
    worst = std::max(worst, error);
    ++count;
  }
  [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
};

struct SetErrors {
  Errors step, peak;
  int failed = 0, missed = 0, refused = 0;

  void add(const Case& row) {
    const report::Metrics metrics = study::predict(io::read_scenario_text(row.scenario, row.id)).metrics;
    if (row.measured.out_of_memory) {
      ++failed;
      missed += metrics.memory.fits ? 1 : 0;
      return;
    }
    refused += metrics.memory.fits ? 0 : 1;
    if (row.measured.step_time) step.add(metrics.simulated_step_time.value(), row.measured.step_time->value());
    if (row.measured.peak_memory) peak.add(metrics.memory.peak.value(), row.measured.peak_memory->value());
  }
};

TEST(FineTuningRows, StepsPeaksAndVerdictsStayWithinTheirBounds) {
  Errors steps, peaks;
  for (const FineTuningSet& bound : kSets) {
    SCOPED_TRACE(bound.name);
    const CaseSet set = read_case_set(std::string(FORETOKEN_SOURCE_DIR "/validate/testdata/") + bound.name + ".json");
    EXPECT_EQ(set.cases.size(), bound.rows);
    SetErrors errors;
    for (const Case& row : set.cases) errors.add(row);
    EXPECT_LT(errors.step.mean(), bound.step_mean);
    EXPECT_LT(errors.step.worst, bound.step_worst);
    EXPECT_LE(errors.peak.mean(), bound.peak_mean);
    EXPECT_LE(errors.peak.worst, bound.peak_worst);
    EXPECT_EQ(errors.refused, 0) << "runs that ran do not fit";
    EXPECT_EQ(errors.failed, bound.failed);
    EXPECT_LE(errors.missed, bound.missed);
    steps.sum += errors.step.sum;
    steps.count += errors.step.count;
    peaks.sum += errors.peak.sum;
    peaks.count += errors.peak.count;
  }
  EXPECT_LT(steps.mean(), 0.12);
  EXPECT_LT(peaks.mean(), 0.08);
}

report::Memory memory_of(const std::string& name, const std::vector<std::string>& sets = {}) {
  const auto path = std::string(FORETOKEN_SOURCE_DIR "/scenarios/") + name + ".json";
  return study::predict(io::read_scenario_file(path, sets)).metrics.memory;
}

TEST(FineTuningOnOneGpu, A70bQloraFitsOn80GbAtSequence2048) { EXPECT_TRUE(memory_of("llama-3-70b-qlora-1-h100").fits); }

TEST(FineTuningOnOneGpu, A70bLoraIn16BitDoesNot) {
  EXPECT_FALSE(memory_of("llama-3-70b-qlora-1-h100", {"training.method=lora"}).fits);
}

TEST(FineTuningOnOneGpu, An8bQloraFitsOnACardOf24Gb) {
  EXPECT_TRUE(memory_of("llama-3-8b-qlora-1-rtx3090").fits);
  EXPECT_FALSE(memory_of("llama-3-8b-qlora-1-rtx3090", {"training=null"}).fits);
}

}  // namespace
}  // namespace foretoken::validate
