// Builds warm up, one forward one backward for input one late backward for weight, drain.
#include "sim/schedule/flush/split_1f1b.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

StageOp weight_of(StageOp input) { return {OpKind::kBackwardWeight, input.microbatch, input.chunk}; }

StageProgram split_stage_ops(const SplitAlternation& order, std::size_t warm_up, std::size_t lag) {
  StageProgram ops;
  ops.reserve(3 * order.forwards.size());
  std::size_t forwards = 0, weights = 0;
  while (forwards < warm_up) ops.push_back(order.forwards[forwards++]);
  for (std::size_t input = 0; input < order.inputs.size(); ++input) {
    if (forwards < order.forwards.size()) ops.push_back(order.forwards[forwards++]);
    ops.push_back(order.inputs[input]);
    if (input >= lag) ops.push_back(weight_of(order.inputs[weights++]));
  }
  while (weights < order.inputs.size()) ops.push_back(weight_of(order.inputs[weights++]));
  return ops;
}

}  // namespace

Program split_alternating_program(PipelineShape shape, const SplitAlternation& order) {
  expects(order.forwards.size() == order.inputs.size(), "every forward has one backward");
  Program program{.placement = Placement::looped(shape.stages, shape.chunks), .stages = {}};
  program.stages.reserve(static_cast<std::size_t>(shape.stages));
  for (const Stage stage : ids<Stage>(shape.stages)) {
    const std::size_t warm_up = std::min(static_cast<std::size_t>(order.warm_up(stage)), order.forwards.size());
    program.stages.push_back(split_stage_ops(order, warm_up, static_cast<std::size_t>(order.lag(stage))));
  }
  return program;
}

}  // namespace foretoken::schedule
