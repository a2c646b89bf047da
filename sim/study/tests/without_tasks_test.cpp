// Predicts every shipped scenario with and without a task graph: all numbers are equal.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/fast/bounds.h"
#include "sim/fast/forward_only.h"
#include "sim/fast/observed_step.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/report/json.h"
#include "sim/schedule/catalogue.h"
#include "sim/step/forward_only.h"
#include "sim/study/predict/predict.h"
#include "sim/study/tests/test_scenarios.h"

namespace foretoken::study {
namespace {

using observe::StageSplit;

void expect_equal(const StageSplit& one, const StageSplit& other) {
  EXPECT_EQ(one.compute, other.compute);
  EXPECT_EQ(one.optimizer, other.optimizer);
  EXPECT_EQ(one.bubble, other.bubble);
  EXPECT_EQ(one.host, other.host);
  EXPECT_EQ(one.other, other.other);
  EXPECT_EQ(one.offload, other.offload);
  for (const auto& [axis, name] : kAxisNames) EXPECT_EQ(one.comm[axis], other.comm[axis]) << name;
}

void expect_equal(const observe::Observations& one, const observe::Observations& other) {
  EXPECT_EQ(one.makespan, other.makespan);
  EXPECT_EQ(one.busiest_stage, other.busiest_stage);
  ASSERT_EQ(one.stages.size(), other.stages.size());
  for (const Stage stage : one.stages.ids()) {
    EXPECT_EQ(one.stages[stage].busy, other.stages[stage].busy) << stage.number();
    EXPECT_EQ(one.stages[stage].first_forward_start, other.stages[stage].first_forward_start) << stage.number();
    EXPECT_EQ(one.stages[stage].last_backward_end, other.stages[stage].last_backward_end) << stage.number();
  }
  expect_equal(one.busiest, other.busiest);
}

void expect_equal(const Prediction& one, const Prediction& other) {
  EXPECT_EQ(report::to_json(one.metrics), report::to_json(other.metrics));
  EXPECT_EQ(one.run.makespan, other.run.makespan);
  EXPECT_EQ(one.step.most_sends, other.step.most_sends);
  EXPECT_EQ(one.step.message, other.step.message);
  EXPECT_EQ(one.step.program, other.step.program);
  expect_equal(one.observations, other.observations);
  ASSERT_EQ(one.memory.size(), other.memory.size());
  for (const Stage stage : one.memory.ids()) {
    const observe::StageTimeline &a = one.memory[stage], &b = other.memory[stage];
    EXPECT_EQ(a.peak, b.peak);
    EXPECT_EQ(a.activations_at_peak, b.activations_at_peak);
    EXPECT_EQ(a.transient_at_peak, b.transient_at_peak);
    EXPECT_EQ(a.chunks_at_peak, b.chunks_at_peak);
    EXPECT_EQ(a.most_chunks, b.most_chunks);
    EXPECT_EQ(a.stored.values(), b.stored.values());
  }
}

// Returns the largest peak of a stage.
Bytes peak_of(const report::Memory& memory) {
  Bytes peak;
  for (const report::StageMemory& stage : memory.per_stage) peak = std::max(peak, stage.peak);
  return peak;
}

void expect_the_same_without_tasks(const job::Job& job) {
  const Prediction without = predict(job, {.keeps_tasks = false});
  EXPECT_EQ(peak_of(without.metrics.memory), search::peak_memory(job));
  const bool has_tasks = without.step.workload.graph.tasks() > 0;
  EXPECT_EQ(has_tasks, without.how.unfolded || !fast::has_observed_step(job));
  if (!has_tasks) expect_equal(predict(job), without);
  EXPECT_EQ(fast::forward_only_time(job), step::forward_only_time(job));
}

TEST(WithoutTasks, EveryShippedScenarioHasTheSameNumbers) {
  for (const std::string& file : shipped_scenarios()) {
    SCOPED_TRACE(file);
    expect_the_same_without_tasks(io::read_scenario_file(file).job);
  }
}

// Returns a step of 16 micro-batches on 8 stages; nothing where a rule refuses it.
std::optional<job::Job> step_of(std::vector<std::string> sets) {
  sets.insert(sets.begin(), "batch.global=256");
  try {
    return io::read_scenario_file(FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json", sets).job;
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

TEST(WithoutTasks, EveryScheduleHasTheSameNumbers) {
  std::set<std::string_view> seen;
  for (const schedule::Schedule& schedule : schedule::all_schedules())
    for (const char* chunks : {"1", "2", "3"}) {
      SCOPED_TRACE(schedule.name + " with chunks " + chunks);
      const std::optional<job::Job> job = step_of(
          {"schedule=" + schedule.name, std::string("parallelism.virtual_pipeline=") + chunks, "overlap.p2p=null"});
      if (!job) continue;
      seen.insert(schedule.name);
      expect_the_same_without_tasks(*job);
    }
  EXPECT_EQ(seen.size(), schedule::all_schedules().size());
}

struct Way {
  const char* words;
  std::vector<std::string> sets;
};

TEST(WithoutTasks, EveryWayToCarryOutAPipelineHasTheSameNumbers) {
  const Way ways[] = {
      {"messages beside passes", {}},
      {"messages that both sides wait for", {"overlap.p2p=false"}},
      {"gradients reduced beside the last passes", {"overlap.grad_reduce=true"}},
      {"parameters gathered beside the first passes",
       {"optimizer.zero_stage=1", "overlap.grad_reduce=true", "overlap.param_gather=true"}},
      {"parameters gathered after the step", {"optimizer.zero_stage=1"}},
      {"unequal stages", {"parallelism.embedding_and_head_as_layers=true", "model.n_layer=94"}},
      {"one stage",
       {"parallelism.pipeline=1", "parallelism.virtual_pipeline=1", "schedule=1f1b", "overlap.p2p=null",
        "parallelism.data=128"}},
      {"optimizer states updated on the host",
       {"runtime=deepspeed", "parallelism.virtual_pipeline=1", "schedule=1f1b", "overlap.p2p=null",
        "optimizer.zero_stage=1", "offload.optimizer=cpu"}},
      {"an update on the host beside passes",
       {"runtime=deepspeed", "parallelism.virtual_pipeline=1", "schedule=1f1b", "overlap.p2p=null",
        "optimizer.zero_stage=1", "offload.optimizer=cpu", "offload.delayed_update=true"}},
      {"activations on the host", {"runtime=megatron-core", "offload.activations=0.5"}},
      {"frozen weights beside LoRA", {"runtime=megatron-lora", "training.method=lora", "training.rank=16"}},
      {"embedding and head that train whole beside LoRA",
       {"runtime=megatron-lora", "training.method=lora", "training.rank=16",
        R"(training.whole=["embedding", "head"])"}},
      {"virtual tokens on the first stage",
       {"runtime=megatron-lora", "training.method=p-tuning", "training.virtual_tokens=100"}},
      {"LoRA in waves over the stages",
       {"runtime=megatron-lora", "training.method=lora", "training.rank=16", "schedule=hanayo", "overlap.p2p=null",
        "parallelism.virtual_pipeline=2"}},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.words);
    const std::optional<job::Job> job = step_of(way.sets);
    ASSERT_TRUE(job);
    expect_the_same_without_tasks(*job);
  }
}

}  // namespace
}  // namespace foretoken::study
