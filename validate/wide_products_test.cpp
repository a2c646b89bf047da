// Compares training in fp32 and tf32 with published runs of BERT and ELECTRA. The sets stand outside validate/cases, so
// no interval rests on them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

/// Bounds of one set, as fractions, a little above its errors.
struct WideSet {
  const char* name;
  int rows;
  double mean, worst;
  double pretraining_worst;  ///< of the rows that pre-train; 0: none does
};

constexpr WideSet kWideSets[] = {{"bert-pytorch-32-bit", 13, 0.055, 0.185, 0.025},
                                 {"bert-tensorflow-32-bit", 28, 0.13, 0.33, 0.30},
                                 {"electra-tensorflow-32-bit", 7, 0.24, 0.40, 0}};

TEST(WideElements, PublishedStepsInFp32AndTf32AreMetWithoutAFit) {
  double sum = 0;
  int rows = 0;
  for (const WideSet& bound : kWideSets) {
    SCOPED_TRACE(bound.name);
    const CaseSet set = read_case_set(std::string(FORETOKEN_SOURCE_DIR "/validate/testdata/") + bound.name + ".json");
    ASSERT_EQ(static_cast<int>(set.cases.size()), bound.rows);
    double errors = 0, worst = 0, pretraining = 0;
    for (const Case& row : set.cases) {
      const study::Prediction run = study::predict(io::read_scenario_text(row.scenario, row.id));
      EXPECT_TRUE(run.metrics.memory.fits) << row.id;
      const double error =
          std::abs(run.metrics.simulated_step_time.value() / row.measured.step_time.value().value() - 1);
      errors += error;
      worst = std::max(worst, error);
      if (row.id.find("-pre-") != std::string::npos) pretraining = std::max(pretraining, error);
    }
    EXPECT_LT(errors / bound.rows, bound.mean);
    EXPECT_LT(worst, bound.worst);
    EXPECT_LE(pretraining, bound.pretraining_worst);
    sum += errors;
    rows += bound.rows;
  }
  EXPECT_LT(sum / rows, 0.13);
}

}  // namespace
}  // namespace foretoken::validate
