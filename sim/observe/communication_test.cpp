// Tests the communication table against formulas written by hand.
#include "sim/observe/communication.h"

#include <gtest/gtest.h>

#include "sim/step/test_job.h"

namespace foretoken::observe {
namespace {

using job::Job;

constexpr int kLayers = 6, kHidden = 2048, kMicrobatches = 3, kGpus = 8;
constexpr double kWeightBytes = 2, kGradientBytes = 4;  // the 18-byte recipe reduces in fp32

// A GPT: matrices 12 h^2, their biases 9 h, two norms 4 h; token table 51200 h, positions h h, final norm 2 h.
constexpr double kLayer = 12.0 * kHidden * kHidden + 13 * kHidden;
constexpr double kRoot = 51200.0 * kHidden + 1.0 * kHidden * kHidden + 2 * kHidden;
constexpr double kAll = kLayers * kLayer + kRoot;

Job job(int zero_stage, bool fully_sharded) {
  Job s = step::test_job(kLayers, kHidden);
  s.gpus = s.parallelism.data = kGpus;
  s.batch = {.micro = 1, .global = kMicrobatches * kGpus, .sequence_length = 2048, .microbatch_group = {}};
  s.runtime.fully_sharded = fully_sharded;
  s.optimizer.zero_stage = zero_stage;
  return s;
}

std::vector<GroupTraffic> traffic_of(const Job& s) {
  const step::LoweredStep step = step::lower(s, step::Fidelity::kStage);
  const des::RunResult run = des::run(step.workload.graph);
  return communication(step, run, observe_stages(step, run));
}

struct ReplicaCase {
  const char* name;
  int zero_stage;
  bool fully_sharded;
  std::int64_t reductions;
  double reduced;  // bytes
  std::int64_t gathers;
  double gathered;
};

constexpr double kStepGradients = kAll * kGradientBytes, kStepWeights = kAll * kWeightBytes;
constexpr ReplicaCase kCases[] = {
    {"plain: gradients once a step", 0, false, 1, kStepGradients, 0, 0},
    {"ZeRO-1: gradients out and parameters in, once a step", 1, false, 1, kStepGradients, 1, kStepWeights},
    // A layer has 50 million parameters and the root 109 million, a bucket 40 million.
    {"ZeRO-2: gradients in every micro-batch, parameters once", 2, false, kMicrobatches*(kLayers + 1),
     kMicrobatches* kStepGradients, 1, kStepWeights},
    {"ZeRO-2 of FSDP: both in every micro-batch, unit by unit", 2, true, kMicrobatches*(kLayers + 1),
     kMicrobatches* kStepGradients, kMicrobatches*(kLayers + 1), kMicrobatches* kStepWeights},
    {"ZeRO-3: layers are gathered again for the backward pass", 3, true, kMicrobatches*(kLayers + 1),
     kMicrobatches* kStepGradients, kMicrobatches*(2 * kLayers + 1),
     kMicrobatches*(kStepWeights + kLayers * kLayer * kWeightBytes)},
    {"ZeRO-3 elsewhere: the same", 3, false, kMicrobatches*(kLayers + 1), kMicrobatches* kStepGradients,
     kMicrobatches*(2 * kLayers + 1), kMicrobatches*(kStepWeights + kLayers * kLayer * kWeightBytes)}};

TEST(Communication, ReplicasReduceAndGatherWhatTheirStageOfZeroSays) {
  for (const ReplicaCase& expected : kCases) {
    SCOPED_TRACE(expected.name);
    const std::vector<GroupTraffic> groups = traffic_of(job(expected.zero_stage, expected.fully_sharded));
    ASSERT_EQ(groups.size(), 1U);
    const GroupTraffic& data = groups.front();
    EXPECT_EQ(data.group, "data-parallel");
    EXPECT_EQ(data.shape.ranks, kGpus);
    ASSERT_EQ(data.parts.size(), expected.gathers > 0 ? 2U : 1U);
    EXPECT_EQ(data.parts[0].what, expected.zero_stage > 0 ? "gradients: reduce-scatter" : "gradients: all-reduce");
    EXPECT_EQ(data.parts[0].operations, expected.reductions);
    EXPECT_DOUBLE_EQ(data.parts[0].payload.value(), expected.reduced);
    if (expected.gathers > 0) {
      EXPECT_EQ(data.parts[1].what, "parameters: all-gather");
      EXPECT_EQ(data.parts[1].operations, expected.gathers);
      EXPECT_DOUBLE_EQ(data.parts[1].payload.value(), expected.gathered);
    }
    EXPECT_EQ(data.operations, expected.reductions + expected.gathers);
    EXPECT_DOUBLE_EQ(data.payload.value(), expected.reduced + expected.gathered);
    EXPECT_LE(data.exposed.value(), data.time.value() * (1 + 1e-9));
  }
}

TEST(Communication, TensorRanksShareOutWhatReplicasExchange) {
  Job s = job(1, false);
  s.parallelism.tensor = 2;
  s.parallelism.data = kGpus / 2;
  s.batch.global = kMicrobatches * s.parallelism.data;
  const std::vector<GroupTraffic> groups = traffic_of(s);
  ASSERT_EQ(groups.size(), 2U);
  // A layer has four all-reduces of b s h: two forward, two backward. The embedding adds one forward and one backward.
  // The head's softmax exchanges a maximum, a logit and a sum for every token.
  const double activations = 2.0 * 2048 * kHidden;
  EXPECT_GE(groups[0].payload.value(), kMicrobatches * (4 * kLayers + 2) * activations);
  EXPECT_LE(groups[0].payload.value(), kMicrobatches * ((4 * kLayers + 2) * activations + 3 * 4 * 2048.0));
  // Tensor ranks split matrices and the biases of column-parallel products (7 h). Norms and other biases (6 h) stay
  // whole.
  const double local = kLayers * ((12.0 * kHidden * kHidden + 7 * kHidden) / 2 + 6 * kHidden) + 51200.0 * kHidden / 2 +
                       1.0 * kHidden * kHidden + 2 * kHidden;
  EXPECT_DOUBLE_EQ(groups[1].parts[0].payload.value(), local * kGradientBytes);
  EXPECT_DOUBLE_EQ(groups[1].parts[1].payload.value(), local * kWeightBytes);
}

// Keys and values go round the ring once forward. Backward they go round again with as many gradients, which then
// return.
TEST(Communication, ARingPassesKeysAndValuesThreeTimes) {
  Job s = job(0, false);
  constexpr int kContext = 4;
  s.parallelism.context = kContext;
  s.parallelism.data = kGpus / kContext;
  s.attention = model::AttentionKind::kFlash;
  s.batch.global = kMicrobatches * s.parallelism.data;
  const std::vector<GroupTraffic> groups = traffic_of(s);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].group, "context-parallel");
  const double keys_and_values = 2 * 2.0 * (2048.0 / kContext) * kHidden;
  EXPECT_EQ(groups[0].operations, kMicrobatches * kLayers * (2 * kContext - 1));
  EXPECT_DOUBLE_EQ(groups[0].payload.value(), kMicrobatches * kLayers * 3 * (kContext - 1) * keys_and_values);
  EXPECT_EQ(groups[1].shape.ranks, kGpus) << "gradients are reduced over context ranks, too";
}

TEST(Communication, PipelineMessagesAreCountedOnBothSides) {
  Job s = job(0, false);
  s.parallelism.pipeline = 2;
  s.parallelism.data = kGpus / 2;
  s.schedule = schedule::schedule_named("1f1b");
  s.batch.global = kMicrobatches * s.parallelism.data;
  s.model.tied_embeddings = true;
  const std::vector<GroupTraffic> groups = traffic_of(s);
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].group, "pipeline");
  EXPECT_EQ(groups[0].operations, 2 * kMicrobatches);  // activations one way, gradients the other
  EXPECT_DOUBLE_EQ(groups[0].payload.value(), 2 * kMicrobatches * 2.0 * 2048 * kHidden);
  ASSERT_EQ(groups[1].parts.size(), 2U);
  EXPECT_DOUBLE_EQ(groups[1].parts[1].payload.value(), 51200.0 * kHidden * kGradientBytes) << "the tied embedding";
}

}  // namespace
}  // namespace foretoken::observe
