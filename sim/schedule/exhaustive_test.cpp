// Tests every schedule for every small shape: complete, ordered, free of deadlock, and as many in flight as its formula
// says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/check_program.h"
#include "sim/schedule/flush/gpipe.h"
#include "sim/schedule/flush/interleaved_1f1b.h"
#include "sim/schedule/flush/one_f_one_b.h"
#include "sim/schedule/program_counts.h"

namespace foretoken::schedule {
namespace {

constexpr int kLargest = 6;
const std::vector<std::string> kNoProblems;

std::string title_of(PipelineShape s) {
  return "p=" + std::to_string(s.stages) + " m=" + std::to_string(s.microbatches) + " v=" + std::to_string(s.chunks) +
         " G=" + std::to_string(s.group);
}

void for_shapes_of_one_chunk(const std::function<void(PipelineShape)>& visit) {
  for (int stages = 1; stages <= kLargest; ++stages) {
    for (int microbatches = 1; microbatches <= kLargest; ++microbatches) {
      visit({.stages = stages, .microbatches = microbatches});
    }
  }
}

/// Visits all shapes up to `largest_m` micro-batches with every legal group. The default group is also written as 0.
void for_interleaved_shapes(int largest_m, const std::function<void(PipelineShape)>& visit) {
  for (int stages = 1; stages <= kLargest; ++stages) {
    for (int microbatches = 1; microbatches <= largest_m; ++microbatches) {
      for (int chunks = 1; chunks <= kLargest; ++chunks) {
        for (int group = 0; group <= microbatches; ++group) {
          const PipelineShape shape{stages, microbatches, chunks, group};
          if (!interleaved_1f1b_group_rule(shape)) visit(shape);
        }
      }
    }
  }
}

/// Counts the messages of one step. Every virtual stage but the last sends each micro-batch on, and every one but the
/// first sends its gradient back. A neighbour on the same stage needs no message.
std::vector<std::int64_t> expected_sends(PipelineShape s) {
  std::vector<std::int64_t> sends(static_cast<std::size_t>(s.stages), 0);
  if (s.stages == 1) return sends;
  for (int virtual_stage = 0; virtual_stage + 1 < s.stages * s.chunks; ++virtual_stage) {
    sends[static_cast<std::size_t>(virtual_stage % s.stages)] += s.microbatches;
    sends[static_cast<std::size_t>((virtual_stage + 1) % s.stages)] += s.microbatches;
  }
  return sends;
}

void expect_valid(const Program& program, PipelineShape shape, const std::function<int(Stage stage)>& peak) {
  EXPECT_EQ(check_program(program, shape), kNoProblems);
  EXPECT_EQ(sends_per_stage(program), expected_sends(shape));
  for (const Stage stage : ids<Stage>(shape.stages)) {
    EXPECT_EQ(peak_in_flight(program.stages[stage]), peak(stage)) << "stage " << stage.number();
  }
}

TEST(Exhaustive, GPipeStashesAllMicrobatches) {
  for_shapes_of_one_chunk([](PipelineShape s) {
    SCOPED_TRACE(title_of(s));
    for (const Program& program : {gpipe(s), gpipe_fifo(s)}) {
      expect_valid(program, s, [s](Stage) { return s.microbatches; });
    }
  });
}

TEST(Exhaustive, OneFOneBStashesOneForEachStageFromHereOn) {
  for_shapes_of_one_chunk([](PipelineShape s) {
    SCOPED_TRACE(title_of(s));
    expect_valid(one_f_one_b(s), s, [s](Stage stage) { return std::min(s.stages - stage.number(), s.microbatches); });
  });
}

TEST(Exhaustive, InterleavedStashesItsWarmUpAndOne) {
  int shapes = 0;
  for_interleaved_shapes(kLargest, [&shapes](PipelineShape s) {
    SCOPED_TRACE(title_of(s));
    const int group = s.group == 0 ? s.stages : s.group;
    expect_valid(interleaved_1f1b(s), s, [s, group](Stage stage) {
      return std::min(2 * (s.stages - 1 - stage.number()) + (s.chunks - 1) * group + 1, s.microbatches * s.chunks);
    });
    ++shapes;
  });
  EXPECT_GT(shapes, 300);
}

TEST(Exhaustive, InterleavedIsValidWithALastGroupThatIsSmaller) {
  int smaller_last_group = 0;
  for_interleaved_shapes(16, [&smaller_last_group](PipelineShape s) {
    if (s.group == 0 || s.microbatches % s.group == 0) return;
    SCOPED_TRACE(title_of(s));
    EXPECT_EQ(check_program(interleaved_1f1b(s), s), kNoProblems);
    ++smaller_last_group;
  });
  EXPECT_GT(smaller_last_group, 1000);
}

TEST(Exhaustive, MicrobatchesKeepTheirOrderInEveryChunk) {
  for_interleaved_shapes(kLargest, [](PipelineShape s) {
    SCOPED_TRACE(title_of(s));
    const Program program = interleaved_1f1b(s);
    for (const StageProgram& ops : program.stages) {
      for (const OpKind kind : {OpKind::kForward, OpKind::kBackward}) {
        for (const Chunk chunk : ids<Chunk>(s.chunks)) {
          int next = 0;
          for (const StageOp op : ops) {
            if (op.kind != kind || op.chunk != chunk) continue;
            EXPECT_EQ(op.microbatch.number(), next++);
          }
          EXPECT_EQ(next, s.microbatches);
        }
      }
    }
  });
}

TEST(Exhaustive, TheDefaultGroupIsTheStages) {
  for_interleaved_shapes(kLargest, [](PipelineShape s) {
    if (s.group != 0) return;
    PipelineShape same = s;
    same.group = s.stages;
    EXPECT_EQ(interleaved_1f1b(s), interleaved_1f1b(same)) << title_of(s);
  });
}

TEST(Exhaustive, OnTheLastStageInterleavingOneChunkIs1f1b) {
  for_interleaved_shapes(kLargest, [](PipelineShape s) {
    if (s.chunks != 1) return;
    PipelineShape plain{.stages = s.stages, .microbatches = s.microbatches};
    EXPECT_EQ(interleaved_1f1b(s).stages.back(), one_f_one_b(plain).stages.back()) << title_of(s);
  });
}

TEST(Exhaustive, ShapesThatTheCatalogueAllowsAreValid) {
  int allowed = 0;
  for (const Schedule& schedule : all_schedules()) {
    for (int stages = 0; stages <= 4; ++stages) {
      for (int microbatches = 0; microbatches <= 8; ++microbatches) {
        for (int chunks = 0; chunks <= 3; ++chunks) {
          for (int group = -1; group <= 9; ++group) {
            const PipelineShape shape{stages, microbatches, chunks, group};
            if (why_not(schedule, shape)) continue;
            SCOPED_TRACE(schedule.name + " " + title_of(shape));
            EXPECT_EQ(check_program(schedule.build(shape), shape), kNoProblems);
            ++allowed;
          }
        }
      }
    }
  }
  EXPECT_GT(allowed, 150);
}

}  // namespace
}  // namespace foretoken::schedule
