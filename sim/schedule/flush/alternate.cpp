// Builds warm up, one forward one backward, drain, from a forward and a backward order.
#include "sim/schedule/flush/alternate.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

StageProgram stage_ops(const StageProgram& forwards, const StageProgram& backwards, int warm_up) {
  const auto first_forwards = static_cast<std::size_t>(warm_up);
  StageProgram ops;
  ops.reserve(2 * forwards.size());
  ops.insert(ops.end(), forwards.begin(), forwards.begin() + warm_up);
  for (std::size_t next = first_forwards; next < forwards.size(); ++next) {
    ops.push_back(forwards[next]);
    ops.push_back(backwards[next - first_forwards]);
  }
  ops.insert(ops.end(), backwards.end() - warm_up, backwards.end());
  return ops;
}

}  // namespace

Program alternating_program(PipelineShape shape, const Alternation& order) {
  expects(order.forwards.size() == order.backwards.size(), "every forward has one backward");
  Program program{.placement = Placement::looped(shape.stages, shape.chunks), .stages = {}, .warm_up = {}};
  program.stages.reserve(static_cast<std::size_t>(shape.stages));
  program.warm_up.reserve(static_cast<std::size_t>(shape.stages));
  for (const Stage stage : ids<Stage>(shape.stages)) {
    const int warm_up = std::min(order.warm_up(stage), static_cast<int>(order.forwards.size()));
    program.stages.push_back(stage_ops(order.forwards, order.backwards, warm_up));
    program.warm_up.push_back(warm_up);
  }
  return program;
}

StageProgram ops_in_order(OpKind kind, int microbatches) {
  StageProgram ops;
  ops.reserve(static_cast<std::size_t>(microbatches));
  for (const MicroBatch microbatch : ids<MicroBatch>(microbatches)) ops.push_back({kind, microbatch});
  return ops;
}

}  // namespace foretoken::schedule
