// Tests critical paths of runs with a known answer, and rules that hold for every path.
#include "sim/observe/critical_path.h"

#include <gtest/gtest.h>

#include "sim/schedule/flush/one_f_one_b.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::observe {
namespace {

using des::Duration;
using step::Workload;

// A run with one forward and one backward duration for every stage. Messages only delay their receiver.
struct Ran {
  Workload workload;
  des::RunResult run;
};

Ran one_f_one_b(int stages, int microbatches, Duration message) {
  Ran ran;
  step::add_stage_streams(ran.workload, stages);
  const auto passes = [stages](Duration duration) {
    return Table<Stage, Table<Chunk, Duration>>(stages, Table<Chunk, Duration>(1, duration));
  };
  const auto emitter = step::fixed_passes(
      {{schedule::OpKind::kForward, passes(Duration{1000})}, {schedule::OpKind::kBackward, passes(Duration{2000})}});
  step::PipelineOptions options{.policy = step::MessagePolicy::kBlocking};
  options.messages.to_next = options.messages.to_previous = Table<Stage, Duration>(stages, message);
  step::lower_pipeline(ran.workload, schedule::one_f_one_b({.stages = stages, .microbatches = microbatches}), options,
                       *emitter);
  ran.run = des::run(ran.workload.graph);
  return ran;
}

TEST(CriticalPath, CoversTheStepWithoutAGap) {
  for (const int stages : {1, 2, 4, 7})
    for (const int microbatches : {1, 3, 9})
      for (const int message : {0, 10, 5000}) {
        SCOPED_TRACE(testing::Message() << stages << " stages, " << microbatches << " micro-batches, message "
                                        << message);
        const Ran ran = one_f_one_b(stages, microbatches, Duration{message});
        const std::vector<des::TaskId> path = critical_path(ran.workload, ran.run);
        ASSERT_FALSE(path.empty());
        EXPECT_EQ(ran.run.start[path.front().value], des::Instant{});
        EXPECT_EQ(ran.run.end[path.back().value], ran.run.makespan);
        for (std::size_t i = 1; i < path.size(); ++i)
          EXPECT_EQ(ran.run.start[path[i].value], ran.run.end[path[i - 1].value]);
      }
}

TEST(CriticalPath, OfOneMicroBatchGoesDownAndUpTheStages) {
  const Ran ran = one_f_one_b(3, 1, Duration{10});
  std::vector<int> stages;
  for (const des::TaskId task : critical_path(ran.workload, ran.run)) {
    const step::TaskMeaning kind = ran.workload.meaning[task.value].kind;
    if (kind == step::TaskMeaning::kPass) stages.push_back(ran.workload.meaning[task.value].stage.number());
  }
  EXPECT_EQ(stages, (std::vector<int>{0, 1, 2, 2, 1, 0}));
}

}  // namespace
}  // namespace foretoken::observe
