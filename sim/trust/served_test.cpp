// Tests intervals of services on small evidence.
#include "sim/trust/served.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::trust {
namespace {

ServedPlace usual() {
  return {
      .model = "m", .engine = "vllm", .gpu = "h100", .arrivals = "users", .batching = "continuous", .parameters = 8e9};
}

ServedCase measured(ServedPlace place, const char* set, double ratio) {
  return {.place = std::move(place), .set = set, .title = set, .quantity = Served::kTpot, .measured = ratio};
}

/// Ten cases of each of two sets, whose errors grow from 1 to 10 %.
ServedEvidence evidence() {
  ServedEvidence made;
  for (int i = 1; i <= 10; ++i) {
    ServedPlace place = usual();
    place.load = std::pow(2.0, i);
    made.cases.push_back(measured(place, "a", 1 + 0.01 * i));
    place.engine = "sglang";
    made.cases.push_back(measured(place, "b", 1 - 0.01 * i));
  }
  made.widths = calibrate_served(made.cases);
  return made;
}

TEST(ServedIntervals, HoldNineInTenOfTheCasesSeenFromOtherSets) {
  const ServedEvidence all = evidence();
  ASSERT_EQ(all.widths.size(), 1U);
  int inside = 0;
  for (const ServedCase& one : all.cases) {
    ServedEvidence others = all;
    std::erase_if(others.cases, [&](const ServedCase& other) { return other.set == one.set; });
    const auto interval = served_interval(one.place, one.quantity, one.predicted, others);
    inside += interval->low <= one.measured && one.measured <= interval->high;
  }
  EXPECT_GE(inside, 18);
}

TEST(ServedIntervals, AreNeverNarrowerFartherAway) {
  const ServedEvidence all = evidence();
  for (const ServedKey& key : served_keys()) {
    SCOPED_TRACE(key.name);
    ServedPlace near = usual();
    near.load = 2;
    ServedPlace far = near;
    if (const auto* text = std::get_if<std::string ServedPlace::*>(&key.member))
      far.*(*text) = "another";
    else
      far.*std::get<double ServedPlace::*>(key.member) *= 1 << 20;
    const auto a = served_interval(near, Served::kTpot, 1, all), b = served_interval(far, Served::kTpot, 1, all);
    EXPECT_FALSE(a->outside());
    EXPECT_GT(b->distance, a->distance);
    EXPECT_GT(b->high, a->high);
    EXPECT_LT(b->low, a->low);
    EXPECT_THAT(b->away, testing::ElementsAre(testing::StartsWith(std::string(key.words))));
  }
}

TEST(ServedIntervals, NothingIsSaidOfQuantitiesThatNobodyPublished) {
  EXPECT_FALSE(served_interval(usual(), Served::kTtft, 1, evidence()));
  EXPECT_FALSE(served_interval(usual(), Served::kTpot, 1, {}));
  EXPECT_EQ(nearest_case(usual(), {}), nullptr);
}

TEST(ServedIntervals, TheNearestCaseIsFound) {
  ServedPlace place = usual();
  place.load = 15;
  place.engine = "sglang";
  const ServedEvidence all = evidence();
  const ServedCase& nearest = *nearest_case(place, all);
  EXPECT_EQ(nearest.set, "b");
  EXPECT_EQ(nearest.place.load, 16);
}

}  // namespace
}  // namespace foretoken::trust
