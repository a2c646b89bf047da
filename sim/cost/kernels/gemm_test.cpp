// Checks matrix products: one case by hand, and rules that hold for every shape.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

double seconds(const GemmShape& shape) {
  static const Profile profile = example_a100_profile();
  return gemm_time(shape, profile).value();
}

GemmShape any_shape() {
  return {.m = *rc::gen::inRange(1, 20000),
          .n = *rc::gen::inRange(1, 20000),
          .k = *rc::gen::inRange(1, 20000),
          .batch = *rc::gen::inRange(1, 100)};
}

TEST(Gemm, LargeProductByHand) {
  // 32 x 64 = 2048 tiles of 256 x 128 are 19 waves on 108 multiprocessors; no split and no smaller tile is faster.
  const double waves = std::ceil(2048.0 / 108.0);
  const double rate = 312e12 / 108 * 0.871;
  const double expected = waves * 2 * 256 * 128 * (8192 + 195) / rate + 3.7e-6;
  EXPECT_NEAR(seconds({.m = 8192, .n = 8192, .k = 8192}), expected, 1e-12);
}

TEST(Gemm, ThinProductIsBoundByMemory) {
  // One row of activations times a 16384 x 16384 matrix reads every weight once.
  const double bytes = 2.0 * (16384.0 + 16384.0 * 16384.0 + 16384.0);
  EXPECT_NEAR(seconds({.m = 1, .n = 16384, .k = 16384}), bytes / (2039e9 * 0.62) + 3.7e-6, 1e-12);
}

TEST(Gemm, SplitsDeepAndNarrowProducts) {
  // One 128 x 128 output: without splitting k, a single multiprocessor would do all the work.
  const double one_processor = 2 * 128.0 * 128 * 65536 / (312e12 / 108 * 0.871);
  EXPECT_LT(seconds({.m = 128, .n = 128, .k = 65536}), 0.5 * one_processor);
}

TEST(Gemm, WeightGradientTakesItsFactor) {
  const GemmShape forward{.m = 4096, .n = 4096, .k = 4096};
  GemmShape weight = forward;
  weight.pass = GemmPass::kWeightGradient;
  EXPECT_DOUBLE_EQ(seconds(weight), 1.04 * seconds(forward));
}

struct RowsCase {
  const char* name;
  GemmShape shape;
  double slowdown;
};
constexpr RowsCase kRowsCases[] = {
    {"32 bytes", {.m = 8191, .n = 8208, .k = 8192}, 1},
    {"16 bytes", {.m = 8192, .n = 8200, .k = 8192}, 2},
    {"8 bytes, depth", {.m = 8192, .n = 8192, .k = 8188}, 3},
    {"4 bytes", {.m = 8192, .n = 8190, .k = 8192}, 3},
    {"2 bytes", {.m = 8192, .n = 8191, .k = 8192}, 5},
    {"input gradient: as forward", {.m = 8191, .n = 8190, .k = 8192, .pass = GemmPass::kInputGradient}, 3},
    {"weight gradient: tokens are no row", {.m = 8192, .n = 8192, .k = 8191, .pass = GemmPass::kWeightGradient}, 1},
    {"weight gradient: outputs are", {.m = 8191, .n = 8192, .k = 8192, .pass = GemmPass::kWeightGradient}, 5}};

TEST(Gemm, MisalignedRowsSlowTheInnerLoop) {
  Profile profile = example_a100_profile();
  profile.misaligned_rows = {.rows_16_bytes = 2, .rows_4_bytes = 3, .rows_2_bytes = 5};
  for (const RowsCase& row : kRowsCases) {
    SCOPED_TRACE(row.name);
    const auto k = static_cast<double>(row.shape.k);
    const double launch = 3.7e-6, factor = row.shape.pass == GemmPass::kWeightGradient ? 1.04 : 1;
    const double aligned = seconds(row.shape) / factor - launch;
    const double expected = factor * (launch + aligned * (row.slowdown * k + 195) / (k + 195));
    EXPECT_NEAR(gemm_time(row.shape, profile).value(), expected, 1e-9);
  }
}

TEST(Gemm, OldLibrariesRunMisalignedBatchesWithoutTensorCores) {
  Profile profile = example_a100_profile();
  profile.misaligned_rows.batched_before_cuda_11_7 = teraflops(12);
  const auto old = [&](GemmShape shape) { return gemm_time(shape, profile, GemmLibrary::kBeforeCuda11_7).value(); };
  const GemmShape scores{.m = 2048, .n = 2048, .k = 108, .batch = 64};
  EXPECT_NEAR(old(scores), 3.7e-6 + scores.flop().value() / 12e12, 1e-12);
  EXPECT_EQ(gemm_time(scores, profile).value(), seconds(scores)) << "newer libraries use them";
  GemmShape aligned = scores, single = scores;
  aligned.k = 104;
  single.batch = 1;
  EXPECT_EQ(old(aligned), seconds(aligned));
  EXPECT_EQ(old(single), seconds(single));
}

TEST(Gemm, AddingToTheOutputRunsPartlyBesideTheProduct) {
  const GemmShape plain{.m = 12288, .n = 12288, .k = 2048};
  GemmShape adding = plain;
  adding.pass = GemmPass::kWeightGradient;
  adding.adds_to_bytes = 4;
  const double traffic = 8.0 * 12288 * 12288 / (2039e9 * 0.62);
  EXPECT_NEAR(seconds(adding), std::pow(std::pow(seconds(plain), 1.5) + std::pow(traffic, 1.5), 2.0 / 3), 1e-12);
  EXPECT_LT(seconds(adding), seconds(plain) + traffic);
  GemmShape half = adding;
  half.adds_to_bytes = 2;
  EXPECT_LT(seconds(half), seconds(adding));
  EXPECT_GT(seconds(half), seconds(plain));
}

TEST(Gemm, HeldMultiprocessorsCostWaves) {
  GemmShape shape{.m = 256 * 9, .n = 128 * 12, .k = 65536};  // 108 tiles: one wave
  const double whole = seconds(shape);
  shape.processor_share = 107.0 / 108;  // one tile too many
  EXPECT_GT(seconds(shape), 1.2 * whole);
}

/// Compute alone: no launch, no memory, no prologue, and the peak of one tile's product a second.
Profile tiles_only(TileSet tiles, double softness) {
  Profile profile = example_a100_profile();
  auto& law = std::get<TileWaveLaw>(profile.gemm.at(Precision::kBf16).law);
  law.tiles = tiles;
  law.wave_softness = softness;
  law.prologue_k = 0;
  law.launch = Seconds(0);
  law.memory_bandwidth = BytesPerSecond(1e18);
  return profile;
}

TEST(Gemm, ASoftLastWaveLastsLessLong) {
  const GemmShape full{.m = 256 * 108, .n = 128, .k = 4096}, more{.m = 256 * 205, .n = 128, .k = 4096};  // 1.9 waves
  const auto ratio = [&](double softness) {
    const Profile profile = tiles_only(TileSet::kFine, softness);
    return gemm_time(more, profile) / gemm_time(full, profile);
  };
  EXPECT_NEAR(ratio(1), 205.0 / 108, 1e-9);
  EXPECT_GT(ratio(0.5), 1.02 * ratio(1));
  EXPECT_GT(ratio(0), 1.02 * ratio(0.5));
}

TEST(Gemm, FineTilesFitWhereDoublingOnesSpill) {
  const GemmShape shape{.m = 192 * 12, .n = 128 * 9, .k = 4096};  // 108 tiles of 192 x 128
  const auto time = [&](TileSet tiles) {
    Profile profile = tiles_only(tiles, 0);
    std::get<TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).prologue_k = 4096;  // no splits of k
    return gemm_time(shape, profile);
  };
  EXPECT_LT(time(TileSet::kFine) / time(TileSet::kDoubling), 0.95);
}

/// A law of grouped products: whole waves of 256 x 256 tiles, without prologue.
Profile grouped_only(double memory_bandwidth) {
  Profile profile = tiles_only(TileSet::kFine, 0);
  profile.gemm.at(Precision::kBf16).grouped =
      GroupedLaw{.efficiency = 0.5, .small_tile_loss = 0.2, .memory_bandwidth = BytesPerSecond(memory_bandwidth)};
  return profile;
}

TEST(Gemm, GroupedProductsFillWholeTilesOfEachExpert) {
  const Profile profile = grouped_only(1e18);
  const auto& law = std::get<TileWaveLaw>(profile.gemm.at(Precision::kBf16).law);
  const double tile = 2.0 * 256 * 256 * 4096 / (law.peak.value() / 108 * 0.5) * law.sustained_factor;
  GemmShape shape{.m = 256, .n = 256, .k = 4096, .batch = 108, .kind = BatchKind::kGrouped};  // one tile an expert
  EXPECT_NEAR(gemm_time(shape, profile).value(), tile, 1e-9 * tile);
  shape.m = 257;  // a second tile for each
  EXPECT_GT(gemm_time(shape, profile).value(), 1.4 * tile);
  shape.m = 20;  // the smallest tile of 128 x 64 has 0.4 of the efficiency
  EXPECT_LT(gemm_time(shape, profile).value(), tile);
}

TEST(Gemm, GroupedProductsReadTheWeightsOfAllExperts) {
  const Profile profile = grouped_only(1e11);
  const GemmShape shape{.m = 1, .n = 4096, .k = 4096, .batch = 64, .kind = BatchKind::kGrouped};
  EXPECT_NEAR(gemm_time(shape, profile).value(), 64 * 2.0 * (4096.0 * 4096 + 2 * 4096) / 1e11, 1e-9);
}

TEST(Gemm, WithoutALawGroupedProductsAreBatched) {
  Profile profile = grouped_only(1e12);
  GemmShape shape{.m = 700, .n = 1536, .k = 2048, .batch = 16};
  const Seconds batched = gemm_time(shape, profile);
  shape.kind = BatchKind::kStreams;
  EXPECT_EQ(gemm_time(shape, profile), batched);
  shape.kind = BatchKind::kGrouped;
  EXPECT_NE(gemm_time(shape, profile), batched);
  profile.gemm.at(Precision::kBf16).grouped.reset();
  EXPECT_EQ(gemm_time(shape, profile), batched);
}

TEST(Gemm, FineTilesAndSoftWavesNeverGetFasterWithSize) {
  const Profile profile = tiles_only(TileSet::kFine, 0.7);
  EXPECT_TRUE(rc::check([&] {
    const GemmShape shape = any_shape();
    GemmShape larger = shape;
    larger.m += *rc::gen::inRange(0, 2000);
    larger.k += *rc::gen::inRange(0, 2000);
    RC_ASSERT(gemm_time(larger, profile).value() >= gemm_time(shape, profile).value() * (1 - 1e-12));
  }));
}

TEST(Gemm, FourBitRowsAreAlignedByTheirBits) {
  Profile profile = example_a100_profile();
  profile.misaligned_rows = {.rows_16_bytes = 2, .rows_4_bytes = 3, .rows_2_bytes = 5};
  profile.gemm[Precision::kNvfp4] = profile.gemm.at(Precision::kBf16);
  const GemmShape aligned{.m = 8192, .n = 8192, .k = 8192, .precision = Precision::kNvfp4};
  GemmShape odd = aligned;
  odd.k = 8192 - 32;  // 16 bytes
  EXPECT_GT(gemm_time(odd, profile).value(), 1.8 * gemm_time(aligned, profile).value());
}

TEST(Gemm, SustainedFactorSlowsComputeOnly) {
  Profile profile = example_a100_profile();
  std::get<TileWaveLaw>(profile.gemm.at(Precision::kBf16).law).sustained_factor = 1.5;
  const GemmShape large{.m = 8192, .n = 8192, .k = 8192}, thin{.m = 1, .n = 16384, .k = 16384};
  const double launch = 3.7e-6;
  EXPECT_NEAR(gemm_time(large, profile).value() - launch, 1.5 * (seconds(large) - launch), 1e-12);
  EXPECT_DOUBLE_EQ(gemm_time(thin, profile).value(), seconds(thin));
}

TEST(Gemm, RooflineByHand) {
  Profile profile = example_a100_profile();
  profile.gemm[Precision::kFp8] = {.law = RooflineLaw{.compute_rate = teraflops(1000),
                                                      .memory_bandwidth = gigabytes_per_second(2000),
                                                      .sharpness = 2,
                                                      .launch = microseconds(10)}};
  const GemmShape shape{.m = 1024, .n = 2048, .k = 4096, .precision = Precision::kFp8};
  const double compute = 2.0 * 1024 * 2048 * 4096 / 1000e12;
  const double memory = (1024.0 * 4096 + 4096.0 * 2048 + 2 * 1024.0 * 2048) / 2000e9;  // fp8 in, 16 bit out
  EXPECT_NEAR(gemm_time(shape, profile).value(), 10e-6 + std::hypot(compute, memory), 1e-15);
}

TEST(Gemm, NeverFasterWhenAnyDimensionGrows) {
  EXPECT_TRUE(rc::check([] {
    const GemmShape shape = any_shape();
    GemmShape larger = shape;
    larger.m += *rc::gen::inRange(0, 2000);
    larger.n += *rc::gen::inRange(0, 2000);
    larger.k += *rc::gen::inRange(0, 2000);
    larger.batch += *rc::gen::inRange(0, 10);
    RC_ASSERT(seconds(larger) >= seconds(shape));
  }));
}

TEST(Gemm, NeverBeatsThePeakNorTheMemory) {
  EXPECT_TRUE(rc::check([] {
    const GemmShape shape = any_shape();
    const double m = double(shape.m), n = double(shape.n), k = double(shape.k), batch = double(shape.batch);
    RC_ASSERT(seconds(shape) > shape.flop().value() / 312e12);
    RC_ASSERT(seconds(shape) > 2 * batch * (m * n + m * k + k * n) / 2039e9);
  }));
}

TEST(Gemm, RowsAndColumnsAreAlike) {
  EXPECT_TRUE(rc::check([] {
    const GemmShape shape = any_shape();
    GemmShape transposed = shape;
    std::swap(transposed.m, transposed.n);
    RC_ASSERT(std::abs(seconds(shape) / seconds(transposed) - 1) < 1e-12);
  }));
}

}  // namespace
}  // namespace foretoken::cost
