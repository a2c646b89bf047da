// Tests that rows, byte table and flows of the communication table agree, for one job of each kind.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "sim/observe/communication.h"
#include "sim/ranks/unfold.h"
#include "sim/step/profile_uses.h"
#include "sim/step/test_job.h"

namespace foretoken::observe {
namespace {

using job::Job;
using step::Communication;
using step::Purpose;

constexpr int kBatches = 2, kRanks = 8;

Job data_parallel_job() {
  Job s = step::test_job(2, 1024);
  s.gpus = s.parallelism.data = kRanks;
  s.batch = {.micro = 1, .global = kBatches * kRanks, .sequence_length = 1024, .microbatch_group = 0};
  return s;
}

Job split(int tensor, int context, int pipeline) {
  Job s = data_parallel_job();
  s.parallelism.tensor = tensor;
  s.parallelism.context = context;
  s.parallelism.pipeline = pipeline;
  s.parallelism.data = kRanks / (tensor * context * pipeline);
  s.batch.global = kBatches * s.parallelism.data;
  return s;
}

Job sharded_job(int zero_stage, bool fully_sharded) {
  Job s = data_parallel_job();
  s.optimizer.zero_stage = zero_stage;
  s.runtime.fully_sharded = fully_sharded;
  return s;
}

Job sequence_parallel_job() {
  Job s = split(2, 1, 1);
  s.parallelism.sequence_parallel = true;
  return s;
}

Job pipeline_job() {
  Job s = split(1, 1, 2);
  s.model.tied_embeddings = true;
  return s;
}

struct Case {
  const char* name;
  Job job;
  std::set<Purpose> purposes;  // besides the gradient norm
};

std::vector<Case> cases() {
  using enum Purpose;
  return {{"data parallel: gradients", data_parallel_job(), {kGradients}},
          {"ZeRO-1: parameters come back", sharded_job(1, false), {kGradients, kParameters}},
          {"FSDP: the same, unit by unit", sharded_job(3, true), {kGradients, kParameters}},
          {"pipeline: messages, and the token table of both ends",
           pipeline_job(),
           {kActivations, kActivationGradients, kGradients, kTiedEmbedding}},
          {"context parallel: a ring inside passes", split(1, 2, 1), {kPass, kGradients}},
          {"sequence parallel: norms differ by rank", sequence_parallel_job(), {kPass, kNormGradients, kGradients}}};
}

// Counts the tasks of a workload that carry out a row for `stage`.
template <class F>
void for_each_row(const step::Workload& workload, Stage stage, F&& f) {
  for (std::uint32_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    const Communication* row = workload.communication_of(meaning);
    if (row == nullptr) continue;
    const bool in_pass = meaning.kind == step::TaskMeaning::kPass;
    if (in_pass ? meaning.stage == stage : row->involves(stage)) f(*row, des::TaskId{task});
  }
}

TEST(CommunicationRows, AJobHasTheRowsOfItsKind) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    std::set<Purpose> lowered, listed;
    for (const Communication& row : step::lower(c.job, step::Fidelity::kStage).workload.communications)
      lowered.insert(row.purpose);
    for (const Communication& row : step::communications_of(c.job)) listed.insert(row.purpose);
    EXPECT_EQ(lowered, listed) << "the list without a lowering";
    EXPECT_EQ(lowered.erase(Purpose::kGradientNorm), 1U);
    EXPECT_EQ(lowered, c.purposes);
  }
}

TEST(CommunicationRows, TheByteTableIsTheSumOverTheTasksOfEachAxis) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const step::LoweredStep kernels = step::lower(c.job, step::Fidelity::kKernel);
    const des::RunResult run = des::run(kernels.workload.graph);
    const Observations observed = observe_stages(kernels, run);
    std::map<Axis, Traffic> sums;
    for_each_row(kernels.workload, observed.busiest_stage, [&](const Communication& row, des::TaskId task) {
      if (!row.counts_for || row.purpose == Purpose::kNormGradients) return;
      Traffic& sum = sums[*row.counts_for];
      ++sum.operations;
      sum.payload += row.payload;
      sum.time += des::to_seconds(kernels.workload.graph.duration(task));
    });
    const std::vector<GroupTraffic> table = communication(kernels, run, observed);
    ASSERT_EQ(table.size(), sums.size());
    for (const GroupTraffic& group : table) {
      const Axis axis = group.group == "tensor-parallel"    ? Axis::kTensor
                        : group.group == "context-parallel" ? Axis::kContext
                        : group.group == "pipeline"         ? Axis::kPipeline
                                                            : Axis::kData;
      EXPECT_EQ(group.operations, sums[axis].operations);
      EXPECT_DOUBLE_EQ(group.payload.value(), sums[axis].payload.value());
      EXPECT_DOUBLE_EQ(group.time.value(), sums[axis].time.value());
    }
  }
}

TEST(CommunicationRows, ATaskLastsAsLongAsItsRowCosts) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const step::LoweredStep kernels = step::lower(c.job, step::Fidelity::kKernel);
    int compared = 0;
    for_each_row(kernels.workload, Stage{0}, [&](const Communication& row, des::TaskId task) {
      EXPECT_EQ(kernels.workload.graph.duration(task), step::time_of(row, c.job)) << row.name;
      EXPECT_LE(step::latency_of(row, c.job), step::cost_of(row, c.job)) << row.name;
      ++compared;
    });
    EXPECT_GT(compared, 1);
  }
}

TEST(CommunicationRows, WhatHasARowMovesAsFlowsAndNothingElseDoes) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const step::LoweredStep kernels = step::lower_for_flows(c.job, step::Fidelity::kKernel);
    const ranks::UnfoldedStep unfolded = ranks::unfold(kernels, c.job, ranks::Traffic::kFlows);
    for (std::uint32_t task = 0; task < kernels.workload.meaning.size(); ++task) {
      const Communication* row = kernels.workload.communication_of(kernels.workload.meaning[task]);
      const ranks::Instance& instance = unfolded.instance({task}, StageRank{});
      const bool flows = instance.begin != instance.end || unfolded.graph.kind(instance.begin) == des::TaskKind::kFlow;
      EXPECT_EQ(flows, row != nullptr && row->purpose != Purpose::kGradientNorm);
    }
  }
}

}  // namespace
}  // namespace foretoken::observe
