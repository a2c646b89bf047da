// Chimera: two copies of the model, whose micro-batches go down and up the same stages.
//
// Micro-batches come in units of p, half of them each way. Passes stand on a grid of slots, on which a forward and a
// backward take one slot each (arXiv:2107.06925, section 3.1). On the way down, stage r runs the forward of the i-th
// micro-batch in slot 2i + r, and its backward in slot 2i + 2(p-1) - r + 1. The way up is the mirror image. Units
// follow each other by 2p slots, so the next one fills the drain of the one before.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/two_way.h"

namespace foretoken::schedule {
namespace {

/// The passes of one stage, each with its slot.
class Grid {
 public:
  /// `stage` counts from the first stage of the way of `chunk`.
  void add(MicroBatch microbatch, Chunk chunk, int stages, int stage, int unit, int i) {
    const int first = 2 * stages * unit + 2 * i;
    passes_.push_back({first + stage, {OpKind::kForward, microbatch, chunk}});
    passes_.push_back({first + 2 * (stages - 1) - stage + 1, {OpKind::kBackward, microbatch, chunk}});
  }
  [[nodiscard]] StageProgram in_order() {
    std::ranges::sort(passes_, {}, &std::pair<int, StageOp>::first);
    StageProgram ops;
    ops.reserve(passes_.size());
    for (const auto& [slot, op] : passes_) ops.push_back(op);
    return ops;
  }

 private:
  std::vector<std::pair<int, StageOp>> passes_;
};

Program chimera_program(PipelineShape shape) {
  Program program{.placement = two_way_place(shape), .stages = {}};
  const int half = shape.stages / 2;
  for (int stage = 0; stage < shape.stages; ++stage) {
    Grid grid;
    for (int first = 0; first < shape.microbatches; first += shape.stages)
      for (int i = 0; i < half; ++i) {
        const int unit = first / shape.stages;
        grid.add(id_of<MicroBatch>(first + i), Chunk{0}, shape.stages, stage, unit, i);
        grid.add(id_of<MicroBatch>(first + half + i), Chunk{1}, shape.stages, shape.stages - 1 - stage, unit, i);
      }
    program.stages.push_back(grid.in_order());
  }
  return program;
}

std::optional<std::string> chimera_rule(PipelineShape shape) {
  if (auto wrong = two_way_rule(shape)) return wrong;
  if (shape.microbatches % shape.stages == 0) return std::nullopt;
  return fmt::format("expected a multiple of {} micro-batches (the pipeline stages), found {}; try {}", shape.stages,
                     shape.microbatches, (shape.microbatches / shape.stages + 1) * shape.stages);
}

}  // namespace

Schedule chimera() {
  return {.name = "chimera",
          .description = "two copies of the model, one down the stages and one up (arXiv:2107.06925)",
          .interleaves = true,
          .copies = 2,
          .build = chimera_program,
          .place = two_way_place,
          .own_rule = chimera_rule};
}

}  // namespace foretoken::schedule
