// Tests stages of a job on nodes of several kinds, numbered within their kind.
#include "sim/job/parts.h"

#include <gtest/gtest.h>

namespace foretoken::job {
namespace {

TEST(Parts, EveryStageHasItsPlaceAmongThoseOfItsKind) {
  for (int first = 1; first <= 4; ++first)
    for (int second = 1; second <= 4; ++second)
      for (int third = 1; third <= 4; ++third) {
        SCOPED_TRACE(testing::Message() << first << ' ' << second << ' ' << third);
        Job job;
        for (const int stages : {first, second, third}) {
          job.groups.emplace_back().stages = stages;
          job.parallelism.pipeline = job.gpus += job.groups.size() == 1 ? stages - 1 : stages;
        }
        const Parts parts(job);
        Stage stage = {};
        for (const Job* part : parts.all())
          for (const Stage local : ids<Stage>(part->parallelism.pipeline)) {
            EXPECT_EQ(&parts.of(stage), part);
            EXPECT_EQ(parts.local(stage), local);
            stage = stage.next();
          }
        EXPECT_EQ(stage.number(), first + second + third);
      }
}

TEST(Parts, GpusOfOneKindAreOnePart) {
  const Job job;
  const Parts parts(job);
  EXPECT_EQ(&parts.of(Stage{3}), &job);
  EXPECT_EQ(parts.local(Stage{3}), Stage{3});
}

}  // namespace
}  // namespace foretoken::job
