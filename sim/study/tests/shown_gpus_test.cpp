// Tests the GPU that is shown for every stage: the one that the step waits for.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/observe/critical_path.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using schedule::OpKind;

struct Job {
  std::string parallelism = R"("pipeline": 4, "data": 4)";
  int gpus = 16, batch = 32;
};

Prediction run(const Job& job, const std::string& imperfections, How how = {.unfolded = true}) {
  return predict(io::read_scenario_text(R"({"model": {"base": "gpt2-medium", "tie_word_embeddings": false},
      "cluster": "dgx-a100-80gb-hdr", "runtime": "megatron-2021", "precision": "fp16", "gpus": )" +
                                            std::to_string(job.gpus) + R"(, "parallelism": {)" + job.parallelism +
                                            R"(}, "batch": {"micro": 1, "global": )" + std::to_string(job.batch) +
                                            R"(, "sequence_length": 1024}, "imperfections": {)" + imperfections + "}}",
                                        "test", {}),
                 how);
}

// Returns the shown length of the first pass of a stage.
std::int64_t first_pass_ps(const Prediction& prediction, Stage stage) {
  const step::PassTasks& pass = prediction.step.workload.passes[stage].front();
  return (prediction.run.end[pass.last.value] - prediction.run.start[pass.first.value]).ps;
}

std::int64_t bubble_ps(const Prediction& prediction, Stage stage) {
  const observe::StageActivity& activity = prediction.observations.stages[stage];
  return (activity.last_backward_end - activity.first_forward_start - activity.busy).ps;
}

constexpr const char* kSlowGpu5 = R"("slow_gpus": [{"gpu": 5, "slowdown": 3}])";

TEST(ShownGpus, ASlowGpuIsShownWithItsLongPassesAndItsPipelineThatWaits) {
  const Prediction equal = run({}, ""), uneven = run({}, kSlowGpu5);
  EXPECT_EQ(numbers_of(uneven.metrics.shown_gpus), (std::vector{1, 5, 9, 13})) << "the second replica, stage by stage";
  EXPECT_EQ(uneven.observations.busiest_stage, Stage{1});
  const step::PassTiming& timing = equal.step.passes->timing(Stage{1}, Chunk{0}, OpKind::kForward);
  EXPECT_NEAR(static_cast<double>(first_pass_ps(uneven, Stage{1})),
              static_cast<double>(timing.total.ps) + 2 * static_cast<double>(timing.compute.ps), 1);
  for (const Stage stage : {Stage{0}, Stage{2}, Stage{3}}) {
    EXPECT_EQ(first_pass_ps(uneven, stage), first_pass_ps(equal, stage)) << stage.number();
    EXPECT_GT(bubble_ps(uneven, stage), bubble_ps(equal, stage)) << stage.number() << " waits for it";
  }
  // The critical path of what is shown runs through the slow stage more than through any other.
  PerStage<std::int64_t> time(4);
  for (const des::TaskId task : observe::critical_path(uneven.step.workload, uneven.run))
    if (uneven.step.workload.meaning[task.value].kind == step::TaskMeaning::kPass)
      time[uneven.step.workload.meaning[task.value].stage] +=
          (uneven.run.end[task.value] - uneven.run.start[task.value]).ps;
  EXPECT_EQ(std::max_element(time.begin(), time.end()) - time.begin(), 1);
}

TEST(ShownGpus, EvenHardwareShowsTheLastToEndAndAFoldedStepNone) {
  EXPECT_EQ(numbers_of(run({}, "").metrics.shown_gpus), (std::vector{0, 4, 8, 12}));
  EXPECT_TRUE(run({}, "", {}).metrics.shown_gpus.empty());
}

TEST(ShownGpus, AFastGpuIsNotWaitedFor) {
  EXPECT_EQ(numbers_of(run({}, R"("slow_gpus": [{"gpu": 5, "slowdown": 0.5}])").metrics.shown_gpus),
            (std::vector{0, 4, 8, 12}));
}

// All replicas end with the gathering of parameters, and the replica of a fast GPU has waited for the others.
TEST(ShownGpus, AFastGpuIsNotShownWhereAllEndTogether) {
  const Prediction fast =
      predict(io::read_scenario_text(R"({"model": "gpt2-medium", "cluster": "dgx-a100-80gb-hdr", "gpus": 2,
          "batch": {"micro": 1, "global": 4, "sequence_length": 1024}, "optimizer": {"zero_stage": 1},
          "imperfections": {"slow_gpus": [{"gpu": 0, "slowdown": 0.8}]}})",
                                     "test", {}),
              {});
  EXPECT_EQ(numbers_of(fast.metrics.shown_gpus), std::vector{1});
  EXPECT_EQ(fast.metrics.time.bubble, Seconds(0)) << "without a pipeline no stage waits for another";
}

TEST(ShownGpus, GpusAreThoseOnWhichRanksArePlaced) {
  const Prediction placed = run({}, R"("slow_gpus": [{"gpu": 5, "slowdown": 3}],
      "placement": [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7])");
  EXPECT_EQ(numbers_of(placed.metrics.shown_gpus), (std::vector{9, 13, 1, 5}));
}

TEST(ShownGpus, KernelByKernelItIsTheSlowTensorRank) {
  const Job job{.parallelism = R"("tensor": 4, "data": 2)", .gpus = 8, .batch = 2};
  const How how{.fidelity = step::Fidelity::kKernel, .unfolded = true};
  const Prediction slow = run(job, R"("slow_gpus": [{"gpu": 6, "slowdown": 2}])", how);
  EXPECT_EQ(numbers_of(slow.metrics.shown_gpus), std::vector{6});
  const Prediction equal = run(job, "", how);
  // Its kernels last twice as long, and it waits for nobody.
  const auto kernels = [](const Prediction& prediction) {
    std::int64_t time = 0;
    for (std::uint32_t task = 0; task < prediction.step.workload.meaning.size(); ++task) {
      const step::Meaning& meaning = prediction.step.workload.meaning[task];
      if (meaning.kind == step::TaskMeaning::kPass && meaning.pass == OpKind::kForward && meaning.op != nullptr &&
          !meaning.op->axis)
        time += (prediction.run.end[task] - prediction.run.start[task]).ps;
    }
    return time;
  };
  ASSERT_GT(kernels(equal), 0);
  EXPECT_EQ(kernels(slow), 2 * kernels(equal));
}

TEST(ShownGpus, ASlowNicShowsTheRankWhoseMessagesItCarries) {
  const Job job{.parallelism = R"("pipeline": 2, "data": 8)", .gpus = 16, .batch = 32};
  const Prediction slow = run(job, R"("slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.01}])");
  EXPECT_EQ(numbers_of(slow.metrics.shown_gpus), (std::vector{3, 11}));
}

TEST(ShownGpus, OfAReplicaThatASlowLinkHoldsUpItIsTheRankBesideIt) {
  struct Beside {
    const char* name;
    const char* slow;
    std::vector<int> gpus;
  };
  const Job one_node{.parallelism = R"("tensor": 4, "data": 2)", .gpus = 8, .batch = 2};
  for (const auto& [name, slow, gpus] : {Beside{"the GPU at its end",
                                                R"("slow_links": [{"between": ["node 0 gpu 6", "node 0 nvswitch 0"],
                                                        "rate_factor": 0.01}])",
                                                {6}},
                                         Beside{"the GPU at the end of the slowest",
                                                R"("slow_links": [
                {"between": ["node 0 gpu 5", "node 0 nvswitch 0"], "rate_factor": 0.02},
                {"between": ["node 0 gpu 6", "node 0 nvswitch 0"], "rate_factor": 0.01},
                {"between": ["node 0 gpu 7", "node 0 nvswitch 0"], "rate_factor": 0.02}])",
                                                {6}},
                                         Beside{"wherever its rank is placed",
                                                R"("placement": [7, 6, 5, 4, 3, 2, 1, 0], "slow_links": [
                {"between": ["node 0 gpu 6", "node 0 nvswitch 0"], "rate_factor": 0.01}])",
                                                {6}}}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(numbers_of(run(one_node, slow).metrics.shown_gpus), gpus);
    EXPECT_EQ(numbers_of(run(one_node, slow, {.fidelity = step::Fidelity::kKernel}).metrics.shown_gpus), gpus);
  }
  const Job two_nodes{.parallelism = R"("tensor": 16)", .gpus = 16, .batch = 2};
  EXPECT_EQ(
      numbers_of(run(two_nodes, R"("slow_nics": [{"node": 1, "nic": 3, "rate_factor": 0.01}])").metrics.shown_gpus),
      std::vector{11})
      << "the GPU near the NIC";
}

}  // namespace
}  // namespace foretoken::study
