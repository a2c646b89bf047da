// Tests BPipe: golden orders, and the balance between partner stages.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/program_counts.h"
#include "sim/schedule/test_golden_counts.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

TEST(BPipe, OrdersStashesAndMessagesAreTheGoldenOnes) {
  int cases = 0;
  const nlohmann::json golden = golden_file("golden_bpipe.json");
  for (const auto& row : golden.at("cases")) {
    SCOPED_TRACE("p " + row.at("p").dump() + " m " + row.at("m").dump());
    const Program program = schedule_named("bpipe").build(shape_of(row));
    EXPECT_EQ(program.stages, golden_program(row).stages);
    expect_golden_counts(program, row);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

// Every stage holds at most (p + 2) / 2 stashes, rounded up: its own and those of its partner.
TEST(BPipe, EveryStageHoldsItsShare) {
  for (int stages = 4; stages <= 16; stages += 2)
    for (int microbatches = 1; microbatches <= 40; ++microbatches) {
      SCOPED_TRACE(testing::Message() << "p " << stages << " m " << microbatches);
      const PipelineShape shape{.stages = stages, .microbatches = microbatches};
      const Program program = schedule_named("bpipe").build(shape);
      EXPECT_EQ(check_program(program, shape), std::vector<std::string>{});
      const Program plain = schedule_named("1f1b").build(shape);
      for (int stage = 0; stage < stages; ++stage) {
        const StageProgram &own = program.stages[id_of<Stage>(stage)],
                           &partner = program.stages[id_of<Stage>(stages - 1 - stage)];
        EXPECT_LE(peak_in_flight(own) + peak_away(partner), (stages + 3) / 2);
        StageProgram passes = own;
        std::erase_if(passes, [](const StageOp& op) { return !traits(op.kind).is_pass; });
        EXPECT_EQ(passes, plain.stages[id_of<Stage>(stage)]) << "the passes are those of 1F1B";
      }
    }
}

}  // namespace
}  // namespace foretoken::schedule
