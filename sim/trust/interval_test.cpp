// Tests intervals: the effect of near and far cases, their coverage, and their words.
#include "sim/trust/interval.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "sim/trust/bias.h"
#include "sim/trust/calibrate.h"

namespace foretoken::trust {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Place here() {
  Place place;
  place.gpu = "a100";
  place.architecture = "ampere";
  place.runtime = "r";
  place.parameters = 1e10;
  place.attention = "flash";
  place.gpus = 64;
  place.sequence = 2048;
  return place;
}

const Place kHere = here();

// A value of a key that no test case has: another text, or four doublings more.
Place changed(Place place, const PlaceKey& key) {
  if (const auto* text = std::get_if<Word Place::*>(&key.member))
    place.*(*text) = (place.*(*text)).text() + "?";
  else
    place.*std::get<double Place::*>(key.member) *= 16;
  return place;
}

Place with_runtime(Place place, const std::string& runtime) {
  place.runtime = runtime;
  return place;
}

Place with_gpus(Place place, double gpus) {
  place.gpus = gpus;
  return place;
}

Evidence evidence_of(std::vector<Case> cases, std::optional<double> doubt = std::nullopt) {
  return {.cases = std::move(cases),
          .weights = {},
          .growth = 0.5,
          .doubt = doubt,
          .widths = {{0.5, 0.03}, {0.8, 0.06}, {0.9, 0.08}, {0.95, 0.12}},
          .quantiles = {{0.1, -0.09}, {0.5, 0.01}, {0.9, 0.05}}};
}

double half_width(const Place& place, const Evidence& evidence) {
  const Interval interval = interval_of(place, Seconds(1), evidence, kUsualLevel);
  return std::log(interval.high / interval.low) / 2;
}

TEST(Place, EveryKeyCountsAndOnlyWhereValuesDiffer) {
  Place stated = kHere;
  stated.year = 2022;
  for (const PlaceKey& key : place_keys()) {
    SCOPED_TRACE(key.name);
    EXPECT_EQ(steps_of(key, stated, stated), 0);
    EXPECT_GT(steps_of(key, stated, changed(stated, key)), 0);
    EXPECT_GT(Weights{}.distance(steps_between(stated, changed(stated, key))), 0);
  }
}

TEST(Place, YearsCountOneByOneAndAnUnknownYearIsOneAway) {
  Place a = kHere, b = kHere, unknown = kHere;
  a.year = 2021;
  b.year = 2024;
  EXPECT_EQ(steps_between(a, b).switches, 3);
  EXPECT_EQ(steps_between(a, unknown).switches, 1);
}

TEST(Place, ADistanceWithinALimitIsTheDistanceAndOneBeyondItIsNothing) {
  constexpr Weights kWeights{.one_switch = 0.7, .doubling = 0.3};
  for (const PlaceKey& first : place_keys())
    for (const PlaceKey& second : place_keys()) {
      SCOPED_TRACE(fmt::format("{}, {}", first.name, second.name));
      const Place there = changed(changed(kHere, first), second);
      const double distance = kWeights.distance(steps_between(kHere, there));
      EXPECT_EQ(distance_within(distance, kWeights, kHere, there), distance);
      EXPECT_EQ(distance_within(std::numeric_limits<double>::infinity(), kWeights, kHere, there), distance);
      if (distance > 0) {
        EXPECT_EQ(distance_within(std::nextafter(distance, 0), kWeights, kHere, there), std::nullopt);
      }
    }
}

TEST(Bias, IsTheSameForEverythingThatASearchChanges) {
  Case other{kHere, "p", 0.05};
  other.place.runtime = "s";
  const Evidence evidence = evidence_of({{kHere, "o", 0.03}, other}, 0.5);
  const double bias = bias_at(kHere, evidence).log_ratio;
  EXPECT_NE(bias, 0);
  for (const PlaceKey& key : place_keys()) {
    const double moved = bias_at(changed(kHere, key), evidence).log_ratio;
    EXPECT_TRUE(key.is_of_question || moved == bias) << key.name;
  }
}

TEST(Bias, IsShrunkAndNothingWithoutCasesOrHelp) {
  const std::vector<Case> cases(30, {kHere, "p", 0.1});
  const double bias = bias_at(kHere, evidence_of(cases, 0.25)).log_ratio;
  EXPECT_GT(bias, 0.07);
  EXPECT_LT(bias, 0.1);
  EXPECT_LT(bias_at(kHere, evidence_of(cases, 4)).log_ratio, 0.03);
  EXPECT_EQ(bias_at(kHere, evidence_of(cases)).log_ratio, 0);
  EXPECT_EQ(bias_at(kHere, evidence_of({}, 1)).log_ratio, 0);
}

TEST(Bias, APublicationSpeaksWithOneVoice) {
  std::vector<Case> cases(1000, {kHere, "large", 0.1});
  cases.insert(cases.end(), 10, {kHere, "small", -0.1});
  EXPECT_LT(bias_at(kHere, evidence_of(cases, 0.25)).log_ratio, 0.01);
}

TEST(Bias, SaysItInWords) {
  const Evidence evidence = evidence_of(std::vector<Case>(12, {kHere, "p", 0.05}), 0.25);
  EXPECT_EQ(bias_at(kHere, evidence).words, "runs like it took 4.0 % longer: 12 cases on A100 with this runtime");
  EXPECT_THAT(bias_at(with_runtime(kHere, "s"), evidence).words,
              HasSubstr("12 cases on A100 (none with this runtime)"));
  EXPECT_THAT(bias_at(kHere, evidence_of({})).words, HasSubstr("no correction"));
}

TEST(Interval, TheHeadlineIsItsMedian) {
  const Evidence evidence = evidence_of({{kHere, "p", 0.2}});
  for (const double level : kLevels) {
    const Interval interval = interval_of(kHere, Seconds(10), evidence, level);
    EXPECT_NEAR(interval.low.value() * interval.high.value(), 100, 1e-9);
    EXPECT_NEAR(std::log(interval.high.value() / 10), width_at(evidence, level), 1e-9);
  }
}

TEST(ErrorQuantile, IsTheCalibratedOneTimesTheGrowthOfTheDistance) {
  const Evidence evidence = evidence_of({{kHere, "p", 0.2}});
  for (const Quantile& quantile : evidence.quantiles) {
    EXPECT_NEAR(error_quantile(evidence, 0, quantile.part), quantile.error, 1e-12);
    EXPECT_NEAR(error_quantile(evidence, 2, quantile.part), quantile.error * spread_at(2, evidence.growth), 1e-12);
  }
}

TEST(ErrorQuantile, GrowsWithThePartAlsoBeyondTheCalibratedOnes) {
  const Evidence evidence = evidence_of({{kHere, "p", 0.01}});
  double last = -1;
  for (const double part : {0.001, 0.05, 0.1, 0.3, 0.5, 0.6, 0.9, 0.975, 0.999}) {
    EXPECT_GT(error_quantile(evidence, 1, part), last) << part;
    last = error_quantile(evidence, 1, part);
  }
}

// Every pair of places that differ in one key, over a walk of random places.
TEST(Interval, OfTwoPlacesThatDifferInOneKeyTheFartherNeverHasTheNarrower) {
  std::mt19937 random(3);
  std::vector<Case> cases;
  Place wander = kHere;
  std::uniform_int_distribution<std::size_t> any(0, place_keys().size() - 1);
  for (int i = 0; i < 40; ++i) {
    cases.push_back({wander, "p" + std::to_string(i % 7), 0.01 * i});
    wander = i % 9 == 0 ? kHere : changed(wander, place_keys()[any(random)]);
  }
  const Evidence evidence = evidence_of(cases, 1);
  for (const Case& one : cases)
    for (const PlaceKey& key : place_keys()) {
      SCOPED_TRACE(key.name);
      const Place other = changed(one.place, key), farther = changed(other, key);
      for (const auto& [a, b] : {std::pair{one.place, other}, std::pair{other, farther}}) {
        const bool b_is_farther = distance_to(b, evidence) >= distance_to(a, evidence);
        const double width_a = half_width(a, evidence), width_b = half_width(b, evidence);
        EXPECT_EQ(b_is_farther, width_b >= width_a);
      }
    }
}

TEST(Interval, WidensWithEveryKeyThatNoCaseHasAndNamesIt) {
  Place stated = kHere;
  stated.year = 2022;
  const Evidence evidence = evidence_of(std::vector<Case>(12, {stated, "p", 0.02}));
  for (const PlaceKey& key : place_keys()) {
    SCOPED_TRACE(key.name);
    const Place away = changed(stated, key);
    EXPECT_GT(half_width(away, evidence), half_width(stated, evidence) * 1.01);
    const Interval interval = interval_of(away, Seconds(1), evidence, kUsualLevel);
    EXPECT_TRUE(interval.outside);
    EXPECT_THAT(interval.words, HasSubstr(std::string(key.words)));
  }
}

TEST(Interval, NamesItsCases) {
  const std::vector<Case> cases{{kHere, "p", 0.01}, {with_gpus(kHere, 256), "p", 0.03}};
  const auto at = [&](const Place& place) { return interval_of(place, Seconds(1), evidence_of(cases), kUsualLevel); };
  EXPECT_EQ(at(kHere).words,
            "2 cases on A100 with this runtime, within 8 times its GPUs and parameters: error -2.0 +/- 1.4 %");
  EXPECT_FALSE(at(kHere).outside);
  EXPECT_THAT(at(with_gpus(kHere, 1024)).away, ElementsAre("GPUs 1024 (validated up to 256)"));
  EXPECT_THAT(
      at(with_runtime(kHere, "t")).words,
      HasSubstr("2 cases on A100 with runtime r, within 8 times its GPUs and parameters (none on A100 with this "
                "runtime): error"));
  Place long_sequence = kHere;
  long_sequence.sequence = 131072;
  EXPECT_THAT(at(long_sequence).words,
              HasSubstr("outside the validated range, so wider: sequence length 131072 (validated up to 2048)"));
  EXPECT_THAT(at(kHere).words, Not(HasSubstr("outside")));
}

// A case of the own runtime at 512 times the GPUs is farther than one of another runtime at the place itself.
TEST(Interval, NamesTheCasesThatItsWidthRestsOn) {
  const Place near_one = with_runtime(kHere, "s"), far_one = with_gpus(kHere, 512 * kHere.gpus);
  const std::vector<Case> cases{{far_one, "p", 0.3}, {near_one, "q", 0.01}};
  const Interval interval = interval_of(kHere, Seconds(1), evidence_of(cases), kUsualLevel);
  EXPECT_EQ(interval.distance, distance_to(kHere, evidence_of({cases[1]})));
  EXPECT_THAT(interval.words, HasSubstr("1 case on A100 with runtime s, within 8 times its GPUs and parameters (nearer "
                                        "than those on A100 with this runtime): error -1.0 %"));
}

TEST(Interval, NamesTheBitsOfItsCases) {
  Place narrow = kHere;
  narrow.bits = 8;
  const Interval interval = interval_of(narrow, Seconds(1), evidence_of({{kHere, "p", 0.01}}), kUsualLevel);
  EXPECT_THAT(interval.words,
              HasSubstr("1 case on A100 with this runtime, within 8 times its GPUs and parameters (none "
                        "on A100 with this runtime in 8 bits)"));
}

// Draws residuals from a known law: thirty publications with a bias each, and noise.
std::vector<Validated> drawn(unsigned seed, double bias, double noise, int rows_each, double common = 0) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<Validated> rows;
  for (int publication = 0; publication < 30; ++publication) {
    const std::string name = std::to_string(publication);
    const double own = common + bias * normal(random);
    for (int r = 0; r < rows_each; ++r)
      rows.push_back({{with_runtime(with_gpus(kHere, 64 * (1 + r)), name), name, own + noise * normal(random)},
                      name + "/" + std::to_string(r)});
  }
  return rows;
}

double part_within(const std::vector<Held>& held, double width) {
  return static_cast<double>(std::count_if(held.begin(), held.end(), [&](const Held& h) { return h.score <= width; })) /
         static_cast<double>(held.size());
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

TEST(Calibrate, ALargePublicationIsCoveredEvenWhenItIsUnlikeTheOthers) {
  std::vector<Validated> rows = drawn(7, 0.01, 0.01, 4);
  std::mt19937 random(5);
  std::normal_distribution<double> wild(0, 0.2);
  for (int r = 0; r < 40; ++r)
    rows.push_back(
        {{with_runtime(with_gpus(kHere, 8 * (1 + r)), "wild"), "wild", wild(random)}, "w" + std::to_string(r)});
  const Calibration calibration = calibrate(rows);
  const double width = width_at(calibration.evidence, kUsualLevel);
  const std::vector<Held> of_wild(calibration.without_publication.end() - 40, calibration.without_publication.end());
  EXPECT_GE(part_within(of_wild, width), 0.75);
}

TEST(Calibrate, ACommonBiasIsLearntAndNoiseIsNot) {
  EXPECT_TRUE(calibrate(drawn(7, 0.01, 0.02, 8, 0.1)).evidence.doubt.has_value());
  int learnt = 0;
  for (unsigned seed = 1; seed <= 10; ++seed)
    if (calibrate(drawn(seed, 0.05, 0.02, 4)).evidence.doubt) ++learnt;
  EXPECT_LE(learnt, 3);
}

TEST(Calibrate, CopiesOfARowDoNotVouchForIt) {
  std::vector<Validated> rows = drawn(7, 0.1, 0.02, 4);
  const double before = calibrate(rows).without_copies.front().score;
  rows.push_back(rows.front());
  rows.back().row.publication = "elsewhere";
  EXPECT_THAT(calibrate(rows).without_copies.front().score / before, DoubleNear(1, 0.1));
}

TEST(Calibrate, NewPublicationsAreCoveredAboutAsPromised) {
  EXPECT_THAT(part_within(as_new_publications(drawn(7, 0.1, 0.02, 8)), 1), DoubleNear(0.9, 0.06));
}

}  // namespace
}  // namespace foretoken::trust
