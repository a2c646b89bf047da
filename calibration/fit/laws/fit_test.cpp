// Tests the fitting tools on data with a known answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/fit/laws/benchmark_clock.h"
#include "calibration/fit/laws/fit_collective.h"
#include "calibration/fit/laws/fit_correction.h"
#include "calibration/fit/laws/fit_gemm.h"
#include "calibration/fit/laws/fit_size_correction.h"
#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/monotone.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/numerics/solve.h"
#include "calibration/fit/shipped/published.h"
#include "sim/base/error.h"
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
  int left_out = 0;
  for (int i = 0; i < 10000; ++i) left_out += held_out("row " + std::to_string(i));
  EXPECT_NEAR(left_out, 2000, 120);  // three standard deviations
  EXPECT_EQ(held_out("512 512 512"), held_out("512 512 512"));
}

TEST(Evidence, QuantilesOfRelativeErrors) {
  std::vector<Outcome> left_out;
  for (int i = 0; i <= 10; ++i) left_out.push_back({1.0 + 0.01 * i, 1.0});
  const cost::Evidence proof = evidence("here", 44, left_out);
  EXPECT_EQ(proof.samples, 44);
  EXPECT_EQ(proof.held_out, 11);
  EXPECT_NEAR(proof.median_error, 0.05, 1e-9);
  EXPECT_NEAR(proof.p90_error, 0.09, 1e-9);
  EXPECT_NEAR(proof.worst_error, 0.10, 1e-9);
}

measured::GemmSample product(const GemmShape& shape, Seconds time) {
  measured::GemmSample sample;
  sample.shape = shape;
  sample.time.median = time;
  return sample;
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
  std::vector<measured::GemmSample> samples;
  for (const std::int64_t m : {128, 256, 1024, 4096, 16384})
    for (const std::int64_t n : {128, 512, 2048, 8192})
      for (const std::int64_t k : {128, 512, 2048, 8192}) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        samples.push_back(product(shape, cost::gemm_time(shape, profile)));
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

TEST(FitGemm, FindsTheTilesAndTheSoftWavesOfAFullTable) {
  cost::TileWaveLaw truth{.peak = teraflops(2250),
                          .multiprocessors = 148,
                          .efficiency = 0.7,
                          .prologue_k = 60,
                          .small_tile_loss = 0.03,
                          .memory_bandwidth = gigabytes_per_second(5100),
                          .launch = microseconds(2),
                          .tiles = cost::TileSet::kFine,
                          .wave_softness = 0.8};
  const cost::Profile profile{.gemm = {{Precision::kBf16, {.law = truth}}}};
  std::vector<measured::GemmSample> samples;
  for (const std::int64_t m : {128, 512, 1280, 1792, 2304, 3840, 8192})
    for (const std::int64_t n : {128, 1024, 2560, 3584, 10240})
      for (const std::int64_t k : {128, 1024, 3072, 12288}) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        samples.push_back({.shape = shape, .time = {.median = cost::gemm_time(shape, profile)}});
      }
  truth.efficiency = 0.8;
  truth.tiles = cost::TileSet::kDoubling;
  truth.wave_softness = 0;
  const cost::GemmLaw found = fit_gemm(samples, {.start = truth, .fine = true}, "made up");
  const auto& law = std::get<cost::TileWaveLaw>(found.law);
  EXPECT_EQ(law.tiles, cost::TileSet::kFine);
  EXPECT_NEAR(law.wave_softness, 0.8, 0.2);
  EXPECT_LT(found.evidence.median_error, 0.02);
  const auto& grid = found.correction(GemmPass::kForward);
  EXPECT_THAT(grid.m.places, testing::ElementsAre(7, 8.5, 10, 10.7, 11.4, 12, 13)) << "of the sampled range";
}

/// Returns products of `law` on a log grid, also off the library's tile sizes, times `more`(shape).
template <class More>
std::vector<measured::GemmSample> products(const cost::TileWaveLaw& law, const More& more) {
  const cost::Profile profile{.gemm = {{Precision::kBf16, {.law = law}}}};
  std::vector<measured::GemmSample> samples;
  for (const std::int64_t m : {1, 16, 128, 192, 512, 1024, 2048, 4096, 8192, 16384})
    for (const std::int64_t n : {64, 256, 1024, 3072, 4096, 12288, 32768})
      for (const std::int64_t k : {64, 256, 1024, 3072, 4096, 12288, 32768}) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        samples.push_back(product(shape, more(shape) * cost::gemm_time(shape, profile)));
      }
  return samples;
}

constexpr cost::TileWaveLaw kLaw{.peak = teraflops(989),
                                 .multiprocessors = 132,
                                 .efficiency = 0.8,
                                 .prologue_k = 150,
                                 .small_tile_loss = 0.02,
                                 .memory_bandwidth = gigabytes_per_second(2600),
                                 .launch = microseconds(3)};

TEST(FitCorrection, FindsASmoothErrorOfTheLawAndIgnoresBadSamples) {
  const auto smooth = [](const GemmShape& s) { return std::exp(0.03 * (std::log2(double(s.n)) - 10)); };
  std::vector<measured::GemmSample> samples = products(kLaw, smooth);
  for (std::size_t i = 0; i < samples.size(); i += 20)
    samples[i].time.median = 3 * samples[i].time.median;  // a throttled GPU, a busy machine
  const cost::GemmLaw law{.law = kLaw};
  cost::GemmLaw corrected = law;
  corrected.corrections[0] = fit_correction(samples, GemmPass::kForward, law);
  const cost::Profile with{.gemm = {{Precision::kBf16, corrected}}}, without{.gemm = {{Precision::kBf16, law}}};
  for (const GemmShape& shape : {GemmShape{.m = 700, .n = 5000, .k = 2000}, GemmShape{.m = 5000, .n = 20000, .k = 900}})
    EXPECT_NEAR(cost::gemm_time(shape, with) / cost::gemm_time(shape, without) / smooth(shape), 1, 0.01);
}

TEST(FitCorrection, LinesFindWhatTheLastWaveCosts) {
  // A library that runs tiles of 256 x 128 alone: products with one and a quarter waves take longer than the law says.
  const auto waves_of = [](const GemmShape& s) {
    return static_cast<double>(((s.m + 255) / 256) * ((s.n + 127) / 128)) / kLaw.multiprocessors;
  };
  const auto slow = [&](const GemmShape& s) { return waves_of(s) > 1.1 && waves_of(s) < 1.4 ? 1.2 : 1.0; };
  const cost::Profile bare{.gemm = {{Precision::kBf16, {.law = kLaw}}}};
  std::vector<measured::GemmSample> samples;
  for (std::int64_t m = 256; m <= 8192; m += 256)
    for (std::int64_t n = 256; n <= 8192; n += 512)
      for (const std::int64_t k : {1024, 4096, 16384}) {
        const GemmShape shape{.m = m, .n = n, .k = k};
        samples.push_back(product(shape, slow(shape) * cost::gemm_time(shape, bare)));
      }
  const auto mean_error = [&](cost::GemmLaw law) {
    const cost::Profile profile{.gemm = {{Precision::kBf16, std::move(law)}}};
    double sum = 0;
    int count = 0;
    for (const measured::GemmSample& sample : samples) {
      if (waves_of(sample.shape) < 1 || waves_of(sample.shape) > 1.6) continue;
      sum += std::abs(std::log(cost::gemm_time(sample.shape, profile) / sample.time.median));
      ++count;
    }
    return sum / count;
  };
  cost::GemmLaw grid{.law = kLaw}, lines{.law = kLaw};
  grid.corrections[0] = fit_correction(samples, GemmPass::kForward, grid, {.fine = true});
  lines.corrections[0] = fit_correction(samples, GemmPass::kForward, lines, {.fine = true, .lines = true});
  EXPECT_TRUE(grid.corrections[0].wave_log_ratio.empty());
  EXPECT_LT(mean_error(lines), 0.5 * mean_error(grid));
}

TEST(BenchmarkClock, TheTimeAtFullClocksIsFoundFromTheTimeInATable) {
  constexpr double kFactor = 1.2;
  for (const double ms : {0.1, 0.5, 0.7, 2.0, 8.0, 16.0, 300.0}) {
    const Seconds brief(1e-3 * ms);
    const Seconds measured = in_table(brief, kFactor * brief, kFullClockProduct, Precision::kBf16);
    EXPECT_NEAR(at_full_clock(measured, kFactor, kFullClockProduct, Precision::kBf16) / brief, 1, 1e-9) << ms;
  }
  const Seconds eight_bits(10e-3);
  EXPECT_EQ(at_full_clock(eight_bits, kFactor, kFullClockProduct, Precision::kFp8), eight_bits) << "keep their clock";
}

TEST(FitCorrection, NeverMakesDeeperProductsFaster) {
  // The samples fall with k tenfold as fast as any law rises. The fit must refuse to follow.
  const auto falling = [](const GemmShape& s) { return std::exp(-0.5 * (std::log2(double(s.k)) - 6)); };
  cost::GemmLaw law{.law = kLaw};
  law.corrections[0] = fit_correction(products(kLaw, falling), GemmPass::kForward, law);
  const cost::Profile profile{.gemm = {{Precision::kBf16, law}}};
  for (const std::int64_t m : {1, 100, 1024, 8000})
    for (const std::int64_t n : {64, 500, 12288})
      for (std::int64_t k = 64; k < 32768; k = k * 5 / 4)
        EXPECT_GE(cost::gemm_time({.m = m, .n = n, .k = k * 5 / 4}, profile),
                  0.97 * cost::gemm_time({.m = m, .n = n, .k = k}, profile))
            << m << " " << n << " " << k;
}

TEST(FitCorrection, NeedsSamplesOfItsLayoutOverAnOctaveOfEverySize) {
  const std::vector<measured::GemmSample> samples = products(kLaw, [](const GemmShape&) { return 1.1; });
  EXPECT_TRUE(fit_correction(samples, GemmPass::kWeightGradient, {.law = kLaw}).log_ratio.empty());
  EXPECT_TRUE(
      fit_correction({samples.begin(), samples.begin() + 7}, GemmPass::kForward, {.law = kLaw}).log_ratio.empty());
}

TEST(Solve, SymmetricSystem) {
  Matrix matrix(3);
  matrix.values = {4, 2, 1, 2, 5, 3, 1, 3, 6};
  const std::vector<double> x = solve(matrix, {4 + 2 * 2 + 3, 2 + 5 * 2 + 3 * 3, 1 + 3 * 2 + 6 * 3});
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(x[i], double(i + 1), 1e-12);
}

TEST(FitSizeCorrection, FollowsStepsAndNeverFalls) {
  // A protocol changes at 1 MiB. The law without a correction is 30 % off on one side.
  const auto law = [](double bytes) { return 10e-6 + bytes / 200e9; };
  std::vector<SizePull> pulls;
  for (double bytes = 8192; bytes < 4e9; bytes *= 2) pulls.push_back({bytes, bytes < (1 << 20) ? 0.3 : 0.0});
  const cost::SizeCorrection line = fit_size_trend(pulls, law);
  ASSERT_EQ(line.log_ratio.size(), 19u);  // 2^13 to 2^31, a knot for each octave
  EXPECT_NEAR(line.log_ratio.at(3), 0.3, 0.03);
  EXPECT_NEAR(line.log_ratio.at(12), 0.0, 0.03);
  for (std::size_t i = 1; i < line.log_ratio.size(); ++i) {
    const double before = law(std::exp2(12.0 + double(i))) * std::exp(line.log_ratio[i - 1]);
    EXPECT_GE(law(std::exp2(13.0 + double(i))) * std::exp(line.log_ratio[i]), before * 0.999);
  }
  EXPECT_TRUE(fit_size_trend({pulls.begin(), pulls.begin() + 3}, law).log_ratio.empty());
}

TEST(FitSizeCorrection, PassesThroughTheRowsOfOneMachine) {
  const std::vector<SizePull> pulls{{1 << 16, 0.1}, {1 << 17, 0.4}, {1 << 18, -0.3}, {1 << 20, 0.2}};
  const cost::SizeCorrection line = follow_sizes(pulls);
  ASSERT_EQ(line.log_ratio.size(), 5u);
  for (const SizePull& pull : pulls)
    EXPECT_NEAR(line.log_ratio.at(static_cast<std::size_t>(std::log2(pull.bytes)) - 16), pull.log_ratio, 0.03);
}

TEST(WithRises, PoolsNeighboursThatFall) {
  EXPECT_THAT(with_rises({1, 3, 2, 4}, {0, 0, 0}), ::testing::ElementsAre(1, 2.5, 2.5, 4));
  EXPECT_THAT(with_rises({0, 0, 0}, {-1, 1}), ::testing::ElementsAre(0, -0.5, 0.5));
}

/// Returns a table that follows latency 10 us x log2(ranks), 200 GB/s. The harness adds `overhead_us`.
CollectiveTable made_up(CollectiveKind kind, int ranks, double first_bytes, double overhead_us) {
  CollectiveTable table;
  table.id = "made up";
  table.kind = kind;
  table.ranks = table.ranks_per_node = ranks;
  const double factor = (kind == CollectiveKind::kAllReduce ? 2.0 : 1.0) * (ranks - 1) / ranks;
  for (double bytes = first_bytes; bytes < 2e9; bytes *= 2) {
    const double seconds = (10 * std::log2(ranks) + overhead_us) * 1e-6 + factor * bytes / 200e9;
    table.rows.push_back({bytes, seconds});
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
  EXPECT_NEAR(latencies[0], 15, 1);  // on the line through the other sizes, over the ranks
  EXPECT_NEAR(latencies[1], 20, 0.5);
  EXPECT_NEAR(latencies[2], 30, 0.5);
}

/// The lines of what a published file is refused with.
template <class Read>
std::vector<std::string> complaints_about(const std::string& text, const Read& read) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "published.json";
  std::ofstream(path) << text;
  std::vector<std::string> lines;
  try {
    (void)read(path);
  } catch (const ConfigError& error) {
    for (const Complaint& complaint : error.complaints()) lines.push_back(complaint.line());
  }
  return lines;
}

TEST(ReadTables, ComplainWithFileAndPointer) {
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  EXPECT_THAT(complaints_about(R"({"seq": [512, 1024], "X_fwd": {"causal_64": [1, 2]}})", read_attention_series),
              ElementsAre(HasSubstr(R"(published.json: /X_fwd/causal_64: expected a key like causal_d128)")));
  EXPECT_THAT(complaints_about(R"({"seq": [512, 1024], "X_fwd": {"full_d64": [1]}})", read_attention_series),
              ElementsAre(HasSubstr("/X_fwd/full_d64: expected 2 rates (the lengths of \"seq\"), found 1")));
  const std::string table = R"({"tables": [{"id": "a", "system": "s", "gpu": "g", "network": "n", "source": "x",)"
                            R"("ranks": 2, "nodes": 1, "ranks_per_node": 2, )";
  EXPECT_THAT(complaints_about(table + R"("collective": "all_reduces", "rows": []}]})", read_collective_tables),
              ElementsAre(HasSubstr("published.json: /tables/0/collective: ")));
  EXPECT_THAT(complaints_about(table + R"("collective": "all_reduce", "rows": [[8192]]}]})", read_collective_tables),
              ElementsAre(HasSubstr("/tables/0/rows/0: expected [bytes, microseconds], found")));
  EXPECT_THAT(complaints_about("{", read_collective_tables), ElementsAre(HasSubstr("published.json")));
}

}  // namespace
}  // namespace foretoken::fit
