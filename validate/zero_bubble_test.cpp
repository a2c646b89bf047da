// Compares step times of four schedules with the zero-bubble paper's measurements: 48 runs that no fit used.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

// A schedule's measured and predicted seconds.
struct Timed {
  double measured = 0, predicted = 0;
};

// The fork of Megatron-LM behind the paper has no runtime here. Its passes were a twelfth slower in the runs than in
// its own profile (Table 9), so predictions are fast on the whole. The set is kept out of docs/modeller/validation.md.
TEST(ZeroBubble, MeasuredStepsAreMetWithinSixPercentOnAverage) {
  const CaseSet set = read_case_set(FORETOKEN_SOURCE_DIR "/validate/testdata/zero-bubble.json");
  ASSERT_EQ(set.cases.size(), 48U);
  std::map<std::string, std::vector<Timed>> groups;  // by model and batch
  double errors = 0;
  for (const Case& row : set.cases) {
    const study::Prediction run = study::predict(io::read_scenario_text(row.scenario, row.id));
    const double predicted = run.metrics.simulated_step_time.value();
    const double measured = row.measured.step_time.value().value();
    errors += std::abs(predicted / measured - 1);
    groups[run.job.model.name + std::to_string(run.job.batch.global)].push_back({measured, predicted});
  }
  EXPECT_LT(errors / 48, 0.06);
  int pairs = 0, right = 0;
  for (const auto& [name, timed] : groups)
    for (std::size_t a = 0; a < timed.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        if (std::abs(timed[a].measured / timed[b].measured - 1) < 0.001) continue;  // printed alike
        ++pairs;
        right += (timed[a].measured < timed[b].measured) == (timed[a].predicted < timed[b].predicted) ? 1 : 0;
      }
  EXPECT_EQ(pairs, 71);
  EXPECT_EQ(right, 69) << "wrong: interleaved 1F1B and ZB-1p with 64 micro-batches, measured 2 and 0.2 % apart";
}

}  // namespace
}  // namespace foretoken::validate
