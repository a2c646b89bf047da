// Tests that every edit changes the field of its key, can be written down, and is undone by removing it.
#include "sim/job/patch.h"

#include <gtest/gtest.h>

#include <set>

#include "sim/job/make.h"

namespace foretoken::job {
namespace {

TEST(Patch, EveryKeyHasANameOfItsOwn) {
  std::set<std::string_view> names;
  for (int key = 0; key < kKeys; ++key) EXPECT_TRUE(names.insert(name_of(static_cast<Key>(key))).second) << key;
  for (const Key key : choice_keys()) EXPECT_TRUE(is_choice(key)) << name_of(key);
}

TEST(Patch, ASearchedKeyIsOpenUntilItIsStated) {
  const std::pair<Key, Value> kStated[] = {{key_of(Axis::kTensor), std::int64_t{2}},
                                           {key_of(Axis::kContext), std::int64_t{2}},
                                           {key_of(Axis::kExpertTensor), std::int64_t{2}},
                                           {key_of(Axis::kExpert), std::int64_t{2}},
                                           {key_of(Axis::kPipeline), std::int64_t{2}},
                                           {Key::kVirtualPipeline, std::int64_t{2}},
                                           {Key::kEncoderPipeline, std::int64_t{1}},
                                           {Key::kSequenceParallel, true},
                                           {Key::kSchedule, *schedule::find_schedule("gpipe")},
                                           {Key::kMicroBatch, std::int64_t{2}},
                                           {Key::kMicrobatchGroup, std::int64_t{8}},
                                           {Key::kRecompute, model::RecomputeGranularity::kFull},
                                           {Key::kZeroStage, std::int64_t{1}},
                                           {Key::kGradReduce, false},
                                           {Key::kParamGather, false},
                                           {Key::kP2pOverlap, true},
                                           {Key::kTensorOverlap, true},
                                           {Key::kExchangeOverlap, true},
                                           {Key::kDispatcher, model::Dispatcher::kDeepEp}};
  ASSERT_EQ(std::size(kStated), searched_keys().size());
  std::size_t place = 0;
  for (const auto& [key, value] : kStated) {
    SCOPED_TRACE(name_of(key));
    EXPECT_EQ(searched_keys()[place++], key);
    Question question;
    EXPECT_TRUE(is_open(question.choices, key));
    apply({key, value}, question);
    for (const Key other : searched_keys()) EXPECT_EQ(is_open(question.choices, other), other != key) << name_of(other);
    apply({key, {}}, question);
    EXPECT_TRUE(is_open(question.choices, key));
  }
}

TEST(Patch, PrecisionsAreOpenUntilTheyAreStated) {
  const std::pair<Key, Value> kStated[] = {{Key::kPrecision, Precision::kFp8},
                                           {Key::kGradients, std::int64_t{2}},
                                           {Key::kOffloadOptimizer, 1.0},
                                           {Key::kOffloadParameters, 1.0},
                                           {Key::kOffloadActivations, 1.0}};
  ASSERT_EQ(std::size(kStated), requested_keys().size());
  Question question;
  for (const auto& [key, value] : kStated) {
    SCOPED_TRACE(name_of(key));
    EXPECT_TRUE(is_open(question.choices, key));
    apply({key, value}, question);
    EXPECT_FALSE(is_open(question.choices, key));
    apply({key, {}}, question);
    EXPECT_TRUE(is_open(question.choices, key));
  }
  EXPECT_EQ(as_set({Key::kPrecision, Precision::kFp8}), "precision=\"fp8\"");
}

TEST(Patch, IsWrittenAsSetTakesItAndAsPeopleReadIt) {
  EXPECT_EQ(as_set({key_of(Axis::kTensor), std::int64_t{4}}), "parallelism.tensor=4");
  EXPECT_EQ(as_set({key_of(Axis::kData), {}}), "parallelism.data=null");
  EXPECT_EQ(as_set({Key::kRecompute, model::RecomputeGranularity::kSelective}), "recompute=\"selective\"");
  EXPECT_EQ(as_set({Key::kSchedule, *schedule::find_schedule("1f1b")}), "schedule=\"1f1b\"");
  EXPECT_EQ(as_set({Key::kDispatcher, model::Dispatcher::kAllGather}), "moe.dispatcher=\"all-gather\"");
  EXPECT_EQ(in_words({Key::kSequenceParallel, true}), "parallelism.sequence_parallel true");
}

TEST(Patch, AFactorScalesTheMachinesOfEveryPool) {
  Question question;
  question.cluster.links.nic = BytesPerSecond(10);
  question.pools.resize(2, {.gpus = 1, .cluster = question.cluster, .profile = {}});
  apply({Key::kNicRate, 0.5}, question);
  EXPECT_EQ(question.cluster.links.nic.value(), 5);
  for (const AskedPool& pool : question.pools) EXPECT_EQ(pool.cluster.links.nic.value(), 5);
}

TEST(Scale, ReachesEveryLawOfAProfile) {
  Question question;
  cost::AttentionLaw law;
  law.forward.peak = law.backward.peak = teraflops(100);
  cost::AttentionLaws& attention = question.profile.attention;
  attention.laws = attention.flash2 = attention.fp8 = {law};
  question.profile.gemm[Precision::kBf16].grouped = cost::GroupedLaw{.memory_bandwidth = gigabytes_per_second(1000)};
  apply({Key::kArithmeticRate, 2.0}, question);
  apply({Key::kMemoryBandwidth, 3.0}, question);
  for (const auto* laws : {&attention.laws, &attention.flash2, &attention.fp8}) {
    EXPECT_EQ(laws->front().forward.peak, teraflops(200));
    EXPECT_EQ(laws->front().backward.peak, teraflops(200));
  }
  EXPECT_EQ(question.profile.gemm[Precision::kBf16].grouped->memory_bandwidth, gigabytes_per_second(3000));
}

TEST(Scale, ReachesAllHostTimesOfARuntime) {
  Question question;
  question.runtime.host_per_layer_forward = question.runtime.host_per_layer_backward = microseconds(100);
  question.runtime.unfused_adam = UnfusedAdam{};
  question.runtime.unfused_adam->host_per_kernel = microseconds(10);
  apply({Key::kHostTime, 0.5}, question);
  EXPECT_EQ(question.runtime.host_per_layer_forward, microseconds(50));
  EXPECT_EQ(question.runtime.host_per_layer_backward, microseconds(50));
  EXPECT_EQ(question.runtime.unfused_adam->host_per_kernel, microseconds(5));
}

}  // namespace
}  // namespace foretoken::job
