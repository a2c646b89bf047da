// Tests the grid of corrections: exact at its knots, linear between them, fading outside, one layout at a time.
#include "sim/cost/kernels/gemm_correction.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"

namespace foretoken::cost {
namespace {

constexpr int kProcessors = 100;
const GemmCorrection::Axis kAxis{.first = 6, .last = 12, .knots = 4};  // 64, 256, 1024, 4096

/// log ratio = 0.01 (log2 m + 2 log2 n - 3 log2 k): linear, so that interpolation must meet it everywhere.
double slanted(double m, double n, double k) { return 0.01 * (std::log2(m) + 2 * std::log2(n) - 3 * std::log2(k)); }

GemmCorrection slanted_grid() {
  GemmCorrection grid{.m = kAxis, .n = kAxis, .k = kAxis};
  for (const double m : {64, 256, 1024, 4096})
    for (const double n : {64, 256, 1024, 4096})
      for (const double k : {64, 256, 1024, 4096}) grid.log_ratio.push_back(slanted(m, n, k));
  return grid;
}

TEST(GemmCorrection, NoValuesNoCorrection) {
  EXPECT_EQ(correction_factor({}, {.m = 100, .n = 100, .k = 100}, kProcessors), 1);
}

TEST(GemmCorrection, IsLinearInTheLogarithmsInside) {
  const GemmCorrection grid = slanted_grid();
  EXPECT_TRUE(rc::check([&] {
    const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(64, 4097)); };
    const GemmShape shape{.m = size(), .n = size(), .k = size()};
    const double expected = slanted(double(shape.m), double(shape.n), double(shape.k));
    RC_ASSERT(std::abs(std::log(correction_factor(grid, shape, kProcessors)) - expected) < 1e-12);
  }));
}

TEST(GemmCorrection, KnotsMayStandUnevenly) {
  const GemmCorrection::Axis uneven{.first = 6, .last = 12, .knots = 4, .places = {6, 7, 10.5, 12}};
  GemmCorrection grid{.m = uneven, .n = uneven, .k = uneven};
  for (const double m : uneven.places)
    for (const double n : uneven.places)
      for (const double k : uneven.places) grid.log_ratio.push_back(slanted(std::exp2(m), std::exp2(n), std::exp2(k)));
  EXPECT_TRUE(rc::check([&] {
    const auto size = [] { return static_cast<std::int64_t>(*rc::gen::inRange(64, 4097)); };
    const GemmShape shape{.m = size(), .n = size(), .k = size()};
    const double expected = slanted(double(shape.m), double(shape.n), double(shape.k));
    RC_ASSERT(std::abs(std::log(correction_factor(grid, shape, kProcessors)) - expected) < 1e-12);
  }));
}

struct FadeCase {
  const char* name;
  GemmShape shape;
  double part;  ///< remaining part of the correction at the clamped shape
};
constexpr FadeCase kFades[] = {{"inside", {.m = 4096, .n = 4096, .k = 4096}, 1},
                               {"half an octave of one dimension is a quarter", {.m = 5793, .n = 4096, .k = 4096}, .75},
                               {"an octave is a half", {.m = 8192, .n = 4096, .k = 4096}, 0.5},
                               {"octaves add up", {.m = 8192, .n = 8192, .k = 4096}, 0},
                               {"below counts as above", {.m = 4096, .n = 4096, .k = 32}, 0.5},
                               {"a batch of two is an octave", {.m = 4096, .n = 4096, .k = 4096, .batch = 2}, 0.5},
                               {"far away", {.m = 1 << 20, .n = 4096, .k = 4096}, 0}};

TEST(GemmCorrection, FadesOutside) {
  GemmCorrection grid = slanted_grid();
  for (double& value : grid.log_ratio) value = 0.2;
  for (const auto& [name, shape, part] : kFades) {
    SCOPED_TRACE(name);
    EXPECT_NEAR(std::log(correction_factor(grid, shape, kProcessors)), 0.2 * part, 1e-5);
  }
}

struct LineCase {
  const char* name;
  std::int64_t tiles;  ///< of 256 x 128
  double expected;     ///< the line of this tile is its number of waves
};
constexpr LineCase kLines[] = {{"one wave", 100, 1},
                               {"between two knots", 110, 1.1},
                               {"at a knot of the second octave", 250, 2.5},
                               {"one wave fewer than a knot", 1300, 13},
                               {"more than 16 waves", 3200, 16},
                               {"less than half a wave", 10, 0.5}};

TEST(GemmCorrection, LinesAreLinearInTheWavesOfATile) {
  GemmCorrection grid{.m = {.last = 30}, .n = {.last = 30}, .k = {.last = 30}};
  grid.log_ratio.assign(8, 0.0);
  grid.wave_log_ratio.assign(kWaveTiles.size() * kWaveKnots, 0.0);
  for (int knot = 0; knot < kWaveKnots; ++knot) {
    const int octave = knot / 4;
    grid.wave_log_ratio[static_cast<std::size_t>(2 * kWaveKnots + knot)] = 0.5 * (1 << octave) * (1 + knot % 4 / 4.0);
  }
  for (const auto& [name, tiles, expected] : kLines) {
    SCOPED_TRACE(name);
    const GemmShape shape{.m = 256 * tiles, .n = 128, .k = 64};
    EXPECT_NEAR(std::log(correction_factor(grid, shape, kProcessors)), expected, 1e-12);
  }
}

TEST(GemmCorrection, LinesCountTheMultiprocessorsThatACollectiveLeaves) {
  Profile lined = example_a100_profile();
  GemmLaw& gemm = lined.gemm.at(Precision::kBf16);
  const int processors = std::get<TileWaveLaw>(gemm.law).multiprocessors;
  GemmCorrection grid{.m = {.last = 30}, .n = {.last = 30}, .k = {.last = 30}};
  grid.log_ratio.assign(8, 0.0);
  grid.wave_log_ratio.assign(kWaveTiles.size() * kWaveKnots, 0.0);
  gemm.corrections[static_cast<std::size_t>(GemmPass::kForward)] = grid;
  const Profile bare = lined;
  // Half of the multiprocessors give twice the waves of a 256 x 128 tile: knot 8 is two waves.
  gemm.corrections[static_cast<std::size_t>(GemmPass::kForward)].wave_log_ratio[2 * kWaveKnots + 8] = 0.1;
  GemmShape shape{.m = 256 * processors, .n = 128, .k = 4096};
  EXPECT_NEAR(gemm_time(shape, lined) / gemm_time(shape, bare), 1, 1e-12);
  shape.processor_share = 0.5;
  EXPECT_NEAR(gemm_time(shape, lined) / gemm_time(shape, bare), std::exp(0.1), 1e-12);
}

TEST(GemmCorrection, CorrectsOnlyTheLayoutThatWasMeasured) {
  const Profile bare = example_a100_profile();
  Profile corrected = bare;
  GemmCorrection grid = slanted_grid();
  for (double& value : grid.log_ratio) value = 0.1;
  corrected.gemm.at(Precision::kBf16).corrections[static_cast<std::size_t>(GemmPass::kForward)] = grid;
  for (const GemmPass pass : {GemmPass::kForward, GemmPass::kInputGradient, GemmPass::kWeightGradient}) {
    const GemmShape shape{.m = 2048, .n = 2048, .k = 2048, .pass = pass};
    const double ratio = gemm_time(shape, corrected) / gemm_time(shape, bare);
    EXPECT_NEAR(ratio, pass == GemmPass::kForward ? std::exp(0.1) : 1, 1e-12);
  }
}

}  // namespace
}  // namespace foretoken::cost
