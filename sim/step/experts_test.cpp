// Tests jobs with experts: two grids over the same GPUs, their reductions, their memory and their exchanges.
#include <gtest/gtest.h>

#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/pass_communication.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/replicas/lower_data_parallel.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr double kExpertHidden = 1024, kExpertWide = 2048;

// 8 layers, the first two dense, on two nodes of 8: pipeline 2, data 8. Experts: expert 4, expert-data 2.
job::Job expert_job() {
  job::Job s = test_job(8, 1024);
  s.model.experts = model::Experts{.count = 8, .per_token = 2, .width = 2048, .dense_first = 2};
  s.gpus = 16;
  s.parallelism.pipeline = 2;
  s.parallelism.data = 8;
  s.parallelism.expert = 4;
  s.optimizer.zero_stage = 1;
  s.batch = {.micro = 1, .global = 32, .sequence_length = 1024, .microbatch_group = {}};
  return s;
}

// Weights and biases of one expert.
double one_expert() { return 2 * kExpertHidden * kExpertWide + kExpertWide + kExpertHidden; }

const Communication* reduction_over(const LoweredStep& step, AxisSet axes) {
  for (const Communication& row : step.workload.communications)
    if (row.purpose == Purpose::kGradients && row.axes == axes) return &row;
  return nullptr;
}

// Layers of experts wait for the host whether or not their tokens travel.
TEST(ExpertJob, EveryLayerOfExpertsWaitsForTheHost) {
  job::Job s = expert_job();
  const auto waits = [&] {
    int count = 0;
    const LoweredStep step = lower(s, Fidelity::kStage);
    for (const TimedOps* block : step.passes->blocks(Stage{1}, Chunk{0}, schedule::OpKind::kForward))
      for (const TimedOp& op : *block) count += op.kind == KernelKind::kWait ? 1 : 0;
    return count;
  };
  s.runtime.expert_wait = microseconds(100);
  EXPECT_EQ(waits(), 4);
  s.parallelism.expert = 1;
  EXPECT_EQ(waits(), 4);
  s.cuda_graphs = job::CudaGraphs::kFull;
  EXPECT_EQ(waits(), 0);
}

TEST(ExpertJob, GradientsOfExpertsAreReducedOverTheirOwnRanks) {
  const job::Job s = expert_job();
  const LoweredStep step = lower(s, Fidelity::kStage);
  const LocalParameters parameters(s);
  const double experts = 2 * 2 * one_expert();  // of the first stage: two layers with experts, two of eight on a rank
  EXPECT_EQ(parameters.experts_of_stage(Stage{0}), experts);
  const Communication* of_experts = reduction_over(step, Axis::kExpertData);
  const Communication* of_rest = reduction_over(step, net::kReplicaAxes);
  ASSERT_TRUE(of_experts != nullptr && of_rest != nullptr);
  EXPECT_EQ(of_experts->payload.value(), 4 * experts);
  EXPECT_EQ(of_experts->site.group.ranks, 2);
  EXPECT_EQ(of_rest->payload.value(), 4 * (parameters.of_stage(Stage{0}) - experts));
  EXPECT_EQ(of_rest->site.group.ranks, 8);
}

TEST(ExpertJob, AllRanksHaveTheirOwnExpertsWhereTheGridHasNoReplicas) {
  job::Job s = expert_job();
  s.parallelism.expert = 8;
  const LoweredStep step = lower(s, Fidelity::kStage);
  EXPECT_EQ(reduction_over(step, Axis::kExpertData), nullptr);
  EXPECT_NE(reduction_over(step, net::kReplicaAxes), nullptr);
}

TEST(ExpertJob, OptimizerStatesOfExpertsAreShardedOverTheirOwnRanks) {
  const job::Job s = expert_job();
  const LocalParameters parameters(s);
  const double experts = parameters.experts_of_stage(Stage{1}), all = parameters.of_stage(Stage{1});
  const StaticMemory held = JobMemory(s).held(Stage{1});
  EXPECT_DOUBLE_EQ(held.optimizer.value(), 12 * ((all - experts) / 8 + experts / 2));
  EXPECT_EQ(held.weights.value(), 2 * all);
}

TEST(ExpertJob, BothFidelitiesAgree) {
  for (const bool overlap : {false, true}) {
    job::Job s = expert_job();
    s.overlap.grad_reduce = s.overlap.param_gather = overlap;
    const auto step_time = [&](Fidelity fidelity) {
      const LoweredStep step = lower(s, fidelity);
      return des::run(step.workload.graph).makespan.ps;
    };
    EXPECT_EQ(step_time(Fidelity::kStage), step_time(Fidelity::kKernel)) << "overlap " << overlap;
  }
}

TEST(ExpertJob, AnOverlapHidesTheReductionOfExperts) {
  job::Job s = expert_job();
  s.model.layers = 32;
  s.gpus = 8;
  s.parallelism.pipeline = 1;  // the first stage reduces bucket by bucket
  s.model.experts->width = 8192;
  s.optimizer.zero_stage = 0;
  const auto step_time = [&] {
    const LoweredStep step = lower(s, Fidelity::kStage);
    return des::run(step.workload.graph).makespan;
  };
  const auto exposed = step_time();
  const LoweredStep whole = lower(s, Fidelity::kStage);
  s.overlap.grad_reduce = true;
  EXPECT_LT(step_time(), exposed);
  const LoweredStep buckets = lower(s, Fidelity::kStage);
  const auto reductions = [](const LoweredStep& step) {
    std::pair<int, double> found;
    for (const Communication& row : step.workload.communications)
      if (row.purpose == Purpose::kGradients && row.axes == AxisSet(Axis::kExpertData))
        found = {found.first + 1, found.second + row.payload.value()};
    return found;
  };
  EXPECT_GT(reductions(buckets).first, 2);
  EXPECT_DOUBLE_EQ(reductions(buckets).second, reductions(whole).second);
}

/// One stage of eight layers, six with experts, and four micro-batches.
job::Job one_stage() {
  job::Job s = expert_job();
  s.gpus = 8;
  s.parallelism.pipeline = 1;
  return s;
}

std::int64_t kernel_step(const job::Job& s) {
  const LoweredStep step = lower(s, Fidelity::kKernel);
  return des::run(step.workload.graph).makespan.ps;
}

TEST(ExpertJob, EachForwardPassOfExpertsWaitsForTheHost) {
  job::Job s = one_stage();
  const std::int64_t without = kernel_step(s);
  s.runtime.expert_wait = Seconds(1e-3);
  EXPECT_EQ(kernel_step(s) - without, std::int64_t{4} * 6 * 1'000'000'000);
  s.cuda_graphs = job::CudaGraphs::kFull;
  const std::int64_t graphs = kernel_step(s);
  s.runtime.expert_wait = Seconds(0);
  EXPECT_EQ(kernel_step(s), graphs) << "a graph issues the kernels";
}

TEST(ExpertJob, AProductOfAnExpertTakesAsLongAsItsLaunch) {
  job::Job s = one_stage();
  s.runtime.fusions.grouped_experts = false;
  const std::int64_t without = kernel_step(s);
  s.runtime.expert_product = Seconds(0.1);                // far more than any product takes
  const std::int64_t products = std::int64_t{4} * 6 * 6;  // two forward, four backward
  EXPECT_GT(kernel_step(s), products * 2 * 100'000'000'000) << "two experts a rank";
  EXPECT_LT(kernel_step(s), products * 2 * 100'000'000'000 + without);
  s.runtime.fusions.grouped_experts = true;
  EXPECT_LE(kernel_step(s), without) << "one kernel";
}

TEST(ExpertJob, ExchangesBesideAnotherMicrobatchAreHidden) {
  job::Job s = one_stage();
  const std::int64_t exposed = kernel_step(s);
  s.overlap.exchanges = true;
  EXPECT_LT(kernel_step(s), exposed);
  s.batch.global = 8;  // one micro-batch has no other beside it
  const std::int64_t alone = kernel_step(s);
  s.overlap.exchanges = false;
  EXPECT_EQ(kernel_step(s), alone);
}

TEST(ExpertJob, ATokenCrossesTheNetworkOnceForEachNode) {
  job::Job s = expert_job();  // two nodes of eight
  s.parallelism.pipeline = 1;
  s.parallelism.data = 16;
  s.parallelism.expert = 8;
  s.parallelism.tensor = 1;
  const auto exchanged = [&](int per_node) {
    s.cluster.links.gpus = per_node;
    for (const Communication& row : pass_communications(s))
      if (row.axes == AxisSet(Axis::kExpert)) return row.payload.value();
    return 0.0;
  };
  s.routing.dispatcher = model::Dispatcher::kDeepEp;
  // Of eight experts on eight ranks a token meets two. Of two nodes with four experts each it meets 2 (1 - 3/14).
  EXPECT_NEAR(exchanged(4) / exchanged(8), 2 * (1 - 3.0 / 14) / 2, 1e-12);
  s.routing.dispatcher = model::Dispatcher::kAllToAll;
  EXPECT_EQ(exchanged(4), exchanged(8));
}

// The law of each phase is a launch of its own, so that the times tell the phases apart.
TEST(ExpertJob, DeepEpTakesTheTimesOfItsLaws) {
  job::Job s = expert_job();
  s.parallelism.pipeline = 1;
  s.parallelism.data = 16;
  s.parallelism.expert = 8;
  s.routing.dispatcher = model::Dispatcher::kDeepEp;
  const auto law = [&](ExchangePhase phase, double launch_us) {
    return cost::ExchangeLaw{.phase = phase,
                             .launch = microseconds(launch_us),
                             .by_multiprocessor = true,
                             .rate = gigabytes_per_second(10),
                             .link = s.profile.nvlink.reference};
  };
  s.profile.exchanges = {law(ExchangePhase::kDispatch, 100), law(ExchangePhase::kCombine, 1000)};
  s.cluster.links.gpus = 8;
  int rows = 0;
  for (const Communication& row : pass_communications(s)) {
    if (row.axes != AxisSet(Axis::kExpert)) continue;
    ++rows;
    const bool sums = row.name == "combine tokens" || row.name == "dispatch gradient";
    // Of eight experts on eight ranks a token meets two. 1,024 tokens of 16 bits are sent by 20 multiprocessors.
    const double bytes = 1024.0 * 2 * 2 * kExpertHidden,
                 links = 7.0 / 8 * bytes / s.cluster.links.nvlink_per_gpu.value();
    EXPECT_NEAR(cost_of(row, s).value(), (sums ? 1000e-6 : 100e-6) + bytes / (20 * 10e9) + links, 1e-12) << row.name;
    EXPECT_NEAR(latency_of(row, s).value(), sums ? 1000e-6 : 100e-6, 1e-15) << row.name;
  }
  EXPECT_EQ(rows, 4);
  s.runtime.deepep_multiprocessors = 40;
  for (const Communication& row : pass_communications(s)) {
    if (row.exchange) {
      EXPECT_EQ(row.exchange->multiprocessors, 40);
    }
  }
}

TEST(ExpertJob, AnOverlapGathersExpertsBeforeTheirOwnBlocks) {
  job::Job s = expert_job();
  s.model.layers = 32;
  s.gpus = 8;
  s.parallelism.pipeline = 1;
  s.model.experts->width = 8192;
  Workload workload;
  add_stage_streams(workload, 1, stage_axes(s));
  s.overlap.param_gather = true;
  const Passes passes(s);
  const ForwardGates gates = lower_parameter_gather(workload, s, passes.trained());
  const auto& blocks = gates[Stage{0}][Chunk{0}];
  EXPECT_EQ(blocks.size(), 34U) << "embedding, layers, head";
  int of_experts = 0, at_the_start = 0;
  for (std::size_t block = 0; block < blocks.size(); ++block)
    for (const des::TaskId task : blocks[block]) {
      const Communication* row = workload.communication_of(workload.meaning[task.value]);
      if (row == nullptr || row->axes != AxisSet(Axis::kExpertData)) continue;
      ++of_experts;
      at_the_start += block < 4 ? 1 : 0;
    }
  EXPECT_GT(of_experts, 4);
  EXPECT_LT(at_the_start, of_experts / 2) << "not all at the start";
}

TEST(ExpertJob, ExchangesTakeTimeThatGrowsWithTheirImbalance) {
  const auto exchange = [](const job::Job& s) {
    const Passes passes(s);
    return passes.timing(Stage{1}, Chunk{0}, schedule::OpKind::kForward).comm[Axis::kExpert].ps;
  };
  job::Job s = expert_job();
  const auto balanced = exchange(s);
  EXPECT_GT(balanced, 0);
  s.routing.imbalance = 2;
  EXPECT_GT(exchange(s), balanced);
  s.parallelism.expert = 1;
  EXPECT_EQ(exchange(s), 0) << "one rank has all experts";
}

TEST(ExpertJob, PeaksHaveRoomForUnevenRoutingUnlessItIsStated) {
  job::Job s = expert_job();
  const auto stash = [&](Rows rows) { return JobMemory(s, rows).of_pass(Stage{1}, Chunk{0}).stash.value(); };
  const double unstated = stash(Rows::kAtPeak), mean = stash(Rows::kMean);
  EXPECT_EQ(s.imbalance_at_peak(), 1.5);
  EXPECT_EQ(s.layer_context().experts.imbalance, 1) << "in times";
  s.routing.imbalance = 1.5;
  EXPECT_EQ(stash(Rows::kAtPeak), unstated);
  s.routing.imbalance = 1;
  EXPECT_EQ(stash(Rows::kAtPeak), mean);
  EXPECT_LT(mean, unstated);
  s.routing.imbalance.reset();
  s.routing.capacity_factor = 1;
  EXPECT_EQ(s.imbalance_at_peak(), 1) << "every expert has equally many rows";
  s.routing.capacity_factor.reset();
  s.parallelism.expert = 1;
  EXPECT_EQ(s.imbalance_at_peak(), 1) << "one rank has all experts";
  s.model.experts->per_token = s.model.experts->count;
  s.parallelism.expert = 4;
  EXPECT_EQ(s.imbalance_at_peak(), 1) << "every token meets all experts";
}

TEST(ExpertJob, PassesExchangeOverTheExpertsGrid) {
  job::Job s = expert_job();
  s.gpus = 32;
  s.parallelism.tensor = s.parallelism.expert_tensor = 2;
  s.parallelism.sequence_parallel = true;
  bool over_experts = false, over_tensor = false;
  for (const Communication& row : pass_communications(s)) {
    over_experts = over_experts || (row.axes == Axis::kExpert && row.site.group.ranks == 4);
    over_tensor = over_tensor || (row.axes == Axis::kExpertTensor && row.site.group.ranks == 2);
  }
  EXPECT_TRUE(over_experts && over_tensor);
}

}  // namespace
}  // namespace foretoken::step
