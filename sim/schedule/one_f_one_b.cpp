// 1F1B's op lists: only the warm-up differs from stage to stage.
#include "sim/schedule/one_f_one_b.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"
#include "sim/schedule/alternate.h"

namespace foretoken::schedule {

Program one_f_one_b(PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1, "a pipeline has at least one stage and one micro-batch");
  expects(shape.chunks == 1, "1F1B holds one chunk a stage; more chunks need the interleaved schedule");
  const StageProgram forwards = passes_in_order(OpKind::kForward, shape.microbatches);
  const StageProgram backwards = passes_in_order(OpKind::kBackward, shape.microbatches);

  Program program;
  program.reserve(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    const int warmup = std::min(shape.stages - 1 - stage, shape.microbatches);
    program.push_back(warm_up_then_alternate(forwards, backwards, warmup));
  }
  return program;
}

}  // namespace foretoken::schedule
