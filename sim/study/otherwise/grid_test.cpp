// Tests values of varied keys, their combinations, and knees of curves with a known shape.
#include "sim/study/otherwise/grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sim/base/error.h"

namespace foretoken::study {
namespace {

using testing::ElementsAre;

TEST(ParseVaried, CommasInsideBracketsAndQuotesPartNothing) {
  EXPECT_THAT(parse_varied("batch.micro=1,2,4").values, ElementsAre("1", "2", "4"));
  EXPECT_THAT(parse_varied(R"(x=[1,2],{"a":"},","b":[3,4]},plain)").values,
              ElementsAre("[1,2]", R"({"a":"},","b":[3,4]})", "plain"));
  EXPECT_THAT(parse_varied(R"(x="a\",b",c)").values, ElementsAre(R"("a\",b")", "c"));
}

TEST(ParseVaried, RefusesWhatIsNotAKeyWithValues) {
  for (const char* wrong : {"", "x", "=1", "x=", "x=1,,2", "x=1,2,1"}) {
    SCOPED_TRACE(wrong);
    EXPECT_THROW((void)parse_varied(wrong), ConfigError);
  }
}

TEST(Combinations, TheLastKeyChangesFastest) {
  const std::vector<Varied> keys{{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  EXPECT_THAT(combinations(keys), ElementsAre(ElementsAre(0, 0), ElementsAre(0, 1), ElementsAre(0, 2),
                                              ElementsAre(1, 0), ElementsAre(1, 1), ElementsAre(1, 2)));
}

// Makes trials of t = fixed + work / x. From x to 2x the step saves work / (2 (fixed x + work)) of itself.
std::vector<Trial> saturating(double fixed, double work, std::initializer_list<double> values) {
  std::vector<Trial> trials;
  for (const double x : values) trials.push_back({x, fixed + work / x});
  return trials;
}

TEST(KneeOf, ASaturatingCurveStopsPayingWhereTheFormulaSays) {
  // Doublings from 1, 2, 4, 8, 16 save 1/4, 1/6, 1/10, 1/18, 1/34: only the last one is below 5 %.
  const auto knee = knee_of(saturating(1, 1, {8, 1, 4, 2, 32, 16}));
  ASSERT_TRUE(knee);
  EXPECT_TRUE(knee->matters && !knee->more_pays && knee->larger_is_better);
  EXPECT_EQ(knee->value, 16);
  EXPECT_NEAR(knee->gain, 1.0 / 34, 1e-12);
}

TEST(KneeOf, UnevenValuesArePutInTermsOfDoublings) {
  // t = 1/x saves one half with every doubling, at any distance of the values.
  const auto knee = knee_of(saturating(0, 1, {1, 1.5, 7}));
  ASSERT_TRUE(knee);
  EXPECT_TRUE(knee->more_pays);
  EXPECT_EQ(knee->value, 7);
  EXPECT_NEAR(knee->gain, 0.5, 1e-12);
}

TEST(KneeOf, WhereSmallerIsBetterItIsSoughtFromTheOtherEnd) {
  // t = 1 + x: halvings to 4, 2, 1, 1/2, 1/4, 1/8, 1/16 save 4/9, 2/5, 1/3, 1/4, 1/6, 1/10, 1/18; the next 1/34.
  const auto knee = knee_of({{0.03125, 1.03125}, {0.0625, 1.0625}, {0.125, 1.125}, {8, 9}});
  ASSERT_TRUE(knee);
  EXPECT_FALSE(knee->larger_is_better);
  EXPECT_EQ(knee->value, 0.0625);
  EXPECT_NEAR(knee->gain, 1 - 1.03125 / 1.0625, 1e-12);
}

TEST(KneeOf, FlatCurvesSayThatItDoesNotMatter) {
  const auto knee = knee_of({{1, 10}, {2, 9.99}, {4, 9.98}});
  ASSERT_TRUE(knee);
  EXPECT_FALSE(knee->matters);
}

TEST(KneeOf, ACurveThatFallsAndRisesHasNone) {
  EXPECT_FALSE(knee_of({{1, 10}, {2, 8}, {4, 9}}));
  EXPECT_FALSE(knee_of({{1, 10}, {2, 8}})) << "two values make no curve";
}

}  // namespace
}  // namespace foretoken::study
