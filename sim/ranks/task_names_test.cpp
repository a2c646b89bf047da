// Tests that deadlocks in the step of every GPU name the work and the ranks that wait, and end the run.
#include "sim/ranks/task_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/step/lower.h"
#include "sim/step/test_job.h"

namespace foretoken::ranks {
namespace {

using testing::HasSubstr;

/// Two stages of tensor 2 x data 2: ranks 0 to 3, and 4 to 7.
struct Job {
  Job() {
    scenario = step::test_job(4, 1024);
    scenario.gpus = 8;
    scenario.parallelism.tensor = scenario.parallelism.data = scenario.parallelism.pipeline = 2;
    scenario.batch.micro = 1;
    scenario.batch.global = 4;
    scenario.batch.sequence_length = 1024;
    step = step::lower(scenario, step::Fidelity::kStage);
    unfolded = unfold(step, scenario, Traffic::kFlows);
  }
  /// Returns the first task of that name on a stage.
  [[nodiscard]] des::TaskId folded(std::string_view name, Stage stage) const {
    for (std::uint32_t task = 0; task < step.workload.meaning.size(); ++task) {
      const step::Meaning& meaning = step.workload.meaning[task];
      if (step::name_of(meaning, step.workload) == name && meaning.stage == stage) return {task};
    }
    ADD_FAILURE() << "no such task";
    return {};
  }
  [[nodiscard]] std::string deadlock() const {
    return des::describe_deadlock(unfolded.graph, des::run(unfolded.graph), names_of(step, unfolded));
  }
  job::Job scenario;
  step::LoweredStep step;
  UnfoldedStep unfolded;
};

TEST(TaskNames, AStepWithoutACircleIsNoDeadlock) { EXPECT_EQ(Job().deadlock(), ""); }

TEST(TaskNames, ACircleNamesItsTasksAndRanks) {
  Job job;
  const des::TaskId pass = job.folded("forward", Stage{1}), end = job.folded("optimizer", Stage{1});
  // Rank 7 is stage rank 3, in the second replica.
  job.unfolded.graph.add_dependency(job.unfolded.instance(end, {3}).end, job.unfolded.instance(pass, {3}).begin);
  const std::string text = job.deadlock();
  EXPECT_THAT(text, HasSubstr("in a circle: "));
  EXPECT_THAT(text, HasSubstr("forward of micro-batch 0, chunk 0 on ranks 6, 7"));
  EXPECT_THAT(text, HasSubstr("optimizer on rank 7"));
}

TEST(TaskNames, ACollectiveThatOneMemberNeverReachesIsNamedWithAllOfThem) {
  Job job;
  const des::TaskId reduction = job.folded("reduce gradients", Stage{0}), end = job.folded("optimizer", Stage{0});
  // Rank 1 reduces with rank 3. It arrives only after an optimizer that waits for the reduction.
  job.unfolded.graph.add_dependency(job.unfolded.instance(end, {1}).end, job.unfolded.instance(reduction, {1}).begin);
  const std::string text = job.deadlock();
  EXPECT_THAT(text, HasSubstr("reduce gradients on ranks 1, 3"));
  EXPECT_THAT(text, HasSubstr("optimizer on rank 1"));
}

TEST(TaskNames, OfAFoldedStepByStage) {
  const Job job;
  EXPECT_EQ(names_of(job.step).task(job.folded("optimizer", Stage{1})), "optimizer on stage 1");
}

}  // namespace
}  // namespace foretoken::ranks
