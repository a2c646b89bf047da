// Tests layers whose products are cut beside their tensor-parallel collectives, against bounds for many shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "sim/step/passes/lower_layer.h"
#include "sim/step/passes/passes.h"
#include "sim/step/test_job.h"

namespace foretoken::step {
namespace {

using model::TensorOverlap;

job::Job eight_gpus(int tensor, std::int64_t tokens, int hidden, TensorOverlap overlap) {
  job::Job s = test_job(2, hidden);
  s.cluster.gpus_per_node = 8;
  s.gpus = 8;
  s.parallelism.tensor = tensor;
  s.parallelism.data = 8 / tensor;
  s.parallelism.sequence_parallel = true;
  s.batch = {.micro = 1, .global = 8, .sequence_length = tokens, .microbatch_group = {}};
  s.runtime.tensor_overlap = overlap;
  s.overlap.tensor_parallel = overlap != TensorOverlap::kNone;
  return s;
}

/// Times of the ops of a pass, as if one ran after another.
struct OpTimes {
  des::Duration kernels, products, exchanges;
};

OpTimes op_times(const TimedOps& ops) {
  OpTimes sums;
  for (const TimedOp& op : ops) {
    (op.axis ? sums.exchanges : sums.kernels) += op.duration;
    if (op.kind == KernelKind::kProduct) sums.products += op.duration;
  }
  return sums;
}

des::Duration time_of_pass(const TimedOps& ops) { return time_pass({&ops}).total; }

template <class Check>
void for_each_shape(const Check& check) {
  for (const int tensor : {2, 4, 8})
    for (const std::int64_t tokens : {256, 2048, 8192, 65536})
      for (const int hidden : {1024, 4096, 16384}) {
        SCOPED_TRACE(testing::Message() << "tensor " << tensor << ", " << tokens << " tokens, hidden " << hidden);
        const LayerBlocks plain = time_blocks(eight_gpus(tensor, tokens, hidden, TensorOverlap::kNone));
        const LayerBlocks cut = time_blocks(eight_gpus(tensor, tokens, hidden, TensorOverlap::kMicroPipeline));
        check(plain.layers.front(), cut.layers.front());
      }
}

TEST(TensorOverlap, ALayerIsNeverSlowerByMoreThanItsCutsCost) {
  int faster = 0, slower = 0;
  for_each_shape([&](const TimedBlock& plain, const TimedBlock& cut) {
    const OpTimes whole = op_times(plain.forward), parts = op_times(cut.forward);
    const des::Duration before = time_of_pass(plain.forward), after = time_of_pass(cut.forward);
    EXPECT_EQ(before, whole.kernels + whole.exchanges) << "collectives of the forward pass stand between products";
    EXPECT_GE(after, std::max(parts.kernels, parts.exchanges)) << "neither stream is shorter than its work";
    EXPECT_LE(after,
              before + (parts.kernels - whole.kernels) + std::max(des::Duration{}, parts.exchanges - whole.exchanges));
    ++(after < before ? faster : slower);
  });
  EXPECT_GT(faster, 18) << "it pays for most shapes";
  EXPECT_GT(slower, 0) << "small products cost more in parts than they hide";
}

TEST(TensorOverlap, LargeProductsHideTheirCopies) {
  const LayerBlocks plain = time_blocks(eight_gpus(8, 65536, 16384, TensorOverlap::kNone));
  const LayerBlocks cut = time_blocks(eight_gpus(8, 65536, 16384, TensorOverlap::kMicroPipeline));
  const TimedOps& before = plain.layers.front().forward;
  const TimedOps& after = cut.layers.front().forward;
  const OpTimes whole = op_times(before), parts = op_times(after);
  EXPECT_LT((parts.products - whole.products).ps, whole.products.ps / 20) << "eighths of it still fill the GPU";
  EXPECT_LT(time_of_pass(after) - parts.kernels, des::Duration{whole.exchanges.ps / 100}) << "hardly a copy is exposed";
}

TEST(TensorOverlap, OneRankAndAllReducesStayToThePicosecond) {
  const auto ops = [](job::Job s, TensorOverlap overlap) {
    s.runtime.tensor_overlap = overlap;
    s.overlap.tensor_parallel = true;
    const LayerBlocks blocks = time_blocks(s);
    return std::pair(time_of_pass(blocks.layers.front().forward), time_of_pass(blocks.layers.front().backward.whole));
  };
  const job::Job one = eight_gpus(1, 2048, 4096, TensorOverlap::kNone);
  EXPECT_EQ(ops(one, TensorOverlap::kMicroPipeline), ops(one, TensorOverlap::kNone));
  job::Job whole = eight_gpus(4, 2048, 4096, TensorOverlap::kNone);
  whole.parallelism.sequence_parallel = false;
  EXPECT_EQ(ops(whole, TensorOverlap::kMicroPipeline), ops(whole, TensorOverlap::kNone));
  EXPECT_EQ(ops(whole, TensorOverlap::kUserbuffers), ops(whole, TensorOverlap::kNone));
}

TEST(TensorOverlap, ACopyIsARowOfItsOwn) {
  const job::Job s = eight_gpus(8, 2048, 4096, TensorOverlap::kMicroPipeline);
  const LayerBlocks blocks = time_blocks(s);
  const Seconds launch = s.profile.memory_bound.launch;
  const double part = 2.0 * 2048 * 4096 / 8;
  int rows = 0;
  for (const CommunicationId id : blocks.communications.ids()) {
    const Communication& row = blocks.communications[id];
    if (!row.by_copy_engine) continue;
    ++rows;
    EXPECT_EQ(row.payload, Bytes(part));
    EXPECT_EQ(latency_of(row, s), (row.name == "copy sums" ? 3 : 1) * launch)
        << row.name << ": two barriers and itself";
    EXPECT_NEAR(transfer_of(row, s).value(), part / (0.88 * 300e9), 1e-12);
  }
  EXPECT_EQ(rows, 2);
}

}  // namespace
}  // namespace foretoken::step
