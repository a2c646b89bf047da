// Tests the laws of products in fp32 and tf32 that a profile lends itself.
#include "sim/cost/wide_products.h"

#include <gtest/gtest.h>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

const TileWaveLaw& tiles_of(const Profile& profile, Precision precision) {
  return std::get<TileWaveLaw>(profile.gemm.at(precision).law);
}

TEST(WideProducts, TakeTheRateAndTheLossesOfLoading) {
  Profile profile = example_a100_profile();
  const TileWaveLaw half = tiles_of(profile, Precision::kFp16);
  lend_wide_products(profile, Precision::kTf32, 0.5);
  lend_wide_products(profile, Precision::kFp32, 0.0625);
  const TileWaveLaw &tf32 = tiles_of(profile, Precision::kTf32), &fp32 = tiles_of(profile, Precision::kFp32);
  EXPECT_DOUBLE_EQ(tf32.peak.value(), half.peak.value() / 2);
  EXPECT_DOUBLE_EQ(tf32.efficiency, half.efficiency) << "twice the bytes in twice the time";
  EXPECT_DOUBLE_EQ(tf32.prologue_k, half.prologue_k);
  EXPECT_DOUBLE_EQ(fp32.efficiency, 1 - (1 - half.efficiency) / 8);
  EXPECT_DOUBLE_EQ(fp32.small_tile_loss, half.small_tile_loss / 8);
  const Evidence& evidence = profile.gemm.at(Precision::kTf32).evidence;
  EXPECT_EQ(evidence.provenance, Provenance::kScaled);
  EXPECT_EQ(evidence.scaled_from, profile.name + " fp16");
}

TEST(WideProducts, LargeOnesTakeAsLongAsTheirRateSays) {
  Profile profile = example_a100_profile();
  lend_wide_products(profile, Precision::kTf32, 0.5);
  GemmShape shape{.m = 8192, .n = 8192, .k = 8192, .precision = Precision::kFp16};
  const Seconds half = gemm_time(shape, profile);
  shape.precision = Precision::kTf32;
  EXPECT_NEAR(gemm_time(shape, profile) / half, 2, 0.01);
}

TEST(WideProducts, AKnownLawStandsAndNothingIsMadeOfNothing) {
  Profile profile = example_a100_profile();
  lend_wide_products(profile, Precision::kTf32, 0.5);
  lend_wide_products(profile, Precision::kTf32, 0.25);
  EXPECT_DOUBLE_EQ(tiles_of(profile, Precision::kTf32).peak.value(),
                   tiles_of(profile, Precision::kFp16).peak.value() / 2);
  Profile empty = profile;
  empty.gemm.clear();
  lend_wide_products(empty, Precision::kFp32, 0.1);
  EXPECT_TRUE(empty.gemm.empty());
}

}  // namespace
}  // namespace foretoken::cost
