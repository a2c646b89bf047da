// Errors that both runs of a pair share fall out; every place counts by how many differences it has.
#include "sim/trust/difference.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::trust {
namespace {

Case at(double gpus, double ratio, double weight = 1) {
  return {.place = {.gpu = "a100", .runtime = "r", .gpus = gpus, .parameters = 1e9},
          .log_ratio = std::log(ratio),
          .weight = weight};
}

TEST(Difference, WhatBothMissAlikeFallsOut) {
  const Difference d = difference_of_pairs({.cases = {at(8, 1.3), at(8, 1.3 * 1.02)}, .widths = {}});
  EXPECT_EQ(d.pairs, 1U);
  EXPECT_NEAR(d.half, 0.02, 1e-12);
  EXPECT_NEAR(d.nine_in_ten, 0.02, 1e-12);
}

TEST(Difference, RunsOfOtherJobsAreNoPairs) {
  EXPECT_EQ(difference_of_pairs({.cases = {at(8, 1.0), at(16, 1.5)}, .widths = {}}).pairs, 0U);
  EXPECT_EQ(difference_of_pairs({.cases = {}, .widths = {}}).half, 0);
}

TEST(Difference, ALargePlaceCountsByItsDifferencesNotByItsPairs) {
  // Three cases at one place have three pairs of weight 1/3, two at another one of weight 1/2.
  const std::vector<Case> cases = {at(8, 1), at(8, 1), at(8, 1), at(16, 1), at(16, 1.1)};
  const Difference d = difference_of_pairs({.cases = cases, .widths = {}});
  EXPECT_EQ(d.pairs, 4U);
  EXPECT_NEAR(d.half, 0, 1e-12);  // two thirds of the weight
  EXPECT_NEAR(d.nine_in_ten, 0.1, 1e-12);
}

}  // namespace
}  // namespace foretoken::trust
