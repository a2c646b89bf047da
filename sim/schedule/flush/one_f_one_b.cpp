// Builds 1F1B's op lists. Only the warm-up differs from stage to stage.
#include "sim/schedule/flush/one_f_one_b.h"

#include "sim/base/check.h"
#include "sim/schedule/flush/alternate.h"

namespace foretoken::schedule {

Program one_f_one_b(PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1, "a pipeline has at least one stage and one micro-batch");
  expects(shape.chunks == 1, "1F1B holds one chunk a stage; more chunks need the interleaved schedule");
  return alternating_program(shape, {.forwards = ops_in_order(OpKind::kForward, shape.microbatches),
                                     .backwards = ops_in_order(OpKind::kBackward, shape.microbatches),
                                     .warm_up = [shape](Stage stage) { return shape.stages - 1 - stage.number(); }});
}

}  // namespace foretoken::schedule
