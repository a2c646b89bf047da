// ZB-H1 and ZB-H2 of the zero-bubble paper (arXiv:2401.10241), made by hand: both are 1F1B with a split backward pass.
//
// A backward for weight waits for nothing but its own backward for input, so it can fill a bubble. ZB-H1 keeps the
// warm-up of 1F1B and so about its memory. ZB-H2 takes twice the warm-up. With equal passes and 2p - 1 micro-batches or
// more, its stages then never wait between their first and their last pass.
#include "sim/schedule/flush/alternate.h"
#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/split_1f1b.h"

namespace foretoken::schedule {
namespace {

/// `times` is 1 for ZB-H1 and 2 for ZB-H2.
Program zb_h(PipelineShape shape, int times) {
  return split_alternating_program(shape,
                                   {.forwards = ops_in_order(OpKind::kForward, shape.microbatches),
                                    .inputs = ops_in_order(OpKind::kBackwardInput, shape.microbatches),
                                    .warm_up = [=](Stage stage) { return times * (shape.stages - 1 - stage.number()); },
                                    .lag = [=](Stage stage) { return times * stage.number(); }});
}

}  // namespace

Schedule zb_h1() {
  return {.name = "zb-h1",
          .description = "1f1b with split backwards in about the same memory (zero bubble, arXiv:2401.10241)",
          .splits_backward = true,
          .build = [](PipelineShape shape) { return zb_h(shape, 1); }};
}

Schedule zb_h2() {
  return {.name = "zb-h2",
          .description = "zb-h1 with twice the warm-up and its memory; for m >= 2p-1 (arXiv:2401.10241)",
          .splits_backward = true,
          .build = [](PipelineShape shape) { return zb_h(shape, 2); }};
}

}  // namespace foretoken::schedule
