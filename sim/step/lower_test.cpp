// Tests the end of a step on a job small enough to work out by hand: reductions, gathers and waits.
#include "sim/step/lower.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/cost/costs.h"
#include "sim/des/engine.h"
#include "sim/step/memory/test_memory.h"
#include "sim/step/messages.h"
#include "sim/step/passes/lower_layer.h"
#include "sim/step/profile_uses.h"
#include "sim/step/replicas/lower_data_parallel.h"
#include "sim/step/replicas/optimizer_traffic.h"
#include "sim/step/replicas/replicas.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

// Returns a job of 8 layers of hidden 1024 on two nodes of 8 A100: tensor 2, pipeline 2, data 4.
job::Job job() {
  job::Job s = test_job(8, 1024);
  s.gpus = 16;
  s.parallelism.tensor = 2;
  s.parallelism.pipeline = 2;
  s.parallelism.data = 4;
  s.batch = {.micro = 1, .global = 16, .sequence_length = 1024, .microbatch_group = {}};
  return s;
}

Seconds host_time(const TimedOps& ops) {
  Seconds sum;
  for (const TimedOp& op : ops) sum += des::to_seconds(op.host);
  return sum;
}

TEST(MessageDurations, AreTheTimesOfTheMessages) {
  job::Job s = job();
  s.gpus = 32;  // two stages of 4 ranks a node: every other message crosses to the next node
  s.parallelism.tensor = 4;
  s.parallelism.pipeline = 8;
  s.parallelism.data = 1;
  const job::Parts parts(s);
  const MessageDurations all = message_durations(s);
  for (const Stage stage : ids<Stage>(8)) {
    const Stage next = id_of<Stage>((stage.number() + 1) % 8);
    EXPECT_EQ(all.to_next[stage], time_of(message_between(s, parts, stage, next, Purpose::kActivations), s));
    EXPECT_EQ(all.to_previous[next], time_of(message_between(s, parts, next, stage, Purpose::kActivationGradients), s));
  }
  EXPECT_NE(all.to_next[Stage{0}], all.to_next[Stage{1}]);
}

TEST(HostTime, TheRuntimeStatesItForALayerAndEveryOpTakesAnEqualShare) {
  job::Job s = job();
  s.attention = model::AttentionKind::kUnfused;
  s.model.hidden_dropout = s.model.attention_dropout = 0.1;
  s.runtime.host_per_layer_forward = microseconds(2000);
  s.runtime.host_growth_per_tensor_rank = 0.1;
  const LayerBlocks fused = time_blocks(s);
  const double forward = 2000e-6 * 1.1, one = forward / static_cast<double>(fused.layers.front().forward.size());
  EXPECT_NEAR(host_time(fused.layers.front().forward).value(), forward, 1e-9);
  EXPECT_NEAR(host_time(fused.head.forward).value(), one * static_cast<double>(fused.head.forward.size()), 1e-9);
  EXPECT_EQ(host_time(fused.layers.front().backward.whole), Seconds(0));
  s.model.heads = s.model.kv_heads = 4;  // two score matrices a rank: the softmax falls separate into five kernels
  const LayerBlocks separate = time_blocks(s);
  EXPECT_EQ(separate.layers.front().forward.size(), fused.layers.front().forward.size() + 4);
  EXPECT_NEAR(host_time(separate.layers.front().forward).value(), forward + 4 * one, 1e-9);
}

TEST(ReplicaCollective, GroupsWithSeveralGpusANodeShareTheNicsThatTheRuntimeStates) {
  job::Job s = job();
  s.parallelism.pipeline = 1;
  s.parallelism.data = 8;
  const double bytes = 1e9;
  const auto reduce = [&] { return des::to_seconds(time_of(gradient_reduction(s, Stage{}, bytes / 4), s)); };
  const Seconds all_nics = reduce();
  s.runtime.data_comm_nics = 0.5;
  const double sent = 2 * 2.0 * 7 / 8 * bytes;  // two groups a node, each a ring of eight
  EXPECT_NEAR(reduce().value(), sent / (0.5 * s.cluster.links.nic.value()), 1e-9);
  s.runtime.data_comm_nics = 100;
  EXPECT_EQ(reduce(), all_nics) << "never faster than measured";
  s.parallelism.tensor = 8;
  s.parallelism.data = 2;
  const Seconds one_gpu_a_node = reduce();
  s.runtime.data_comm_nics = 0.5;
  EXPECT_EQ(reduce(), one_gpu_a_node);
}

struct Tally {
  int count = 0;
  Seconds time;
};

std::map<std::string_view, Tally> tally(const LoweredStep& step) {
  std::map<std::string_view, Tally> result;
  for (std::size_t task = 0; task < step.workload.meaning.size(); ++task) {
    Tally& entry = result[name_of(step.workload.meaning[task], step.workload)];
    ++entry.count;
    entry.time += des::to_seconds(step.workload.graph.duration({static_cast<std::uint32_t>(task)}));
  }
  return result;
}

Seconds collective(const job::Job& s, CollectiveKind kind, double bytes, GroupShape group) {
  return cost::collective_time({kind, Bytes(bytes), group}, s.cluster.links, s.profile);
}

TEST(Lower, EveryStageReducesItsFp32GradientsOnce) {
  const job::Job s = job();
  const auto totals = tally(lower(s, Fidelity::kStage));
  const GroupShape replicas = s.grid().shape(net::kReplicaAxes, 8);
  Seconds expected;
  for (const Stage stage : ids<Stage>(2))
    expected += collective(s, CollectiveKind::kAllReduce, 4 * local_stage_parameters(s, stage), replicas);
  EXPECT_EQ(totals.at("reduce gradients").count, 2);
  EXPECT_NEAR(totals.at("reduce gradients").time / expected, 1, 1e-9);
  EXPECT_EQ(totals.at("optimizer").count, 2);
  EXPECT_EQ(totals.at("gradient norm").count, 1);
  EXPECT_EQ(totals.at("reduce tied embedding").count, 1) << "tied embedding on first and last stage";
  EXPECT_EQ(totals.count("gather parameters"), 0U);
}

TEST(Lower, TheDistributedOptimizerScattersGradientsAndGathersWeights) {
  job::Job s = job();
  s.optimizer.zero_stage = 1;
  const auto totals = tally(lower(s, Fidelity::kStage));
  const GroupShape replicas = s.grid().shape(net::kReplicaAxes, 8);
  Seconds scatter, gather;
  for (const Stage stage : ids<Stage>(2)) {
    scatter += collective(s, CollectiveKind::kReduceScatter, 4 * local_stage_parameters(s, stage), replicas);
    gather += collective(s, CollectiveKind::kAllGather, 2 * local_stage_parameters(s, stage), replicas);
  }
  EXPECT_NEAR(totals.at("reduce gradients").time / scatter, 1, 1e-9);
  EXPECT_NEAR(totals.at("gather parameters").time / gather, 1, 1e-9);
  EXPECT_LT(optimizer_traffic(s, 1e9), optimizer_traffic(job(), 1e9));
}

// A LAMB step on sharded states: the update and the norms are sharded, too.
TEST(OptimizerTraffic, LambMovesItsUpdateThreeTimesAndTheWeightsTwiceMore) {
  job::Job adam = job();
  for (const int stage : {0, 1}) {
    adam.optimizer.zero_stage = stage;
    job::Job lamb = adam;
    lamb.optimizer.name = "lamb";
    const double ranks = stage == 0 ? 1 : lamb.grid().shape(net::kReplicaAxes, 8).ranks;
    EXPECT_DOUBLE_EQ(optimizer_traffic(lamb, 1e6).value() - optimizer_traffic(adam, 1e6).value(),
                     (3 * 4 + 2 * 4) * 1e6 / ranks);
  }
}

TEST(OptimizerTraffic, NarrowStatesMoveLessButNeverLessThanAdamMust) {
  job::Job s = job();
  const double usual = optimizer_traffic(s, 1).value();
  s.recipe.moment_bytes = 4;
  EXPECT_EQ(optimizer_traffic(s, 1).value(), usual - 8) << "each moment is read and written with 2 bytes less";
  s.runtime.optimizer_bytes = 10;  // counts Adam without master weights
  s.recipe.master_bytes = s.recipe.moment_bytes = 0;
  EXPECT_EQ(optimizer_traffic(s, 1).value(), 12) << "three passes over the gradients do all of it";
  s.recipe.moment_bytes = 8;
  EXPECT_EQ(optimizer_traffic(s, 1).value(), 12 + 10);
}

// Two stages of four layers of 12 tensors. The first has the token table and positions, the last the norm of the head.
TEST(UnfusedAdam, WaitsForTheHostOrForTheMemoryWhicheverTakesLonger) {
  job::Job s = job();
  s.runtime.unfused_adam = job::UnfusedAdam{
      .precisions = {Precision::kBf16}, .bytes = 140, .kernels_per_tensor = 14, .host_per_kernel = microseconds(10)};
  const double launched = 14 * 10e-6;
  EXPECT_NEAR(optimizer_issue_time(s, Stage{0}).value(), (4 * 12 + 2) * launched, 1e-12);
  EXPECT_NEAR(optimizer_issue_time(s, Stage{1}).value(), (4 * 12 + 2) * launched, 1e-12);
  EXPECT_EQ(optimizer_traffic(s, 1).value(), 12 + 140);

  EXPECT_NEAR(tally(lower(s, Fidelity::kStage)).at("optimizer").time.value(), 2 * 50 * launched, 1e-9);
  s.runtime.unfused_adam->host_per_kernel = microseconds(0.1);
  Seconds moved;
  for (const Stage stage : ids<Stage>(2))
    moved += cost::memory_bound_time({optimizer_traffic(s, local_stage_parameters(s, stage))}, s.profile);
  EXPECT_NEAR(tally(lower(s, Fidelity::kStage)).at("optimizer").time / moved, 1, 1e-9);
}

TEST(UnfusedAdam, ServesItsPrecisionsAndAdamOnly) {
  job::Job s = job();
  s.runtime.unfused_adam = job::UnfusedAdam{
      .precisions = {Precision::kBf16}, .bytes = 140, .kernels_per_tensor = 14, .host_per_kernel = microseconds(10)};
  const Seconds whole = optimizer_issue_time(s, Stage{0});
  s.optimizer.zero_stage = 1;
  EXPECT_NEAR(optimizer_issue_time(s, Stage{0}) / whole, 1.0 / 4, 1e-9) << "four ranks share the tensors";
  s.optimizer.zero_stage = 0;
  s.cuda_graphs = job::CudaGraphs::kFull;
  EXPECT_EQ(optimizer_issue_time(s, Stage{0}), Seconds(0));
  s.cuda_graphs = job::CudaGraphs::kNone;
  s.optimizer.name = "lamb";
  EXPECT_EQ(optimizer_issue_time(s, Stage{0}), Seconds(0));
  s.optimizer.name = "adam";
  s.precision = Precision::kFp16;
  EXPECT_EQ(optimizer_issue_time(s, Stage{0}), Seconds(0));
  EXPECT_EQ(optimizer_traffic(s, 1).value(), 60);
}

TEST(Lower, AnUntiedModelHasNoEmbeddingReductionAndOneReplicaReducesNothing) {
  job::Job s = job();
  s.model.tied_embeddings = false;
  EXPECT_EQ(tally(lower(s, Fidelity::kStage)).count("reduce tied embedding"), 0U);
  s.gpus = 4;
  s.parallelism.data = 1;
  EXPECT_EQ(tally(lower(s, Fidelity::kStage)).count("reduce gradients"), 0U);
}

TEST(Lower, OverlappedBucketsCarryAllGradients) {
  job::Job s = job();
  s.model.hidden = 4096;  // layers large enough for several buckets of 40 million parameters
  s.model.ffn_hidden = 16384;
  s.model.head_dim = 256;
  s.overlap.grad_reduce = true;
  const LoweredStep step = lower(s, Fidelity::kStage);
  const auto totals = tally(step);
  EXPECT_GT(totals.at("reduce gradients").count, 3);
  s.overlap.grad_reduce = false;
  const LoweredStep exposed = lower(s, Fidelity::kStage);
  EXPECT_LT(des::run(step.workload.graph).makespan, des::run(exposed.workload.graph).makespan);
}

TEST(Lower, SendsAreCountedPerStage) {
  const LoweredStep step = lower(job(), Fidelity::kStage);
  EXPECT_EQ(step.most_sends, 4) << "four micro-batches, one neighbour";
  EXPECT_DOUBLE_EQ(step.message.value(), 2.0 * 1024 * 1024) << "s b h in 16 bits from every tensor rank";
}

TEST(Lower, NothingDeadlocksWithAnySmallShape) {
  for (const int pipeline : {1, 2, 4, 8})
    for (const int chunks : {1, 2, 4})
      for (const int global : {1, 2, 3, 4, 5, 7, 8, 9, 12, 16}) {
        if (chunks > 1 && (pipeline == 1 || global < pipeline || global % pipeline != 0)) continue;
        for (const bool overlap : {false, true}) {
          job::Job s = job();
          s.model.layers = 32;
          s.parallelism.pipeline = pipeline;
          s.parallelism.data = 1;
          s.parallelism.virtual_pipeline = chunks;
          s.schedule = schedule::schedule_named(chunks > 1 ? "interleaved-1f1b" : "1f1b");
          s.batch.global = global;
          s.gpus = 2 * pipeline;
          s.overlap.p2p = overlap;
          EXPECT_TRUE(des::run(lower(s, Fidelity::kStage).workload.graph).stuck.empty())
              << "pipeline " << pipeline << " chunks " << chunks << " global " << global << " overlap " << overlap;
        }
      }
}

TEST(TimeBlocks, NoOpIsIssuedFasterThanAMeasuredLaunch) {
  job::Job s = job();
  s.runtime.host_per_layer_forward = s.runtime.host_per_layer_backward = Seconds(0);
  s.profile.host = cost::HostLaw{.launch = microseconds(7), .evidence = {}};
  const LayerBlocks at_launch = time_blocks(s);
  for (const TimedOp& op : at_launch.layers.front().forward) EXPECT_EQ(op.host.ps, 7'000'000) << op.name;
  s.cuda_graphs = job::CudaGraphs::kLayer;
  const LayerBlocks recorded = time_blocks(s);
  for (const TimedOp& op : recorded.layers.front().forward) EXPECT_EQ(op.host.ps, 0) << op.name;
  s.cuda_graphs = job::CudaGraphs::kNone;
  s.runtime.host_per_layer_forward = Seconds(1);
  const LayerBlocks slower = time_blocks(s);
  for (const TimedOp& op : slower.layers.front().forward) EXPECT_GT(op.host.ps, 7'000'000) << op.name;
}

TEST(UsesOf, ListsOnlyPartsThatTheJobReads) {
  job::Job s = job();
  cost::Uses uses = uses_of(s);  // stages of 8 ranks, each on its node
  EXPECT_TRUE(uses.nvlink && uses.network && uses.messages_across && uses.fused_attention);
  EXPECT_FALSE(uses.pcie || uses.messages_inside);
  EXPECT_EQ(uses.head_dim, 64);
  s.parallelism.data = 1;  // two stages of two ranks
  s.gpus = 4;
  s.attention = model::AttentionKind::kUnfused;
  uses = uses_of(s);
  EXPECT_TRUE(uses.messages_inside);
  EXPECT_FALSE(uses.network || uses.messages_across || uses.fused_attention);
}

}  // namespace
}  // namespace foretoken::step
