// Checks fused attention: one case by hand, the rule between head dimensions, and rules that hold for every shape.
#include "sim/cost/kernels/attention.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

AttentionRate simple(double tflops, double half_length, double tail) { return {teraflops(tflops), half_length, tail}; }

/// A profile with round numbers: 100 TFLOP/s forward and 50 backward at head dimension 64, and twice as much at 128.
Profile simple_profile() {
  Profile profile = example_a100_profile();
  profile.attention.launch = microseconds(2);
  profile.attention.laws = {{64, true, simple(100, 400, 0), simple(50, 400, 0), {}},
                            {128, true, simple(200, 600, 0), simple(100, 600, 0), {}},
                            {128, false, simple(200, 200, 2), simple(100, 200, 0), {}}};
  return profile;
}

double seconds(const AttentionShape& shape, const Profile& profile) { return attention_time(shape, profile).value(); }

TEST(Attention, CausalForwardAndBackwardByHand) {
  AttentionShape shape{.batch = 2, .heads = 16, .kv_heads = 16, .q_length = 2048, .kv_length = 2048, .head_dim = 128};
  const double flop = 0.5 * 4.0 * 2 * 16 * 2048 * 2048 * 128;
  EXPECT_NEAR(seconds(shape, simple_profile()), 2e-6 + flop / 200e12 * (1 + 600.0 / 2048), 1e-15);
  shape.backward = true;
  EXPECT_NEAR(seconds(shape, simple_profile()), 2e-6 + 2.5 * flop / 100e12 * (1 + 600.0 / 2048), 1e-15);
}

TEST(Attention, ALimitedClockSlowsTheKernelNotItsLaunch) {
  Profile limited = simple_profile();
  limited.attention.sustained_factor = 1.2;
  const AttentionShape shape{.heads = 16, .kv_heads = 16, .q_length = 2048, .kv_length = 2048, .head_dim = 128};
  EXPECT_NEAR(seconds(shape, limited) - 2e-6, 1.2 * (seconds(shape, simple_profile()) - 2e-6), 1e-15);
}

TEST(Attention, AWindowCostsItsKeysAndTheOverhang) {
  Profile profile = simple_profile();
  AttentionShape shape{.batch = 2, .heads = 16, .kv_heads = 16, .q_length = 8192, .kv_length = 8192, .head_dim = 128};
  const double all = seconds(shape, profile);
  shape.window = 1024;
  const double per_key = 4.0 * 2 * 16 * 8192 * 128 / 200e12;
  const auto expected = [&](double most) {
    const double keys = most - most * most / (2 * 8192);  // the first queries see fewer
    return 2e-6 + keys * per_key * (1 + 600 / (2 * keys));
  };
  EXPECT_NEAR(seconds(shape, profile), expected(1024), 1e-12);
  for (AttentionLaw& law : profile.attention.laws) law.window_overhang = 200;
  EXPECT_NEAR(seconds(shape, profile), expected(1224), 1e-12);
  shape.window = 8000;
  EXPECT_DOUBLE_EQ(seconds(shape, profile), all) << "no more than without a window";
}

TEST(Attention, AQuerySeesItsWindowAndNoKeyBeforeTheFirst) {
  constexpr std::int64_t kKeys = 1000;
  for (const std::int64_t window : {1, 100, 700, 999, 1000, 5000}) {
    AttentionShape shape{.q_length = kKeys, .kv_length = kKeys, .window = window};
    std::int64_t pairs = 0;
    for (std::int64_t query = 1; query <= kKeys; ++query) pairs += std::min(query, window);
    // The diagonal counts by half, as without a window: a query sees itself.
    const double counted = static_cast<double>(pairs) / kKeys;
    EXPECT_NEAR(shape.keys_per_query(), counted, 0.5) << window;
    shape.causal = false;
    EXPECT_EQ(shape.keys_per_query(), static_cast<double>(std::min(window, kKeys)));
  }
}

TEST(Attention, EightBitKernelsHaveLawsOfTheirOwn) {
  Profile profile = simple_profile();
  AttentionShape shape{.heads = 16, .kv_heads = 16, .q_length = 4096, .kv_length = 4096, .head_dim = 128};
  const double half = seconds(shape, profile);
  shape.precision = Precision::kFp8;
  EXPECT_DOUBLE_EQ(seconds(shape, profile), half) << "without such laws";
  profile.attention.fp8 = {{128, true, simple(400, 600, 0), simple(200, 600, 0), 0, {}}};
  EXPECT_NEAR(seconds(shape, profile) - 2e-6, (half - 2e-6) / 2, 1e-12);
  shape.causal = false;
  shape.precision = Precision::kBf16;
  const double full = seconds(shape, profile);
  shape.precision = Precision::kFp8;
  shape.kernel = FlashKernel::kServing;
  EXPECT_DOUBLE_EQ(seconds(shape, profile), full) << "services, without one for this mask";
}

TEST(Attention, AMaskThatWasNotMeasuredInEightBitsHasTheProportionOfCausalKernels) {
  Profile profile = simple_profile();
  profile.attention.fp8 = {{128, true, simple(400, 600, 0), simple(100, 600, 0), 0, {}}};
  for (const bool backward : {false, true}) {
    const auto time = [&](bool causal, Precision precision, std::int64_t queries) {
      return seconds({.heads = 16,
                      .kv_heads = 16,
                      .q_length = queries,
                      .kv_length = 4096,
                      .causal = causal,
                      .backward = backward,
                      .precision = precision},
                     profile);
    };
    const double part = time(true, Precision::kFp8, 4096) / time(true, Precision::kBf16, 4096);
    EXPECT_DOUBLE_EQ(time(false, Precision::kFp8, 2048), part * time(false, Precision::kBf16, 2048));
  }
  const AttentionShape full{.causal = false, .precision = Precision::kFp8};
  EXPECT_TRUE(is_mask_assumed(profile.attention, full));
  const double assumed = seconds(full, profile);
  profile.attention.fp8.push_back({128, false, simple(300, 600, 0), simple(100, 600, 0), 0, {}});
  EXPECT_FALSE(is_mask_assumed(profile.attention, full));
  EXPECT_NE(seconds(full, profile), assumed) << "a law of its own counts";
}

TEST(Attention, EnginesOfInferenceMayHaveSlowerKernels) {
  Profile profile = simple_profile();
  const AttentionShape training{.heads = 16, .kv_heads = 16, .q_length = 2048, .kv_length = 2048, .head_dim = 128};
  AttentionShape serving = training;
  serving.kernel = FlashKernel::kServing;
  EXPECT_EQ(seconds(serving, profile), seconds(training, profile)) << "no laws of their own";
  profile.attention.serving = {{128, true, simple(100, 600, 0), simple(50, 600, 0), {}}};
  EXPECT_NEAR(seconds(serving, profile) - 2e-6, 2 * (seconds(training, profile) - 2e-6), 1e-15);
  EXPECT_EQ(seconds(training, profile), seconds(training, simple_profile()));
  AttentionShape other = serving;
  other.causal = false;
  EXPECT_EQ(seconds(other, profile), seconds(other, simple_profile())) << "no law without a mask";
  other = serving;
  other.head_dim = 64;
  EXPECT_EQ(seconds(other, profile), seconds(other, simple_profile())) << "training has measured this dimension";
}

TEST(Attention, OlderKernelsTakeMultiplesOfFlashAttention2) {
  Profile profile = simple_profile();
  profile.attention.flash2 = profile.attention.laws;
  profile.attention.laws = {{128, true, simple(400, 400, 0), simple(300, 400, 0), {}}};
  AttentionShape shape{.batch = 2, .heads = 16, .kv_heads = 16, .q_length = 2048, .kv_length = 2048, .head_dim = 128};
  const double launch = 2e-6, flop = 0.5 * 4.0 * 2 * 16 * 2048 * 2048 * 128;
  for (const bool backward : {false, true}) {
    shape.backward = backward;
    const double flash2 = (backward ? 2.5 * flop / 100e12 : flop / 200e12) * (1 + 600.0 / 2048);
    const auto time = [&](FlashKernel kernel) {
      shape.kernel = kernel;
      return seconds(shape, profile);
    };
    EXPECT_NEAR(time(FlashKernel::kFlash2), launch + flash2, 1e-12);
    EXPECT_NEAR(time(FlashKernel::kFlash1), launch + 2 * flash2, 1e-12);
    EXPECT_NEAR(time(FlashKernel::kTriton), launch + (backward ? 2 : 1.4) * flash2, 1e-12);
    EXPECT_LT(time(FlashKernel::kFastest), time(FlashKernel::kFlash2));
  }
}

TEST(Attention, FewThreadBlocksLeaveMultiprocessorsIdle) {
  // 8 heads x 1024 / 128 rows = 64 blocks on 108 multiprocessors, tail 2.
  const AttentionShape shape{.heads = 8, .kv_heads = 8, .q_length = 1024, .kv_length = 1024, .causal = false};
  const double flop = 4.0 * 8 * 1024 * 1024 * 128;
  const double slowdown = (1 + 200.0 / 1024) * (1 + 2 * 108.0 / 64);
  EXPECT_NEAR(seconds(shape, simple_profile()), 2e-6 + flop / 200e12 * slowdown, 1e-15);
}

/// Full attention of head dimension 128 in waves of 108 blocks of 256 rows. A block takes 10 us.
AttentionShape full(std::int64_t heads, std::int64_t rows) {
  return {.heads = heads, .kv_heads = heads, .q_length = rows, .kv_length = 4000, .causal = false};
}
Profile with_waves(double softness, double tail, double knee) {
  Profile profile = simple_profile();
  const double block_flop = 4.0 * 256 * 4000 * 128;
  AttentionRate rate = simple(108 * block_flop / 10e-6 / 1e12, 0, tail);
  rate.waves = AttentionWaves{.block_rows = 256, .softness = softness, .knee = knee};
  profile.attention.laws = {{128, false, rate, rate, {}}};
  return profile;
}
double microseconds_of(const AttentionShape& shape, const Profile& profile) {
  return 1e6 * seconds(shape, profile) - 2;
}

TEST(Attention, EqualBlocksRunInWholeWaves) {
  const Profile whole = with_waves(0, 0, 1);
  EXPECT_NEAR(microseconds_of(full(27, 1024), whole), 10, 1e-9) << "27 x 4 blocks fill one wave";
  EXPECT_NEAR(microseconds_of(full(28, 1024), whole), 20, 1e-9) << "a block more starts the next one";
  EXPECT_NEAR(microseconds_of(full(54, 1024), whole), 20, 1e-9);
  EXPECT_NEAR(microseconds_of(full(27, 900), whole), 10, 1e-9) << "900 rows are padded to four blocks";
  const Profile soft = with_waves(0.25, 0, 1);
  EXPECT_NEAR(microseconds_of(full(28, 1024), soft), 10 * (0.75 * 2 + 0.25 * 112 / 108), 1e-9);
}

TEST(Attention, ABackwardPassTakesNoLessTimeForMoreKeysInItsLastBlock) {
  Profile profile = with_waves(0, 0, 1);
  profile.attention.laws.front().backward.half_length = 300;
  AttentionShape shape = full(27, 900);
  shape.backward = true;
  shape.kv_length = 900;
  const double before = microseconds_of(shape, profile);
  shape.kv_length = 1000;
  EXPECT_NEAR(microseconds_of(shape, profile), before, 1e-9);
}

TEST(Attention, FewEqualBlocksTakeNoLessThanTheFirstOne) {
  const Profile profile = with_waves(0, 0.5, 2);
  EXPECT_NEAR(microseconds_of(full(1, 256), profile), 10 * std::hypot(1.0 / 108, 0.5), 1e-9);
  EXPECT_NEAR(microseconds_of(full(27, 1024), profile), 10 * std::hypot(1, 0.5), 1e-9);
  EXPECT_NEAR(microseconds_of(full(108, 1024), profile), 10 * std::hypot(4, 0.5), 1e-9);
}

TEST(Attention, WavesBetweenHeadDimensionsAreInterpolatedInTime) {
  Profile profile = with_waves(0, 0, 1);
  AttentionLaw narrow = profile.attention.laws.front();
  narrow.head_dim = 64;
  narrow.forward.waves.reset();
  profile.attention.laws.push_back(narrow);
  AttentionShape shape = full(28, 1024);
  shape.head_dim = 96;
  const double w = std::log2(96.0 / 64), even = 10.0 * 112 / 108 * 96 / 128;
  EXPECT_NEAR(microseconds_of(shape, profile), even * (1 - w) + 20.0 * 96 / 128 * w, 1e-9);
}

TEST(Attention, HeadDimensionsBetweenAreInterpolatedOverTheLogarithm) {
  // 96 lies 0.585 of the way from 64 to 128.
  const AttentionShape shape{.batch = 64, .heads = 16, .q_length = 4096, .kv_length = 4096, .head_dim = 96};
  const double w = std::log2(96.0 / 64);
  const double rate = (1 - w) * 100e12 + w * 200e12, half_length = (1 - w) * 400 + w * 600;
  EXPECT_NEAR(seconds(shape, simple_profile()), 2e-6 + shape.flop().value() / rate * (1 + half_length / 4096), 1e-9);
}

TEST(Attention, SmallHeadsSlowDownInProportionAndLargeOnesKeepTheRate) {
  const Profile profile = simple_profile();
  AttentionShape shape{.batch = 64, .heads = 16, .q_length = 4096, .kv_length = 4096, .head_dim = 64};
  const double at64 = seconds(shape, profile);
  shape.head_dim = 32;  // half the work at half the rate
  EXPECT_NEAR(seconds(shape, profile), at64, 1e-9);
  shape.head_dim = 128;
  const double at128 = seconds(shape, profile);
  shape.head_dim = 256;
  EXPECT_NEAR(seconds(shape, profile) - 2e-6, 2 * (at128 - 2e-6), 1e-9);
}

TEST(Attention, PaddedHeadDimensionsArePaidFor) {
  // 108 runs as 112.
  const Profile profile = simple_profile();
  AttentionShape shape{.batch = 8, .heads = 16, .q_length = 2048, .kv_length = 2048, .head_dim = 108};
  const double at108 = seconds(shape, profile);
  shape.head_dim = 112;
  EXPECT_NEAR(at108, seconds(shape, profile), 1e-12);
}

TEST(Attention, ContextParallelShareOfTheQueriesTakesItsShareOfTheTime) {
  const Profile profile = simple_profile();
  const AttentionShape whole{.batch = 4, .heads = 16, .q_length = 8192, .kv_length = 8192};
  AttentionShape quarter = whole;
  quarter.q_length = 2048;
  EXPECT_NEAR(seconds(quarter, profile) - 2e-6, (seconds(whole, profile) - 2e-6) / 4, 1e-12);
}

TEST(Attention, NeverFasterWhenAnythingGrows) {
  EXPECT_TRUE(rc::check([] {
    static const std::array profiles{example_a100_profile(), with_waves(0.2, 0.8, 2.5)};
    const bool waves = *rc::gen::arbitrary<bool>();
    const Profile& profile = profiles.at(waves ? 1 : 0);
    const AttentionShape shape{.batch = *rc::gen::inRange(1, 64),
                               .heads = *rc::gen::inRange(1, 128),
                               .q_length = *rc::gen::inRange(1, 10000),
                               .kv_length = *rc::gen::inRange(1, 10000),
                               .head_dim = *rc::gen::element(32, 64, 80, 96, 128, 192, 256),
                               .causal = !waves && *rc::gen::arbitrary<bool>(),
                               .backward = *rc::gen::arbitrary<bool>()};
    AttentionShape larger = shape;
    larger.batch += *rc::gen::inRange(0, 10);
    larger.heads += *rc::gen::inRange(0, 10);
    larger.q_length += *rc::gen::inRange(0, 1000);
    larger.kv_length += *rc::gen::inRange(0, 1000);
    RC_ASSERT(attention_time(shape, profile) > profile.attention.launch);
    constexpr double kRounding = 1 - 1e-12;  // keys in one block give the same time by other sums
    RC_ASSERT(attention_time(larger, profile) >= kRounding * attention_time(shape, profile));
  }));
}

}  // namespace
}  // namespace foretoken::cost
