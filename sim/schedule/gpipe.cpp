// GPipe's op lists: the same on every stage.
#include "sim/schedule/gpipe.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"
#include "sim/schedule/alternate.h"

namespace foretoken::schedule {
namespace {

Program all_forwards_then(const StageProgram& backwards, PipelineShape shape) {
  const StageProgram forwards = passes_in_order(OpKind::kForward, shape.microbatches);
  return Program(static_cast<std::size_t>(shape.stages),
                 warm_up_then_alternate(forwards, backwards, shape.microbatches));
}

void expects_legal(PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1, "a pipeline has at least one stage and one micro-batch");
  expects(shape.chunks == 1, "GPipe holds one chunk a stage");
}

}  // namespace

Program gpipe(PipelineShape shape) {
  expects_legal(shape);
  StageProgram backwards = passes_in_order(OpKind::kBackward, shape.microbatches);
  std::reverse(backwards.begin(), backwards.end());
  return all_forwards_then(backwards, shape);
}

Program gpipe_fifo(PipelineShape shape) {
  expects_legal(shape);
  return all_forwards_then(passes_in_order(OpKind::kBackward, shape.microbatches), shape);
}

}  // namespace foretoken::schedule
