// Tests of units: sums and quotients that compile, and some that must not.
#include "sim/base/units.h"

#include <gtest/gtest.h>

#include "sim/base/error.h"
#include "sim/base/kernel.h"

namespace foretoken {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) {
  a + b;
};
static_assert(Addable<Seconds, Seconds>);
static_assert(!Addable<Seconds, Bytes>);
static_assert(!Addable<Seconds, double>);

TEST(Units, BytesOverRateIsTime) {
  EXPECT_DOUBLE_EQ((Bytes(300e9) / gigabytes_per_second(300)).value(), 1.0);
  EXPECT_DOUBLE_EQ((Flop(312e12) / teraflops(312)).value(), 1.0);
}

TEST(Kernel, CausalAttentionIsHalfAndBackwardTwoAndAHalf) {
  AttentionShape shape{.batch = 1, .heads = 2, .q_length = 8, .kv_length = 8, .head_dim = 4, .causal = false};
  EXPECT_DOUBLE_EQ(shape.flop().value(), 4.0 * 2 * 64 * 4);
  shape.causal = true;
  shape.backward = true;
  EXPECT_DOUBLE_EQ(shape.flop().value(), 4.0 * 2 * 64 * 4 * 0.5 * 2.5);
}

TEST(ConfigError, OneLineForEachComplaint) {
  const ConfigError error({{"a.json", "/gpus", "expected a number"}, {"a.json", "", "unknown key"}});
  EXPECT_STREQ(error.what(), "a.json: /gpus: expected a number\na.json: unknown key");
}

}  // namespace
}  // namespace foretoken
