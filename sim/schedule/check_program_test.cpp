// Tests that check_program names every fault of a broken program, and agrees with a slower, independent proof.
#include "sim/schedule/check_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "sim/schedule/flush/interleaved_1f1b.h"
#include "sim/schedule/flush/one_f_one_b.h"
#include "sim/schedule/op_text.h"
#include "sim/schedule/test_programs.h"

namespace foretoken::schedule {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct BrokenCase {
  const char* name;
  PipelineShape shape;
  std::vector<std::string> stages;
  std::vector<std::string> problems;
};

const BrokenCase kBroken[] = {
    {"a stage too few", {2, 1}, {"F0 B0"}, {"expected 2 stages, found 1"}},
    {"a missing op", {2, 2}, {"F0 F1 B0", "F0 B0 F1 B1"}, {"stage 0: B1 is missing"}},
    {"an empty stage", {2, 1}, {"F0 B0", ""}, {"stage 1: F0 is missing", "stage 1: B0 is missing"}},
    {"a duplicated op", {2, 1}, {"F0 B0", "F0 B0 B0"}, {"stage 1: B0 appears 2 times"}},
    {"an unknown micro-batch", {1, 1}, {"F0 B0 F1"}, {"stage 0: F1 is outside 1 micro-batch and 1 chunk"}},
    {"an unknown chunk", {1, 1}, {"F0 B0 F0.1"}, {"stage 0: F0.1 is outside 1 micro-batch and 1 chunk"}},
    {"backward first", {2, 1}, {"F0 B0", "B0 F0"}, {"stage 1: B0 comes before its forward F0"}},
    {"backward first in one chunk",
     {1, 1, 2},
     {"F0.0 B0.1 F0.1 B0.0"},
     {"stage 0: B0.1 comes before its forward F0.1"}},
    {"two stages that wait for each other",
     {2, 2},
     {"F0 B0 F1 B1", "F0 F1 B0 B1"},
     {"deadlock: stage 0 waits at B0 for B0 of stage 1, which waits at F1",
      "deadlock: stage 1 waits at F1 for F1 of stage 0, which waits at B0"}},
    {"a stage that waits for one in a deadlock",
     {3, 2},
     {"F0 B0 F1 B1", "F0 F1 B0 B1", "F0 B0 F1 B1"},
     {"deadlock: stage 0 waits at B0 for B0 of stage 1, which waits at F1",
      "deadlock: stage 1 waits at F1 for F1 of stage 0, which waits at B0",
      "deadlock: stage 2 waits at F1 for F1 of stage 1, which waits at F1"}},
    {"a stage that waits for itself",
     {1, 1, 2},
     {"F0.1 F0.0 B0.1 B0.0"},
     {"deadlock: stage 0 waits at F0.1 for F0.0 of stage 0, which waits at F0.1"}},
    {"around the ring from chunk 0 to chunk 1",
     {2, 1, 2},
     {"F0.1 F0.0 B0.1 B0.0", "F0.0 F0.1 B0.1 B0.0"},
     {"deadlock: stage 0 waits at F0.1 for F0.0 of stage 1, which waits at F0.0",
      "deadlock: stage 1 waits at F0.0 for F0.0 of stage 0, which waits at F0.1"}},
};

TEST(CheckProgram, NamesTheFault) {
  for (const auto& [name, shape, stages, problems] : kBroken) {
    SCOPED_TRACE(name);
    EXPECT_EQ(check_program(program_of(Placement::looped(shape.stages, shape.chunks), stages), shape), problems);
  }
}

TEST(CheckProgram, CatchesEveryOpThatIsTakenAwayOrDoubled) {
  const PipelineShape shape{.stages = 3, .microbatches = 6, .chunks = 2};
  const Program whole = interleaved_1f1b(shape);
  for (const Stage stage : whole.stages.ids()) {
    for (std::size_t at = 0; at < whole.stages[stage].size(); ++at) {
      const std::string op = to_text(whole.stages[stage][at], shape.chunks);
      const auto offset = static_cast<std::ptrdiff_t>(at);
      Program less = whole;
      less.stages[stage].erase(less.stages[stage].begin() + offset);
      EXPECT_THAT(check_program(less, shape),
                  ElementsAre("stage " + std::to_string(stage.number()) + ": " + op + " is missing"));
      Program more = whole;
      more.stages[stage].push_back(whole.stages[stage][at]);
      EXPECT_THAT(check_program(more, shape),
                  ElementsAre("stage " + std::to_string(stage.number()) + ": " + op + " appears 2 times"));
    }
  }
}

/// An op of the graph below: its stage and its position there.
struct Node {
  Stage stage;
  std::size_t position;
};

/// Returns true when one sequence of all ops respects every list and every dependency. It takes away any op that no
/// remaining op precedes, again and again, until none is left. It is quadratic and shares no code.
bool has_a_sequence(const Program& program, PipelineShape shape) {
  const auto precedes = [&](Node a, Node b) {
    if (a.stage == b.stage && a.position < b.position) return true;
    const StageOp x = program.stages[a.stage][a.position], y = program.stages[b.stage][b.position];
    if (x.microbatch != y.microbatch) return false;
    const int vx = x.chunk.number() * shape.stages + a.stage.number();
    const int vy = y.chunk.number() * shape.stages + b.stage.number();
    if (x.kind == OpKind::kForward && y.kind == OpKind::kForward) return vx + 1 == vy;
    if (x.kind == OpKind::kBackward && y.kind == OpKind::kBackward) return vx == vy + 1;
    return x.kind == OpKind::kForward && vx == vy;
  };
  std::vector<Node> left;
  for (const Stage stage : program.stages.ids()) {
    for (std::size_t position = 0; position < program.stages[stage].size(); ++position)
      left.push_back({stage, position});
  }
  while (true) {
    const auto free = std::find_if(left.begin(), left.end(), [&](Node b) {
      return std::none_of(left.begin(), left.end(), [&](Node a) { return precedes(a, b); });
    });
    if (free == left.end()) return left.empty();
    left.erase(free);
  }
}

/// Swaps a few ops of a good program at random. Both verdicts must come up often and always agree.
TEST(CheckProgram, AgreesWithAnIndependentProofOnShuffledPrograms) {
  constexpr unsigned kSeed = 20240817;
  std::mt19937 random(kSeed);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  const PipelineShape shapes[] = {{2, 2}, {2, 4}, {3, 3}, {4, 2}, {2, 2, 2}, {3, 3, 2}, {1, 2, 3}, {2, 3, 3, 3}};
  int valid = 0, deadlocked = 0, unordered = 0;
  for (int round = 0; round < 4000; ++round) {
    const PipelineShape shape = shapes[below(std::size(shapes))];
    Program program = shape.chunks == 1 ? one_f_one_b(shape) : interleaved_1f1b(shape);
    for (std::size_t swaps = 1 + below(4); swaps > 0; --swaps) {
      StageProgram& ops = program.stages[id_of<Stage>(static_cast<int>(below(program.stages.size())))];
      const std::size_t at = below(ops.size() - 1);
      std::swap(ops[at], ops[at + 1 + below(std::min<std::size_t>(3, ops.size() - at - 1))]);
    }
    const auto problems = check_program(program, shape);
    ASSERT_EQ(problems.empty(), has_a_sequence(program, shape)) << "seed " << kSeed << " round " << round;
    if (problems.empty()) {
      ++valid;
    } else if (problems.front().starts_with("deadlock")) {
      ++deadlocked;
    } else {
      ++unordered;
    }
  }
  EXPECT_GT(valid, 200);
  EXPECT_GT(deadlocked, 200);
  EXPECT_GT(unordered, 200);
}

TEST(CheckProgram, AcceptsALargeProgram) {
  const PipelineShape shape{.stages = 64, .microbatches = 512};
  EXPECT_THAT(check_program(one_f_one_b(shape), shape), IsEmpty());
}

TEST(CheckProgramDeathTest, AShapeOfNothingBreaksAContract) {
  EXPECT_DEATH((void)check_program({}, {.stages = 0}), "at least one stage");
}

}  // namespace
}  // namespace foretoken::schedule
