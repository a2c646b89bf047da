// Looped breadth-first pipelines: GPipe over several chunks a stage.
#include <algorithm>

#include "sim/schedule/flush/alternate.h"
#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/interleaved_1f1b.h"

namespace foretoken::schedule {
namespace {

Program breadth_first_program(PipelineShape shape) {
  StageProgram forwards, backwards;
  for (const Chunk chunk : ids<Chunk>(shape.chunks))
    for (const MicroBatch microbatch : ids<MicroBatch>(shape.microbatches)) {
      forwards.push_back({OpKind::kForward, microbatch, chunk});
      backwards.push_back({OpKind::kBackward, microbatch, chunk});
    }
  std::reverse(backwards.begin(), backwards.end());
  const int all = static_cast<int>(forwards.size());
  return alternating_program(
      shape,
      {.forwards = std::move(forwards), .backwards = std::move(backwards), .warm_up = [all](Stage) { return all; }});
}

}  // namespace

Schedule looped_bfs() {
  return {.name = "looped-bfs",
          .description = "all micro-batches through one chunk after the other (breadth-first, arXiv:2211.05953)",
          .interleaves = true,
          .build = breadth_first_program,
          .own_rule = no_group_rule};
}

}  // namespace foretoken::schedule
