// Tests the waterfall: it adds up, its kernels are the replayed ones, and a change of the job moves the right line.
#include "sim/report/waterfall.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/delays.h"
#include "sim/study/predict/predict.h"
#include "sim/study/tests/test_scenarios.h"

namespace foretoken::study {
namespace {

using report::Waterfall;

Waterfall fall_of(const Prediction& run) { return report::waterfall_of(run.job, run.step, run.observations); }

Waterfall fall_of(const std::string& name, const std::vector<std::string>& sets = {}) {
  return fall_of(predict(io::read_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/" + name + ".json", sets)));
}

double seconds(const Waterfall& fall, std::string_view key) {
  for (const report::WaterfallStep& each : fall.steps)
    if (each.key == key) return des::to_seconds(each.time).value();
  ADD_FAILURE() << "no step " << key;
  return 0;
}

TEST(Waterfall, AddsUpToThePicosecondAndIsPlausibleOnEveryShippedScenario) {
  for (const std::string& file : shipped_scenarios()) {
    SCOPED_TRACE(file);
    const Prediction run = predict(io::read_scenario_file(file));
    const Waterfall fall = fall_of(run);
    std::int64_t sum = fall.ideal.ps;
    for (const report::WaterfallStep& each : fall.steps) sum += each.time.ps;
    EXPECT_EQ(sum, fall.step.ps);
    EXPECT_EQ(fall.step, run.run.makespan - des::Instant{});
    EXPECT_NEAR(des::to_seconds(fall.ideal).value() / run.metrics.step_time.value(), run.metrics.mfu, 1e-9);
    for (const report::WaterfallStep& each : fall.steps)
      if (each.key != "attention" && each.key != "uneven_stages") {
        EXPECT_GE(each.time.ps, 0) << each.key;
      }
    EXPECT_GT(seconds(fall, "matrix_products"), 0) << "no GEMM runs at peak";
    EXPECT_GT(seconds(fall, "memory_bound"), 0);
    EXPECT_GE(seconds(fall, "uneven_stages"), -1e-9) << "the busiest stage computes at least the mean";
  }
}

// Adds up the same classes over every kernel that kernel fidelity replays.
TEST(Waterfall, ItsKernelsAreThoseThatAreReplayed) {
  using Case = std::pair<const char*, std::vector<std::string>>;
  const std::string pairs = FORETOKEN_SOURCE_DIR "/sim/schedule/testdata/pytorch/dualpipev_4rank_10mb.csv";
  for (const auto& [name, sets] :
       {Case{"gpt3-175b-64-a100-full", {}}, Case{"gpt3-175b-64-a100-selective-sp", {}}, Case{"gpt-22b-8-a100-none", {}},
        // Some backward passes are whole here, others have two parts.
        Case{"llama-2-7b-8-a100",
             {"parallelism.data=null", "parallelism.pipeline=4", "parallelism.virtual_pipeline=2", "batch.global=20",
              "schedule.file=" + pairs}}}) {
    SCOPED_TRACE(name);
    const std::string file = std::string(FORETOKEN_SOURCE_DIR "/scenarios/") + name + ".json";
    const job::Job job = io::read_scenario_file(file, sets).job;
    const Prediction run = predict(job, {.fidelity = step::Fidelity::kKernel});
    std::int64_t recomputed = 0, computing = 0;
    for (std::size_t task = 0; task < run.step.workload.meaning.size(); ++task) {
      const step::TimedOp* op = run.step.workload.meaning[task].op;
      if (op == nullptr || op->axis) continue;
      const std::int64_t ps = run.run.end[task].ps - run.run.start[task].ps;
      computing += ps;
      if (op->recomputed) recomputed += ps;
    }
    const Waterfall fall = fall_of(predict(job));
    const int stages = job.parallelism.pipeline;
    EXPECT_NEAR(seconds(fall, "recompute"), 1e-12 * static_cast<double>(recomputed) / stages, 1e-9);
    const double kernels = des::to_seconds(fall.ideal).value() + seconds(fall, "matrix_products") +
                           seconds(fall, "attention") + seconds(fall, "memory_bound") + seconds(fall, "recompute");
    EXPECT_NEAR(kernels, 1e-12 * static_cast<double>(computing) / stages, 1e-6);
  }
}

TEST(Waterfall, AChangeMovesTheStepThatItShould) {
  const Waterfall full = fall_of("gpt3-175b-64-a100-full"),
                  none = fall_of("gpt3-175b-64-a100-full", {"recompute=none"});
  EXPECT_EQ(seconds(none, "recompute"), 0);
  // Full recomputation repeats every forward pass: a third of the model's operations, at no better rate.
  EXPECT_GT(seconds(full, "recompute"), des::to_seconds(full.ideal).value() / 3);
  EXPECT_EQ(full.ideal, none.ideal);

  const Waterfall few = fall_of("gpt3-175b-64-a100-full", {"batch.global=16"});
  const auto share = [](const Waterfall& fall) { return seconds(fall, "bubble") / des::to_seconds(fall.step).value(); };
  EXPECT_GT(share(few), 2 * share(full)) << "a quarter of the micro-batches";

  const Waterfall base = fall_of(
      "gpt-22b-8-a100-none", {"cluster={\"base\": \"selene\", \"node\": {\"nvlink\": {\"gb_per_s_per_gpu\": 30}}}"});
  EXPECT_GT(seconds(base, "tensor_parallel_comm"), 3 * seconds(fall_of("gpt-22b-8-a100-none"), "tensor_parallel_comm"));
}

// Small groups, the wait for the host, the exchanges and uneven routing have a line each.
TEST(Waterfall, ExpertsHaveLinesOfTheirOwn) {
  const std::string name = FORETOKEN_SOURCE_DIR "/scenarios/deepseek-v3-2048-h800.json";
  const Prediction even = predict(io::read_scenario_file(name));
  const Prediction uneven = predict(io::read_scenario_file(name, std::vector<std::string>{"moe.imbalance=1.3"}));
  const Waterfall without = waterfall_of(even), with = waterfall_of(uneven);
  for (const char* key : {"expert_products", "expert_wait", "expert_parallel_comm"})
    EXPECT_GT(seconds(without, key), 0);
  for (const report::WaterfallStep& each : without.steps) {
    if (each.key == "bias") continue;
    EXPECT_NEAR(seconds(with, each.key), des::to_seconds(each.time).value(), 1e-9) << each.key;
  }
  EXPECT_NEAR(seconds(with, "imbalance"),
              (uneven.metrics.simulated_step_time - even.metrics.simulated_step_time).value(), 1e-9);
  std::int64_t sum = with.ideal.ps;
  for (const report::WaterfallStep& each : with.steps) sum += each.time.ps;
  EXPECT_EQ(sum, with.step.ps);
  const Waterfall dense = fall_of("gpt-22b-8-a100-none");
  EXPECT_TRUE(std::ranges::none_of(dense.steps, [](const auto& each) { return each.key.starts_with("expert"); }));
}

TEST(Waterfall, TextHasALineForEveryStepThatIsNotZero) {
  const Prediction run = predict(io::read_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt-22b-8-a100-full.json"));
  const Waterfall fall = fall_of(run);
  const std::string text = report::waterfall_text(fall, run.job, report::Paint(false));
  const auto lines = std::count(text.begin(), text.end(), '\n');
  const auto shown =
      std::count_if(fall.steps.begin(), fall.steps.end(), [](const auto& each) { return each.time.ps != 0; });
  EXPECT_EQ(lines, shown + 4) << "an empty line, the title, the ideal, the step";
  EXPECT_THAT(text, testing::HasSubstr("the model's operations at 312 TFLOP/s"));
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("bubble"))) << "one stage";
}

}  // namespace
}  // namespace foretoken::study
