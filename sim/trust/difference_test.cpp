// Tests errors of pairs: shared errors cancel, a job counts by its number of differences, and near runs go first.
#include "sim/trust/difference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

namespace foretoken::trust {
namespace {

const Place kEightGpus = [] {
  Place place;
  place.gpu = "a100";
  place.runtime = "r";
  place.parameters = 1e9;
  place.gpus = 8;
  return place;
}();

Case at(double gpus, double ratio, double weight = 1) {
  Case one{.place = kEightGpus, .log_ratio = std::log(ratio), .weight = weight};
  one.place.gpus = gpus;
  return one;
}

Evidence of(std::vector<Case> cases) { return {.cases = std::move(cases), .widths = {}}; }

TEST(Difference, ErrorsThatBothShareCancel) {
  const Difference d = difference_at(kEightGpus, of({at(8, 1.3), at(8, 1.3 * 1.02)}));
  EXPECT_NEAR(d.comparisons, 1, 1e-12);
  EXPECT_NEAR(d.half, 0.02, 1e-12);
  EXPECT_NEAR(d.nine_in_ten, 0.02, 1e-12);
}

TEST(Difference, RunsOfOtherJobsAreNoPairs) {
  EXPECT_EQ(difference_at(kEightGpus, of({at(8, 1.0), at(16, 1.5)})).comparisons, 0);
  EXPECT_EQ(difference_at(kEightGpus, of({})).half, 0);
}

TEST(Difference, ALargeJobCountsByItsDifferencesNotByItsPairs) {
  // Three cases of one job make three pairs of weight 1/3. Two of another job make one pair of weight 1/2.
  const Difference d = difference_at(kEightGpus, of({at(8, 1), at(8, 1), at(8, 1), at(16, 1), at(16, 1.1)}));
  EXPECT_NEAR(d.comparisons, 3, 1e-12);
  EXPECT_EQ(d.runs, 5);
  EXPECT_EQ(d.jobs, 2);
  EXPECT_NEAR(d.half, 0, 1e-12);  // two thirds of the weight
  EXPECT_NEAR(d.nine_in_ten, 0.1, 1e-12);
}

// Six runs of one job, which differ by `step` from one another.
std::vector<Case> sweep(const Place& place, double step, double weight = 1) {
  std::vector<Case> cases;
  for (int i = 0; i < 6; ++i) cases.push_back({.place = place, .log_ratio = step * i, .weight = weight});
  return cases;
}

TEST(Difference, ASweepOnAnotherGpuOrRuntimeSaysNothingWhereNearerRunsAreEnough) {
  Place other_gpu = kEightGpus, other_runtime = kEightGpus;
  other_gpu.gpu = "h100";
  other_runtime.runtime = "s";
  std::vector<Case> cases = sweep(kEightGpus, 0.01);
  for (const Place& place : {other_gpu, other_runtime})
    for (const Case& one : sweep(place, 0.2)) cases.push_back(one);
  const Difference here = difference_at(kEightGpus, of(cases));
  EXPECT_NEAR(here.comparisons, 5, 1e-9);
  EXPECT_LE(here.nine_in_ten, std::expm1(0.05) + 1e-12);
  EXPECT_EQ(here.where, "on A100 with this runtime");

  Place new_runtime = kEightGpus, new_gpu = kEightGpus;
  new_runtime.runtime = "t";
  new_gpu.gpu = "b200";
  const Difference kind = difference_at(new_runtime, of(cases)), all = difference_at(new_gpu, of(cases));
  EXPECT_NEAR(kind.comparisons, 10, 1e-9);
  EXPECT_EQ(kind.where, "on A100 (too few with this runtime)");
  EXPECT_NEAR(all.comparisons, 15, 1e-9);
  EXPECT_EQ(all.where, "on all GPUs (too few on B200)");
}

TEST(Difference, ALargeSweepCountsByItsWeight) {
  const Difference d = difference_at(kEightGpus, of(sweep(kEightGpus, 0.01, 0.5)));
  EXPECT_NEAR(d.comparisons, 2.5, 1e-9);
}

}  // namespace
}  // namespace foretoken::trust
