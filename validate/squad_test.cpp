// Compares fine-tuning of BERT-large on SQuAD with 44 published runs. The set stands outside validate/cases, so no
// interval rests on it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

/// Errors of some rows, as fractions.
struct SquadErrors {
  double sum = 0, worst = 0;
  int rows = 0;

  void add(double error) {
    sum += error;
    worst = std::max(worst, error);
    ++rows;
  }
  [[nodiscard]] double mean() const { return sum / rows; }
};

// Four and eight RTX 3090 are measured slower than three: no law here knows the host that their exchanges wait for.
bool waits_for_its_host(const std::string& row) {
  return row.find("4x3090") != std::string::npos || row.find("8x3090") != std::string::npos;
}

TEST(Squad, PublishedStepsAreMetWithoutAFit) {
  const CaseSet set = read_case_set(FORETOKEN_SOURCE_DIR "/validate/testdata/bert-squad-pytorch.json");
  ASSERT_EQ(set.cases.size(), 44u);
  SquadErrors all, usual;
  int refused = 0;
  for (const Case& row : set.cases) {
    const study::Prediction run = study::predict(io::read_scenario_text(row.scenario, row.id));
    refused += run.metrics.memory.fits ? 0 : 1;
    const double error = std::abs(run.metrics.simulated_step_time.value() / row.measured.step_time.value().value() - 1);
    all.add(error);
    if (!waits_for_its_host(row.id)) usual.add(error);
  }
  EXPECT_EQ(usual.rows, 40);
  EXPECT_LT(all.mean(), 0.205);
  EXPECT_LT(usual.mean(), 0.155);
  EXPECT_LT(usual.worst, 0.52);
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace foretoken::validate
