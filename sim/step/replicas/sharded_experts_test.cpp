// Tests experts beside sharded parameters: their own ranks gather and reduce them, and their bytes are all there.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <vector>

#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/memory/test_memory.h"
#include "sim/step/replicas/replicas.h"
#include "sim/step/replicas/sharded_units.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

constexpr int kRepeats = 3, kSparse = 5, kAllExperts = 16;
constexpr double kModelWidth = 1024, kExpertWidth = 2048, kTokens = 51200;

// Six layers, the first dense, on two nodes of 8 A100, fully sharded as in torchtitan. 16 experts on `expert` ranks.
job::Job sharded_experts(int expert) {
  job::Job s = test_job(kSparse + 1, 1024);
  s.model.experts = model::Experts{.count = kAllExperts, .per_token = 2, .width = 2048, .dense_first = 1};
  s.gpus = s.parallelism.data = 16;
  s.parallelism.expert = expert;
  s.batch = {.micro = 1, .global = kRepeats * 16, .sequence_length = 1024, .microbatch_group = {}};
  s.runtime.fully_sharded = true;
  s.optimizer.zero_stage = 3;
  s.overlap.grad_reduce = s.overlap.param_gather = true;
  return s;
}

// Weights and biases of one expert.
double weights_of_expert() { return 2 * kModelWidth * kExpertWidth + kExpertWidth + kModelWidth; }

// Sums of all tasks of a step.
struct MovedSum {
  int tasks = 0;
  double bytes = 0;
};

MovedSum moved_in(const LoweredStep& step, Purpose purpose, AxisSet axes) {
  MovedSum sum;
  for (const Meaning& meaning : step.workload.meaning) {
    const Communication* row = step.workload.communication_of(meaning);
    if (row == nullptr || row->purpose != purpose || row->axes != axes) continue;
    ++sum.tasks;
    sum.bytes += row->payload.value();
  }
  return sum;
}

std::int64_t sharded_step_ps(const job::Job& s, Fidelity fidelity = Fidelity::kStage) {
  const LoweredStep step = lower(s, fidelity);
  const des::RunResult run = des::run(step.workload.graph);
  EXPECT_TRUE(run.stuck.empty());
  return run.makespan.ps;
}

TEST(ShardedExperts, EveryByteIsGatheredTwiceAndReducedOnceByItsOwnRanks) {
  for (const int expert : {2, 4, 8}) {
    SCOPED_TRACE(expert);
    const job::Job s = sharded_experts(expert);
    const LoweredStep step = lower(s, Fidelity::kStage);
    const LocalParameters parameters(s);
    const double experts = kSparse * (static_cast<double>(kAllExperts) / expert) * weights_of_expert();
    const double all = parameters.of_stage(Stage{}),
                 root = all - parameters.of_layer(0) - kSparse * parameters.of_layer(1);
    EXPECT_EQ(parameters.experts_of_stage(Stage{}), experts);

    const MovedSum of_experts = moved_in(step, Purpose::kParameters, Axis::kExpertData);
    EXPECT_EQ(of_experts.tasks, kRepeats * 2 * kSparse);
    EXPECT_DOUBLE_EQ(of_experts.bytes, kRepeats * 2 * 2 * experts) << "16 bits, forward and backward";
    const MovedSum of_rest = moved_in(step, Purpose::kParameters, net::kReplicaAxes);
    EXPECT_EQ(of_rest.tasks, kRepeats * (2 * (kSparse + 1) + 1));
    EXPECT_DOUBLE_EQ(of_rest.bytes, kRepeats * 2 * (2 * (all - experts - root) + root));

    const MovedSum reduced = moved_in(step, Purpose::kGradients, Axis::kExpertData);
    EXPECT_EQ(reduced.tasks, kRepeats * kSparse);
    EXPECT_DOUBLE_EQ(reduced.bytes, kRepeats * 4 * experts) << "fp32";
    EXPECT_DOUBLE_EQ(moved_in(step, Purpose::kGradients, net::kReplicaAxes).bytes, kRepeats * 4 * (all - experts));
    for (const Communication& row : step.workload.communications)
      if (row.axes == AxisSet(Axis::kExpertData)) {
        EXPECT_EQ(row.site.group.ranks, 16 / expert);
      }
  }
}

TEST(ShardedExperts, OneExpertRankIsTheDenseTreatmentOfTheSameBytes) {
  const job::Job s = sharded_experts(1);
  const LoweredStep step = lower(s, Fidelity::kStage);
  const LocalParameters parameters(s);
  EXPECT_EQ(moved_in(step, Purpose::kParameters, Axis::kExpertData).tasks, 0);
  EXPECT_EQ(moved_in(step, Purpose::kGradients, Axis::kExpertData).tasks, 0);
  const double all = parameters.of_stage(Stage{}),
               root = all - parameters.of_layer(0) - kSparse * parameters.of_layer(1);
  EXPECT_DOUBLE_EQ(moved_in(step, Purpose::kParameters, net::kReplicaAxes).bytes,
                   kRepeats * 2 * (2 * (all - root) + root));
  const Units units = sharded_units(s);
  ASSERT_EQ(units.layers.size(), kSparse + 1U);
  EXPECT_EQ(units.layers.back().gathered[ShardRanks::kReplicas].parameters, parameters.of_layer(1));
  EXPECT_EQ(units.layers.back().gathered[ShardRanks::kExpertData].parameters, 0);
}

// The same layer cut in two parts has as many weights and tensors. An expert has two matrices.
TEST(ShardedExperts, BothPartsOfALayerMakeUpTheWhole) {
  const Units whole = sharded_units(sharded_experts(1)), cut = sharded_units(sharded_experts(4));
  for (std::size_t layer = 0; layer < whole.layers.size(); ++layer) {
    const Amounts &before = whole.layers[layer].gathered, &after = cut.layers[layer].gathered;
    EXPECT_DOUBLE_EQ(before[ShardRanks::kReplicas].parameters,
                     after[ShardRanks::kReplicas].parameters + 4 * after[ShardRanks::kExpertData].parameters);
    EXPECT_EQ(before[ShardRanks::kReplicas].tensors,
              after[ShardRanks::kReplicas].tensors + 4 * after[ShardRanks::kExpertData].tensors);
  }
  EXPECT_EQ(cut.layers.front().gathered[ShardRanks::kExpertData].tensors, 0) << "a dense layer";
  EXPECT_EQ(cut.layers.back().gathered[ShardRanks::kExpertData].tensors, 2 * kAllExperts / 4);
}

TEST(ShardedExperts, ExpertsOfPredictedTokensStandInTheRoot) {
  job::Job s = sharded_experts(4);
  s.model.prediction_layers = 1;
  const double layers = kSparse * 4 * weights_of_expert(), of_head = 4 * weights_of_expert();
  EXPECT_EQ(LocalParameters(s).experts_of_stage(Stage{}), layers + of_head);
  const MovedSum gathered = moved_in(lower(s, Fidelity::kStage), Purpose::kParameters, Axis::kExpertData);
  EXPECT_DOUBLE_EQ(gathered.bytes, kRepeats * 2 * (2 * layers + of_head)) << "the root is gathered once";
}

// 4 experts of two matrices in each of 5 layers, over 4 ranks.
TEST(ShardedExperts, EachOfTheirTensorsIsChargedByItsOwnRanks) {
  job::Job s = sharded_experts(4);
  s.runtime.fully_sharded = false;
  const auto charged = [&](Purpose purpose) {
    const LoweredStep step = lower(s, Fidelity::kStage);
    std::int64_t ps = 0;
    for (const Meaning& meaning : step.workload.meaning)
      if (const Communication* row = step.workload.communication_of(meaning);
          row != nullptr && row->purpose == purpose && row->axes == AxisSet(Axis::kExpertData))
        ps += row->for_tensors.ps;
    return ps;
  };
  EXPECT_EQ(charged(Purpose::kParameters), 0);
  s.runtime.collective_per_rank = microseconds(10);
  const std::int64_t once = std::int64_t{kRepeats} * kSparse * 4 * 2 * 4 * 10'000'000;
  EXPECT_EQ(charged(Purpose::kParameters), 2 * once);
  EXPECT_EQ(charged(Purpose::kGradients), once);
}

TEST(ShardedExperts, MoreExpertRanksGatherFewerBytesAndNeedNoMoreMemory) {
  double bytes = INFINITY, memory = INFINITY;
  for (const int expert : {2, 4, 8, 16}) {
    const job::Job s = sharded_experts(expert);
    const double gathered = moved_in(lower(s, Fidelity::kStage), Purpose::kParameters, Axis::kExpertData).bytes;
    const StaticMemory held = static_memory(s, Stage{});
    const double now = (held.weights + held.gradients + held.optimizer).value();
    EXPECT_LT(gathered, bytes) << expert;
    EXPECT_LT(now, memory) << expert;
    bytes = gathered;
    memory = now;
  }
  EXPECT_EQ(bytes, 0) << "with 16 ranks every rank has its own expert";
}

// One layer of hidden 1,024 with 16 experts of width 2,048 on 4 expert ranks, 16 data ranks. An expert has 4,197,376
// parameters, a rank 4 of them: 16,789,504 a layer over 4 expert-data ranks. The rest of such a layer is attention with
// biases, two norms and the router. The dense layer has its MLP in the experts' place.
TEST(ShardedExperts, MemoryOfAnExampleByHand) {
  const job::Job s = sharded_experts(4);
  const double h = kModelWidth, attention = 4 * h * h + 4 * h, norms = 4 * h, router = kAllExperts * h;
  const double experts = 16'789'504, sparse = attention + norms + router, dense = attention + norms + 8 * h * h + 5 * h;
  const double root = (kTokens + h) * h + 2 * h;  // table, positions, final norm; the head is tied
  EXPECT_EQ(4 * weights_of_expert(), experts);
  EXPECT_DOUBLE_EQ(local_stage_parameters(s, Stage{}), root + dense + kSparse * (sparse + experts));

  const double shards = (root + dense + kSparse * sparse) / 16 + kSparse * experts / 4;
  const StaticMemory held = static_memory(s, Stage{});
  EXPECT_DOUBLE_EQ(held.optimizer.value(), 12 * shards) << "fp32 shards and two moments";
  EXPECT_DOUBLE_EQ(held.weights.value(), 2 * (root + 2 * (sparse + experts))) << "the root and two gathered layers";
  EXPECT_DOUBLE_EQ(held.gradients.value(), 4 * shards + 2 * root + (2 + 4) * (sparse + experts));

  job::Job deepspeed = s;
  deepspeed.runtime.fully_sharded = false;
  const StaticMemory other = static_memory(deepspeed, Stage{});
  EXPECT_DOUBLE_EQ(other.optimizer.value(), 12 * shards);
  EXPECT_DOUBLE_EQ(other.weights.value(), 2 * shards + 2 * 2 * (sparse + experts));
  deepspeed.optimizer.zero_stage = 2;
  const double all = local_stage_parameters(s, Stage{});
  EXPECT_DOUBLE_EQ(static_memory(deepspeed, Stage{}).weights.value(), 2 * all);
  EXPECT_DOUBLE_EQ(static_memory(deepspeed, Stage{}).gradients.value(), 4 * (shards + 2 * 40e6)) << "two buckets";
}

TEST(ShardedExperts, ARankWithExpertsOfItsOwnHasNoBucketOfThem) {
  job::Job s = sharded_experts(kAllExperts);
  s.runtime.fully_sharded = false;
  s.optimizer.zero_stage = 2;
  const LocalParameters parameters(s);
  const double experts = kSparse * weights_of_expert();
  const double shards = (parameters.of_stage(Stage{}) - experts) / 16 + experts;
  const double bucket = gradient_bucket_parameters(replica_group(s).ranks);
  EXPECT_DOUBLE_EQ(static_memory(s, Stage{}).gradients.value(), 4 * (shards + bucket));
}

TEST(ShardedExperts, ALayerIsGatheredBeforeItsExpertsAndReducedAfterThem) {
  const LoweredStep step = lower(sharded_experts(4), Fidelity::kStage);
  std::vector<bool> gathered, reduced;  // true for experts
  for (const Meaning& meaning : step.workload.meaning) {
    const Communication* row = step.workload.communication_of(meaning);
    if (row == nullptr || meaning.microbatch.number() > 0) continue;
    const bool experts = row->axes == AxisSet(Axis::kExpertData);
    if (row->purpose == Purpose::kParameters) gathered.push_back(experts);
    if (row->purpose == Purpose::kGradients) reduced.push_back(experts);
  }
  ASSERT_EQ(gathered.size(), 3U + 4 * kSparse) << "the root, the dense layer twice, and both parts of others";
  for (std::size_t layer = 0; layer < kSparse; ++layer) {
    EXPECT_FALSE(gathered[2 + 2 * layer]) << "root, dense layer, then pairs";
    EXPECT_TRUE(gathered[3 + 2 * layer]);
    EXPECT_TRUE(reduced[2 * layer]);
    EXPECT_FALSE(reduced[2 * layer + 1]);
  }
}

// Everything stands on the host. Shards come to the GPU before each gather, and gradients leave it once reduced.
TEST(ShardedExperts, ShardsMoveToTheHostAndBackWhateverRanksHoldThem) {
  for (const int expert : {4, 16}) {
    job::Job s = sharded_experts(expert);
    s.cluster.host = net::Host{.memory = Bytes(1e12),
                               .memory_bandwidth = gigabytes_per_second(400),
                               .gpus_per_link = 2,
                               .disks = std::nullopt};
    s.runtime.offload.parameters = s.runtime.offload.optimizer = s.runtime.offload.streams_gradients = true;
    s.offload.parameters = s.offload.optimizer = {.fraction = 1, .layers = {}, .to = job::Tier::kHost};
    const LoweredStep step = lower(s, Fidelity::kStage);
    double fetched = 0, sent = 0;
    for (const Meaning& meaning : step.workload.meaning) {
      const Communication* row = step.workload.communication_of(meaning);
      if (row != nullptr && row->name == "parameters from host") fetched += row->payload.value();
      if (row != nullptr && row->name == "gradients to host") sent += row->payload.value();
    }
    const LocalParameters parameters(s);
    const double all = parameters.of_stage(Stage{}), experts = parameters.experts_of_stage(Stage{}),
                 root = all - parameters.of_layer(0) - kSparse * parameters.of_layer(1), replicas = 16.0 / expert;
    EXPECT_DOUBLE_EQ(fetched, kRepeats * 4 * ((2 * (all - experts - root) + root) / 16 + 2 * experts / replicas))
        << "fp32 shards, expert " << expert;
    EXPECT_DOUBLE_EQ(sent, kRepeats * 4 * ((all - experts) / 16 + experts / replicas)) << "expert " << expert;
    EXPECT_EQ(sharded_step_ps(s), sharded_step_ps(s, Fidelity::kKernel));
  }
}

// One setting of everything that decides the waits.
struct ExpertSetting {
  int zero, expert;
  bool fsdp, overlap;
  double nic_gb;
};

void expect_equal_steps(const ExpertSetting& setting) {
  job::Job s = sharded_experts(setting.expert);
  s.optimizer.zero_stage = setting.zero;
  s.runtime.fully_sharded = setting.fsdp;
  s.overlap.grad_reduce = s.overlap.param_gather = setting.overlap;
  s.cluster.links.nic = gigabytes_per_second(setting.nic_gb);
  s.runtime.host_per_layer_forward = microseconds(300);
  s.runtime.host_per_layer_backward = microseconds(600);
  EXPECT_EQ(sharded_step_ps(s), sharded_step_ps(s, Fidelity::kKernel))
      << "ZeRO " << setting.zero << " expert " << setting.expert << " fsdp " << setting.fsdp << " overlap "
      << setting.overlap << " nic " << setting.nic_gb;
}

TEST(ShardedExperts, StageAndKernelFidelityAgreeToThePicosecond) {
  for (const int zero : {2, 3})
    for (const int expert : {1, 4, 16})
      for (const bool fsdp : {false, true})
        for (const bool overlap : {false, true})
          for (const double nic : {0.5, 25.0}) expect_equal_steps({zero, expert, fsdp, overlap, nic});
}

TEST(ShardedExperts, TensorRanksMayShareExpertsOrHoldTheirOwn) {
  job::Job s = sharded_experts(4);
  s.parallelism.tensor = 2;
  s.parallelism.data = 8;
  s.parallelism.sequence_parallel = true;
  for (const int expert_tensor : {1, 2}) {
    s.parallelism.expert_tensor = expert_tensor;
    const LoweredStep step = lower(s, Fidelity::kStage);
    for (const Communication& row : step.workload.communications) {
      if (row.axes == AxisSet(Axis::kExpertData)) {
        EXPECT_EQ(row.site.group.ranks, 16 / (4 * expert_tensor));
      }
      if (row.purpose == Purpose::kParameters && row.axes == net::kReplicaAxes) {
        EXPECT_EQ(row.site.group.ranks, 8);
      }
    }
    EXPECT_EQ(sharded_step_ps(s), sharded_step_ps(s, Fidelity::kKernel));
  }
  s.parallelism.expert = 1;
  EXPECT_FALSE(job::experts_have_own_grid(s)) << "experts are cut as all else";
}

}  // namespace
}  // namespace foretoken::step
