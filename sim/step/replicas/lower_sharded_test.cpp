// Tests sharded gradients and parameters: gathers, reductions, their overlap, and agreement of both fidelities.
#include "sim/step/replicas/lower_sharded.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/test_memory.h"
#include "sim/step/replicas/replicas.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr int kLayers = 6, kMicrobatches = 3;

// Returns six layers on `nodes` nodes of 8 A100, fully sharded as in FSDP.
job::Job sharded_job(int nodes = 1) {
  job::Job s = test_job(kLayers, 2048);
  s.gpus = 8 * nodes;
  s.parallelism.data = s.gpus;
  s.batch = {.micro = 1, .global = kMicrobatches * s.gpus, .sequence_length = 2048, .microbatch_group = {}};
  s.runtime.fully_sharded = true;
  s.optimizer.zero_stage = 3;
  s.overlap.grad_reduce = s.overlap.param_gather = true;
  return s;
}

des::Duration time_of(const job::Job& s, Fidelity fidelity = Fidelity::kStage) {
  const LoweredStep step = lower(s, fidelity);
  const des::RunResult run = des::run(step.workload.graph);
  EXPECT_TRUE(run.stuck.empty());
  return run.makespan - des::Instant{};
}

std::int64_t gather_ps(const job::Job& s, double parameters) {
  return step::time_of(parameter_gather(s, Stage{}, parameters), s).ps;
}

std::int64_t reduction_ps(const job::Job& s, double parameters) {
  return step::time_of(gradient_reduction(s, Stage{}, parameters), s).ps;
}

struct ExactTally {
  int count = 0;
  std::int64_t ps = 0;
};

std::map<std::string_view, ExactTally> tally(const job::Job& s) {
  const LoweredStep step = lower(s, Fidelity::kStage);
  std::map<std::string_view, ExactTally> result;
  for (std::uint32_t task = 0; task < step.workload.meaning.size(); ++task) {
    ExactTally& entry = result[name_of(step.workload.meaning[task], step.workload)];
    ++entry.count;
    entry.ps += step.workload.graph.duration({task}).ps;
  }
  return result;
}

TEST(Sharded, FullShardGathersLayersTwiceAndTheRootOnceAMicroBatchAndReducesEachOnce) {
  const job::Job s = sharded_job();
  const auto totals = tally(s);
  const double layer = local_layer_parameters(s), root = local_stage_parameters(s, Stage{0}) - kLayers * layer;
  EXPECT_EQ(totals.at("gather parameters").count, kMicrobatches * (2 * kLayers + 1));
  EXPECT_EQ(totals.at("reduce gradients").count, kMicrobatches * (kLayers + 1));
  const std::int64_t gathers = 2 * kLayers * gather_ps(s, layer) + gather_ps(s, root);
  const std::int64_t reductions = kLayers * reduction_ps(s, layer) + reduction_ps(s, root);
  EXPECT_EQ(totals.at("gather parameters").ps, kMicrobatches * gathers);
  EXPECT_EQ(totals.at("reduce gradients").ps, kMicrobatches * reductions);
}

TEST(Sharded, ZeroTwoGathersOnceUnderFsdpAndAfterTheOptimizerElsewhere) {
  job::Job s = sharded_job();
  s.optimizer.zero_stage = 2;
  EXPECT_EQ(tally(s).at("gather parameters").count, kMicrobatches * (kLayers + 1));
  s.runtime.fully_sharded = false;
  const auto totals = tally(s);
  EXPECT_EQ(totals.at("gather parameters").count, 1);
  EXPECT_EQ(totals.at("gather parameters").ps, gather_ps(s, local_stage_parameters(s, Stage{0})));
  // Buckets of 40 million parameters: a layer has 50 million, the root 109 million.
  EXPECT_EQ(totals.at("reduce gradients").count, kMicrobatches * (kLayers + 1));
}

TEST(Sharded, CommunicationFasterThanComputeIsHiddenButForItsEnds) {
  job::Job s = sharded_job();
  s.batch.micro = 8;
  s.batch.global = std::int64_t{kMicrobatches} * 8 * 8;
  const double layer = local_layer_parameters(s), root = local_stage_parameters(s, Stage{0}) - kLayers * layer;
  const LoweredStep step = lower(s, Fidelity::kStage);
  std::int64_t compute = 0;
  for (const schedule::OpKind kind : {schedule::OpKind::kForward, schedule::OpKind::kBackward})
    compute += kMicrobatches * step.passes->timing(Stage{0}, Chunk{0}, kind).total.ps;
  const auto totals = tally(s);
  compute += totals.at("gradient norm").ps + totals.at("optimizer").ps;
  // The root is gathered before anything computes and reduced after everything. The first layer is gathered beside the
  // embedding only, and its gradients are reduced beside the embedding's. Both are short.
  const std::int64_t root_time = gather_ps(s, root) + reduction_ps(s, root);
  const std::int64_t layer_time = gather_ps(s, layer) + reduction_ps(s, layer);
  const std::int64_t most = kMicrobatches * (root_time + layer_time);
  const std::int64_t total = time_of(s).ps;
  EXPECT_GE(total, compute + root_time);
  EXPECT_LE(total, compute + most);
}

TEST(Sharded, NoMoreThanTwoGatheredUnitsAreUnused) {
  const LoweredStep step = lower(sharded_job(), Fidelity::kStage);
  const des::RunResult run = des::run(step.workload.graph);
  // The first pass begins with gathers of the root and of every layer. The blocks that use them follow.
  std::vector<std::uint32_t> gathers, blocks;
  for (std::uint32_t task = 0; blocks.size() < kLayers + 2; ++task) {
    if (name_of(step.workload.meaning[task], step.workload) == "gather parameters") gathers.push_back(task);
    if (step.workload.meaning[task].kind == TaskMeaning::kPass &&
        step.workload.meaning[task].pass == schedule::OpKind::kForward)
      blocks.push_back(task);
  }
  ASSERT_EQ(gathers.size(), kLayers + 1U);
  for (std::size_t g = 2; g < gathers.size(); ++g) EXPECT_GE(run.start[gathers[g]], run.end[blocks[g - 2]]);
  for (std::size_t g = 0; g < gathers.size(); ++g) EXPECT_GE(run.start[blocks[g]], run.end[gathers[g]]);
}

TEST(Sharded, WithoutOverlapNothingRunsBesideAnything) {
  job::Job s = sharded_job();
  const des::Duration hidden = time_of(s);
  s.overlap.param_gather = false;
  const des::Duration gathers = time_of(s);
  s.overlap.grad_reduce = false;
  const des::Duration both = time_of(s);
  EXPECT_LT(hidden, gathers);
  EXPECT_LT(gathers, both);
  std::int64_t sum = 0;
  for (const auto& [kind, entry] : tally(s)) sum += entry.ps;
  EXPECT_LE(both.ps, sum);
  EXPECT_GE(static_cast<double>(both.ps), 0.95 * static_cast<double>(sum)) << "only the head hides a gather";
}

TEST(Sharded, OneRankShardsNothing) {
  job::Job s = sharded_job();
  s.gpus = s.parallelism.data = 1;
  s.batch.global = kMicrobatches;
  s.overlap.grad_reduce = s.overlap.param_gather = false;
  const des::Duration sharded = time_of(s);
  s.optimizer.zero_stage = 0;
  s.runtime.fully_sharded = false;
  EXPECT_EQ(sharded, time_of(s));
}

TEST(Sharded, TheHostSetsThePaceOfSmallLayers) {
  job::Job s = sharded_job();
  s.batch.sequence_length = 64;
  s.model.max_positions = 64;
  s.runtime.host_per_layer_forward = microseconds(5000);
  s.runtime.host_per_layer_backward = microseconds(9000);
  const double issue = kMicrobatches * kLayers * (5000 + 9000) * 1e6;  // ps
  const auto step = static_cast<double>(time_of(s).ps);
  EXPECT_GT(step, issue);
  EXPECT_LT(step, 1.15 * issue);
}

TEST(Sharded, ReplicasAreChargedForEachTensorWhereTheRuntimeStatesIt) {
  job::Job s = sharded_job(4);
  s.runtime.fully_sharded = false;
  const auto before = tally(s);
  s.runtime.collective_per_rank = microseconds(10);
  const auto after = tally(s);
  const std::int64_t per_tensor = std::int64_t{32} * 10'000'000;  // ps, 32 replicas
  const std::int64_t gathered = kMicrobatches * (2 * kLayers * 4 + 1), reduced = kMicrobatches * (kLayers * 4 + 1);
  const auto more = [&](std::string_view name) { return after.at(name).ps - before.at(name).ps; };
  EXPECT_EQ(more("gather parameters"), gathered * per_tensor);
  EXPECT_EQ(more("reduce gradients"), reduced * per_tensor);
}

// One setting of everything that decides the waits.
struct Setting {
  int zero = 3, tensor = 1;
  bool fsdp = true, overlap = true;
  double nic_gb = 25, host_us = 0;
};

void expect_fidelities_agree(const Setting& setting) {
  job::Job s = sharded_job(2);
  s.optimizer.zero_stage = setting.zero;
  s.runtime.fully_sharded = setting.fsdp;
  s.overlap.grad_reduce = s.overlap.param_gather = setting.overlap;
  s.parallelism.tensor = setting.tensor;
  s.parallelism.data = s.gpus / setting.tensor;
  s.parallelism.sequence_parallel = setting.tensor > 1;
  s.cluster.links.nic = gigabytes_per_second(setting.nic_gb);
  s.runtime.host_per_layer_forward = microseconds(setting.host_us);
  s.runtime.host_per_layer_backward = microseconds(2 * setting.host_us);
  s.recompute.granularity = model::RecomputeGranularity::kFull;
  EXPECT_EQ(time_of(s), time_of(s, Fidelity::kKernel))
      << "ZeRO " << setting.zero << " fsdp " << setting.fsdp << " overlap " << setting.overlap << " tensor "
      << setting.tensor << " nic " << setting.nic_gb << " host " << setting.host_us;
}

TEST(Sharded, StageAndKernelFidelityAgreeToThePicosecond) {
  for (const int zero : {2, 3})
    for (const int tensor : {1, 2})
      for (const bool fsdp : {false, true})
        for (const bool overlap : {false, true})
          for (const double nic : {0.5, 25.0})
            for (const double host_us : {0.0, 700.0})
              expect_fidelities_agree({zero, tensor, fsdp, overlap, nic, host_us});
}

}  // namespace
}  // namespace foretoken::step
