// The fitting tools on data whose answer is known.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "calibration/fit/fit_collective.h"
#include "calibration/fit/fit_gemm.h"
#include "calibration/fit/minimise.h"
#include "calibration/fit/residuals.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

TEST(Minimise, FindsTheBottomOfACurvedValley) {
  const Objective rosenbrock = [](const Arguments& x) {
    return std::pow(1 - x[0], 2) + 100 * std::pow(x[1] - x[0] * x[0], 2);
  };
  const Arguments best = minimise(rosenbrock, {-1.2, 1.0}, 0.5);
  EXPECT_NEAR(best[0], 1, 1e-3);
  EXPECT_NEAR(best[1], 1, 1e-3);
}

TEST(HeldOut, TakesAboutOneInFiveAndAlwaysTheSame) {
  int apart = 0;
  for (int i = 0; i < 10000; ++i) apart += held_out("row " + std::to_string(i));
  EXPECT_NEAR(apart, 2000, 120);  // three standard deviations
  EXPECT_EQ(held_out("512 512 512"), held_out("512 512 512"));
}

TEST(Evidence, QuantilesOfRelativeErrors) {
  std::vector<Outcome> apart;
  for (int i = 0; i <= 10; ++i) apart.push_back({1.0 + 0.01 * i, 1.0});
  const cost::Evidence proof = evidence("here", 44, apart);
  EXPECT_EQ(proof.samples, 44);
  EXPECT_EQ(proof.held_out, 11);
  EXPECT_NEAR(proof.median_error, 0.05, 1e-9);
  EXPECT_NEAR(proof.p90_error, 0.09, 1e-9);
  EXPECT_NEAR(proof.worst_error, 0.10, 1e-9);
}

TEST(FitGemm, RecoversTheLawThatMadeTheSamples) {
  const cost::TileWaveLaw truth{.peak = teraflops(312),
                                .multiprocessors = 108,
                                .efficiency = 0.85,
                                .prologue_k = 150,
                                .small_tile_loss = 0.06,
                                .memory_bandwidth = gigabytes_per_second(1300),
                                .launch = microseconds(4)};
  const cost::Profile profile{.gemm = {{Precision::kBf16, {.law = truth}}}};
  std::vector<GemmSample> samples;
  for (const std::int64_t m : {128, 256, 1024, 4096, 16384})
    for (const std::int64_t n : {128, 512, 2048, 8192})
      for (const std::int64_t k : {128, 512, 2048, 8192}) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        samples.push_back({shape, cost::gemm_time(shape, profile).value()});
      }
  cost::TileWaveLaw start = truth;
  start.efficiency = 0.7;
  start.prologue_k = 200;
  start.small_tile_loss = 0.1;
  start.memory_bandwidth = gigabytes_per_second(1000);
  start.launch = microseconds(3);
  const cost::GemmLaw law = fit_gemm(samples, {.start = start}, "made up");
  EXPECT_LT(law.evidence.median_error, 0.005);
  EXPECT_NEAR(std::get<cost::TileWaveLaw>(law.law).efficiency, 0.85, 0.01);
}

/// A table that follows latency 10 us x log2(ranks), 200 GB/s; `overhead_us` is what the harness adds.
CollectiveTable made_up(CollectiveKind kind, int ranks, double first_bytes, double overhead_us) {
  CollectiveTable table{
      .id = "made up", .gpu = "A100", .network = "NVLink", .kind = kind, .ranks = ranks, .ranks_per_node = ranks};
  const double factor = (kind == CollectiveKind::kAllReduce ? 2.0 : 1.0) * (ranks - 1) / ranks;
  for (double bytes = first_bytes; bytes < 2e9; bytes *= 2) {
    const double seconds = (10 * std::log2(ranks) + overhead_us) * 1e-6 + factor * bytes / 200e9;
    table.rows.push_back({bytes, seconds, factor * bytes / seconds / 1e9});
  }
  return table;
}

TEST(FitInside, TakesLatencyFromTablesThatShowIt) {
  using enum CollectiveKind;
  TablePool pool{.tables = {made_up(kAllReduce, 4, 8192, 0), made_up(kAllReduce, 8, 8192, 0),
                            made_up(kAllReduce, 2, 1 << 20, 80)},  // a slow harness without small messages
                 .source = "made up",
                 .reference_gb_per_s = 300};
  const cost::InsideNodeLaw law = fit_inside(pool);
  std::vector<double> latencies;
  for (const cost::CollectiveCurve& curve : law.curves)
    if (curve.kind == kAllReduce) latencies.push_back(curve.latency.value() * 1e6);
  ASSERT_EQ(latencies.size(), 3u);
  EXPECT_NEAR(latencies[0], 12, 2.1);  // on the line through the others: 10, but at least 0.6 x 20
  EXPECT_NEAR(latencies[1], 20, 0.5);
  EXPECT_NEAR(latencies[2], 30, 0.5);
}

TEST(ReadTables, ComplainsWithFileAndLine) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "wrong_gemm.csv";
  std::ofstream(path) << "m,n,k,time_us\n1,2,3,4\n1,2,three,4\n";
  try {
    (void)read_gemm_table(path);
    FAIL() << "the third line has no number";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("wrong_gemm.csv:3: k is not a number"));
  }
}

}  // namespace
}  // namespace foretoken::fit
