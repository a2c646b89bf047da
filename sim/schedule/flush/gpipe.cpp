// Builds GPipe's op lists. They are the same on every stage.
#include "sim/schedule/flush/gpipe.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/flush/alternate.h"

namespace foretoken::schedule {
namespace {

Program all_forwards_then(StageProgram backwards, PipelineShape shape) {
  return alternating_program(shape, {.forwards = ops_in_order(OpKind::kForward, shape.microbatches),
                                     .backwards = std::move(backwards),
                                     .warm_up = [shape](Stage) { return shape.microbatches; }});
}

void expects_legal(PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1, "a pipeline has at least one stage and one micro-batch");
  expects(shape.chunks == 1, "GPipe holds one chunk a stage");
}

}  // namespace

Program gpipe(PipelineShape shape) {
  expects_legal(shape);
  StageProgram backwards = ops_in_order(OpKind::kBackward, shape.microbatches);
  std::reverse(backwards.begin(), backwards.end());
  return all_forwards_then(std::move(backwards), shape);
}

Program gpipe_fifo(PipelineShape shape) {
  expects_legal(shape);
  return all_forwards_then(ops_in_order(OpKind::kBackward, shape.microbatches), shape);
}

}  // namespace foretoken::schedule
