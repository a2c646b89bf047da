// Tests published results that a search must give: recomputation, training times, and the best configuration.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/study/predict/predict.h"
#include "sim/study/search/searcher.h"
#include "validate/case_set.h"

namespace foretoken::validate {
namespace {

using search::Candidate;
using search::Outcome;
using search::SearchResult;
using search::Space;

// The best step that a search finds for a question.
struct Found {
  Candidate candidate;
  double step_s = 0, days = 0;
};

Found best_of(const char* scenario, std::vector<std::string> sets) {
  const io::OpenScenario question = io::read_open_scenario_file(scenario, sets);
  const Space space(question, {});
  const SearchResult result = search::run_search(space, {.top = 1});
  if (result.ranking.top().empty()) throw std::runtime_error("nothing fits");
  const Outcome& best = result.ranking.top().front();
  const Candidate& candidate = space.candidates()[best.candidate];
  const job::Job chosen = job::make(job::with(question.asked(), space.patch_of(candidate, best.overlap))).job;
  const double step = des::to_seconds(best.step_time).value();
  const double tokens = static_cast<double>(chosen.batch.global * chosen.batch.sequence_length);
  return {candidate, step, question.asked().run->tokens / tokens * step / 86400};
}

constexpr const char* k175b = "gpt3-175b-1024-a100";

// arXiv:2205.05198, section 6, compares selective recomputation with sequence parallelism to full recomputation
// without.
TEST(Headlines, SelectiveRecomputationSavesAThirdOfFull) {
  const Found selective = best_of(k175b, {"parallelism.sequence_parallel=true", "recompute=selective"});
  const Found full = best_of(k175b, {"parallelism.sequence_parallel=false", "recompute=full"});
  EXPECT_GT(full.step_s / selective.step_s - 1, 0.25);
  EXPECT_LT(full.step_s / selective.step_s - 1, 0.35);
}

// GPT-3 175B on 300 billion tokens, 1024 A100, batch 1536. With full recomputation and the software of 2021 the
// estimate is 34 days (arXiv:2104.04473, section 5.1). With the software of 2022 it is 24 days.
TEST(Headlines, DaysOfGpt3) {
  EXPECT_NEAR(best_of(k175b, {}).days, 24, 3);
  const Found of_2021 =
      best_of(k175b, {"runtime=megatron-2021", "recompute=full", "parallelism.sequence_parallel=false",
                      "parallelism.virtual_pipeline=null", "schedule=null", "optimizer.zero_stage=0"});
  EXPECT_NEAR(of_2021.days, 34, 4);
}

// A trillion parameters on 450 billion tokens and 3072 A100 take 84 days (arXiv:2104.04473, section 5.1).
TEST(Headlines, DaysOfATrillionParameters) {
  const Found found = best_of("gpt-1t-3072-a100", {"optimizer.zero_stage=0"});
  EXPECT_EQ(found.candidate.degrees[Axis::kTensor], 8);
  EXPECT_EQ(found.candidate.degrees[Axis::kPipeline], 64);
  EXPECT_NEAR(found.days, 84, 9);
}

// For one model and number of GPUs, the configuration with the best predicted step is at most 3 % slower than the one
// with the best measured step. One model is an exception. Two of its 22 rows, with tensor degree 4 and pipeline 8, were
// measured 19 and 25 % slower than other rows of the same degrees suggest (docs/modeller/validation.md, set
// vtrain-multi). One of them is predicted to be the best.
TEST(Headlines, TheBestOfMeasuredConfigurationsIsFound) {
  const std::map<std::string, double> known_misses = {{"gpt-39b (modified)", 0.09}};
  const CaseSet set = read_case_set("vtrain-multi");
  struct Best {
    double predicted_s = 1e300, measured_of_predicted_s = 0, least_measured_s = 1e300;
    int rows = 0;
  };
  std::map<std::pair<std::string, int>, Best> models;
  for (const Case& row : set.cases) {
    if (!row.measured.step_time) continue;
    const job::Job scenario = io::read_scenario_text(row.scenario, row.id).job;
    const double tokens = static_cast<double>(scenario.batch.global * scenario.batch.sequence_length);
    const double predicted = study::predict(scenario).metrics.step_time.value() / tokens;
    const double measured = row.measured.step_time->value() / tokens;
    Best& best = models[{scenario.model.name, scenario.gpus}];
    ++best.rows;
    if (predicted < best.predicted_s) {
      best.predicted_s = predicted;
      best.measured_of_predicted_s = measured;
    }
    best.least_measured_s = std::min(best.least_measured_s, measured);
  }
  int models_compared = 0;
  for (const auto& [model, best] : models) {
    if (best.rows < 3) continue;
    ++models_compared;
    const auto known = known_misses.find(model.first);
    EXPECT_LE(best.measured_of_predicted_s / best.least_measured_s - 1,
              known == known_misses.end() ? 0.03 : known->second)
        << model.first << " on " << model.second << " GPUs, " << best.rows << " rows";
  }
  EXPECT_GE(models_compared, 4);
}

}  // namespace
}  // namespace foretoken::validate
