// Stages of a job on nodes of several kinds, numbered within their kind.
#include "sim/lowering/parts.h"

#include <gtest/gtest.h>

namespace foretoken::lowering {
namespace {

TEST(Parts, EveryStageHasItsPlaceAmongThoseOfItsKind) {
  for (int first = 1; first <= 4; ++first)
    for (int second = 1; second <= 4; ++second)
      for (int third = 1; third <= 4; ++third) {
        SCOPED_TRACE(testing::Message() << first << ' ' << second << ' ' << third);
        Scenario scenario;
        for (const int stages : {first, second, third}) {
          scenario.groups.emplace_back().stages = stages;
          scenario.parallelism.pipeline = scenario.gpus += scenario.groups.size() == 1 ? stages - 1 : stages;
        }
        const Parts parts(scenario);
        int stage = 0;
        for (const Scenario* part : parts.all())
          for (int local = 0; local < part->parallelism.pipeline; ++local, ++stage) {
            EXPECT_EQ(&parts.of(stage), part);
            EXPECT_EQ(parts.local(stage), local);
          }
        EXPECT_EQ(stage, first + second + third);
      }
}

TEST(Parts, GpusOfOneKindAreOnePart) {
  const Scenario scenario;
  const Parts parts(scenario);
  EXPECT_EQ(&parts.of(3), &scenario);
  EXPECT_EQ(parts.local(3), 3);
}

}  // namespace
}  // namespace foretoken::lowering
