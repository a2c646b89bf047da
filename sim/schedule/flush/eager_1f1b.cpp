// Eager 1F1B: twice the warm-up of 1F1B, so that a message has a whole pass of time.
#include "sim/schedule/flush/alternate.h"
#include "sim/schedule/flush/flush.h"

namespace foretoken::schedule {
namespace {

Program eager_program(PipelineShape shape) {
  return alternating_program(shape,
                             {.forwards = ops_in_order(OpKind::kForward, shape.microbatches),
                              .backwards = ops_in_order(OpKind::kBackward, shape.microbatches),
                              .warm_up = [shape](Stage stage) { return 2 * (shape.stages - 1 - stage.number()); }});
}

}  // namespace

Schedule eager_1f1b() {
  return {.name = "eager-1f1b",
          .description = "1f1b with twice the warm-up, which hides messages (alpa, arXiv:2211.05322)",
          .build = eager_program};
}

}  // namespace foretoken::schedule
