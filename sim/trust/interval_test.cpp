// Tests intervals: the effect of near and far cases, their coverage, and their words.
#include "sim/trust/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/trust/calibrate.h"
#include "sim/trust/local_error.h"

namespace foretoken::trust {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Not;

constexpr double kBillion = 1e9;
const Place kHere{.gpu = "a100-sxm4-80gb", .runtime = "r", .bits = 16, .gpus = 64, .parameters = 10 * kBillion};

Place moved(Place place, double gpus_factor, double parameters_factor = 1) {
  place.gpus *= gpus_factor;
  place.parameters *= parameters_factor;
  return place;
}

Place with_gpu(Place place, const std::string& gpu) {
  place.gpu = gpu;
  return place;
}

Place with_runtime(Place place, const std::string& runtime) {
  place.runtime = runtime;
  return place;
}

bool all_count(std::size_t) { return true; }

Evidence evidence_of(std::vector<Case> cases) {
  return {.cases = std::move(cases), .widening = 0.1, .widths = {{0.5, 0.67}, {0.8, 1.28}, {0.9, 1.64}, {0.95, 1.96}}};
}

double half_width(const Place& place, const Evidence& evidence) {
  const Interval interval = interval_of(place, Seconds(1), evidence, kUsualLevel);
  return std::log(interval.high / interval.low) / 2;
}

TEST(Distance, KindsOfGpuCountNotTheirMemory) {
  EXPECT_EQ(distance(kHere, with_gpu(kHere, "a100-sxm4-40gb")).jumps, 0);
  EXPECT_EQ(distance(kHere, with_gpu(with_runtime(kHere, "s"), "h100-sxm5-80gb")).jumps, 2);
  EXPECT_DOUBLE_EQ(distance(kHere, moved(kHere, 4, 0.5)).octaves, 3);
}

TEST(LocalError, ManyNearCasesAreTheirMeanAndVariance) {
  std::vector<Case> cases;
  for (int i = 0; i < 1000; ++i) cases.push_back({kHere, i % 2 == 0 ? 0.03 : 0.01});
  const LocalError error = local_error(kHere, cases, all_count);
  EXPECT_THAT(error.mean, DoubleNear(0.02, 1e-4));
  EXPECT_THAT(error.spread(0), DoubleNear(0.01, 1e-3));
  EXPECT_DOUBLE_EQ(error.evidence, 1000);
}

TEST(LocalError, WithoutCasesTheSpreadIsTheWidening) {
  const LocalError error = local_error(kHere, {}, all_count);
  EXPECT_EQ(error.mean, 0);
  EXPECT_DOUBLE_EQ(error.spread(0.1), 0.1);
}

TEST(LocalError, ALargeSetElsewhereDoesNotOutweighAFewNearCases) {
  std::vector<Case> cases(5, {kHere, 0.01});
  cases.insert(cases.end(), 600, {with_runtime(kHere, "s"), -0.3, 20.0 / 600});
  EXPECT_GT(local_error(kHere, cases, all_count).mean, -0.02);
}

TEST(Interval, WidensWithEveryStepAwayFromTheCases) {
  const Evidence evidence = evidence_of(std::vector<Case>(12, {kHere, 0.02}));
  const double here = half_width(kHere, evidence), larger = half_width(moved(kHere, 16), evidence),
               much_larger = half_width(moved(kHere, 256), evidence),
               other_runtime = half_width(with_runtime(kHere, "s"), evidence),
               other_gpu_too = half_width(with_gpu(with_runtime(kHere, "s"), "b200-sxm-180gb"), evidence);
  EXPECT_LT(here, 0.05);
  EXPECT_LT(here, larger);
  EXPECT_LT(larger, much_larger);
  EXPECT_LT(much_larger, other_runtime);
  EXPECT_LE(other_runtime, other_gpu_too + 0.01);
}

TEST(Interval, HoldsThePredictionAndLeansTowardsTheBias) {
  const Evidence evidence = evidence_of(std::vector<Case>(50, {kHere, 0.15}));
  const Interval interval = interval_of(kHere, Seconds(10), evidence, kUsualLevel);
  EXPECT_EQ(interval.low, Seconds(10));
  EXPECT_GT(interval.high, Seconds(10 * std::exp(0.15)));
}

TEST(Interval, HigherLevelsAreWider) {
  const Evidence evidence = evidence_of({{kHere, 0.01}, {kHere, -0.02}});
  double last = 0;
  for (const double level : kLevels) {
    const Interval interval = interval_of(kHere, Seconds(1), evidence, level);
    EXPECT_GT(interval.high - interval.low, Seconds(last));
    last = (interval.high - interval.low).value();
  }
}

TEST(Interval, NamesItsCases) {
  const std::vector<Case> cases{{kHere, 0.01}, {moved(kHere, 4), 0.03}, {with_runtime(moved(kHere, 16), "s"), -0.1}};
  const auto words = [&](const Place& place) {
    return interval_of(place, Seconds(1), evidence_of(cases), kUsualLevel).words;
  };
  EXPECT_EQ(words(kHere),
            "2 cases on A100 with this runtime, within 8 times its GPUs and parameters: error -2.0 +/- 1.4 %");
  EXPECT_EQ(
      words(moved(kHere, 16)),
      "1 case on A100 with this runtime, within 8 times its GPUs and parameters; 4 times the GPUs of the largest: "
      "error -3.0 %; outside the validated range, so wider");
  EXPECT_THAT(words(moved(kHere, 1, 100)), HasSubstr("2 cases on A100 with this runtime; 1e+02 times the parameters"));
  EXPECT_THAT(words(with_runtime(kHere, "t")), HasSubstr("3 cases on A100 (none with this runtime): error"));
  EXPECT_THAT(words(with_gpu(kHere, "v100-sxm2-32gb")), HasSubstr("3 cases on other GPUs (none on v100-sxm2-32gb)"));
  EXPECT_THAT(words(kHere), Not(HasSubstr("outside")));
}

// Draws residuals from a known law: five publications with a bias each, and noise.
std::vector<Validated> drawn(unsigned seed, double bias, double noise, int rows_each) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<Validated> rows;
  for (int publication = 0; publication < 30; ++publication) {
    const double own = bias * normal(random);
    for (int r = 0; r < rows_each; ++r)
      rows.push_back({{with_runtime(moved(kHere, 1 + r), std::to_string(publication)), own + noise * normal(random)},
                      std::to_string(publication),
                      std::to_string(publication) + "/" + std::to_string(r)});
  }
  return rows;
}

double part_within(const std::vector<double>& scores, double width) {
  return static_cast<double>(std::count_if(scores.begin(), scores.end(), [&](double s) { return s <= width; })) /
         static_cast<double>(scores.size());
}

TEST(Calibrate, BothWaysOfLeavingOutAreCovered) {
  for (const auto& [bias, noise] : {std::pair{0.1, 0.02}, std::pair{0.05, 0.05}, std::pair{0.2, 0.01}}) {
    SCOPED_TRACE(bias);
    const Calibration calibration = calibrate(drawn(7, bias, noise, 8));
    for (const double level : kLevels) {
      const double width = width_at(calibration.evidence, level);
      const double without_publication = part_within(calibration.without_publication, width),
                   without_copies = part_within(calibration.without_copies, width);
      EXPECT_THAT(std::min(without_publication, without_copies), DoubleNear(level, 0.01));
    }
  }
}

TEST(Calibrate, NewRowsOfTheSameLawAreCoveredToo) {
  const auto known = drawn(7, 0.1, 0.02, 8), fresh = drawn(8, 0.1, 0.02, 8);
  const Evidence evidence = calibrate(known).evidence;
  int covered = 0;
  for (const Validated& one : fresh) {
    Place place = one.row.place;
    place.runtime = "new " + place.runtime;  // a new publication
    const Interval interval = interval_of(place, Seconds(1), evidence, kUsualLevel);
    const Seconds measured(std::exp(one.row.log_ratio));
    if (interval.low <= measured && measured <= interval.high) ++covered;
  }
  EXPECT_THAT(covered / static_cast<double>(fresh.size()), DoubleNear(0.9, 0.06));
}

TEST(Calibrate, CopiesOfARowDoNotVouchForIt) {
  std::vector<Validated> rows = drawn(7, 0.1, 0.02, 4);
  const std::vector<double> before = calibrate(rows).without_copies;
  rows.push_back(rows.front());
  rows.back().publication = "elsewhere";
  const Calibration after = calibrate(rows);
  EXPECT_THAT(after.without_copies.front() / before.front(), DoubleNear(1, 0.05));
}

TEST(Calibrate, NewPublicationsAreCoveredAboutAsPromised) {
  EXPECT_THAT(coverage_of_new_publications(drawn(7, 0.1, 0.02, 8), kUsualLevel), DoubleNear(0.9, 0.05));
}

}  // namespace
}  // namespace foretoken::trust
