// Wraps an imported program. All copies of the schedule share it, because it never changes.
#include "sim/schedule/csv/own_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "sim/base/noun.h"

namespace foretoken::schedule {
namespace {

bool has(const Program& program, OpKind kind) {
  return std::ranges::any_of(program.stages, [&](const StageProgram& ops) {
    return std::ranges::find(ops, kind, &StageOp::kind) != ops.end();
  });
}

std::optional<std::string> own_rule(PipelineShape own, PipelineShape asked) {
  if (asked.stages != own.stages)
    return fmt::format("expected {}, one a row of the file, found {}; try parallelism.pipeline {}",
                       with_noun(own.stages, "pipeline stage"), asked.stages, own.stages);
  if (asked.chunks != own.chunks)
    return fmt::format(
        "expected {} a stage, as many as stages in a row of the file, found {}; try "
        "parallelism.virtual_pipeline {}",
        with_noun(own.chunks, "chunk"), asked.chunks, own.chunks);
  if (asked.microbatches != own.microbatches)
    return fmt::format("expected {}, as in the file, found {}; try a batch of {}",
                       with_noun(own.microbatches, "micro-batch", "micro-batches"), asked.microbatches,
                       own.microbatches);
  if (asked.group != 0)
    return fmt::format("expected no micro-batch group, as the file states the order, found {}; try without it",
                       asked.group);
  return std::nullopt;
}

}  // namespace

Schedule own_schedule(std::string name, ImportedSchedule imported) {
  const PipelineShape shape = imported.shape;
  const auto program = std::make_shared<const Program>(std::move(imported.program));
  Schedule schedule{.name = std::move(name),
                    .description = "read from a file",
                    .interleaves = shape.chunks > 1,
                    .splits_backward = has(*program, OpKind::kBackwardInput),
                    .pairs_passes = has(*program, OpKind::kPairedForward),
                    .build = [program](PipelineShape) { return *program; },
                    .own_rule = [shape](PipelineShape asked) { return own_rule(shape, asked); },
                    .only_shape = shape};
  if (program->placement.is_looped()) return schedule;
  // Rules ask for the places before they know that the shape is the file's.
  schedule.place = [program](PipelineShape asked) {
    const Placement& own = program->placement;
    const bool fits = asked.stages == own.stages() && asked.chunks == own.chunks();
    return fits ? own : Placement::looped(asked.stages, asked.chunks);
  };
  return schedule;
}

}  // namespace foretoken::schedule
