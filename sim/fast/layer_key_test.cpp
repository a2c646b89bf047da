// Tests that every choice has a role in the times of layers, and that a choice without a role has no effect.
#include "sim/fast/layer_key.h"

#include <gtest/gtest.h>

#include <set>

namespace foretoken::fast {
namespace {

using job::Key;

TEST(LayerKey, EveryChoiceHasOneRole) {
  std::set<Key> known;
  for (const LayerRole& role : layer_roles()) {
    EXPECT_TRUE(known.insert(role.key).second) << job::name_of(role.key);
    EXPECT_NE(role.why, nullptr);
  }
  for (const Key key : job::choice_keys()) EXPECT_TRUE(known.contains(key)) << job::name_of(key) << " has no role";
}

TEST(LayerKey, DiffersExactlyWithTheChoicesThatPlayAPart) {
  job::Job job;
  job.gpus = 4;
  job.parallelism.data = 4;
  const LayerKey base = layer_key(job);
  const auto with = [&](auto change) {
    job::Job other = job;
    change(other);
    return layer_key(other);
  };
  EXPECT_NE(with([](job::Job& j) { j.parallelism.tensor = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.parallelism.context = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.parallelism.sequence_parallel = true; }), base);
  EXPECT_NE(with([](job::Job& j) { j.batch.micro = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.recompute.granularity = model::RecomputeGranularity::kFull; }), base);
  EXPECT_NE(with([](job::Job& j) { j.optimizer.zero_stage = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.overlap.tensor_parallel = true; }), base);
  EXPECT_NE(with([](job::Job& j) { j.precision = Precision::kFp8; }), base);
  EXPECT_NE(with([](job::Job& j) { j.parallelism.expert = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.parallelism.expert_tensor = 2; }), base);
  EXPECT_NE(with([](job::Job& j) { j.routing.dispatcher = model::Dispatcher::kAllGather; }), base);
  const LayerKey hidden = with([](job::Job& j) {
    j.overlap.exchanges = true;
    j.batch.global = 8;
  });
  EXPECT_NE(hidden, base);
  const LayerKey more_hidden = with([](job::Job& j) {
    j.overlap.exchanges = true;
    j.batch.global = 16;
  });
  EXPECT_NE(more_hidden, hidden) << "one part in m stays";
  EXPECT_EQ(with([](job::Job& j) { j.overlap.p2p = true; }), base);
  EXPECT_EQ(with([](job::Job& j) { j.optimizer.zero_stage = 1; }), base) << "optimizer states are no part of a layer";
  EXPECT_EQ(with([](job::Job& j) { j.parallelism.pipeline = 2; }), base);
  EXPECT_EQ(with([](job::Job& j) { j.batch.global = 8; }), base);
}

}  // namespace
}  // namespace foretoken::fast
