// The rules that all schedules share, and the rules that follow from their flags.
#include "sim/schedule/schedule.h"

#include <fmt/format.h>

namespace foretoken::schedule {
namespace {

std::optional<std::string> counts_rule(PipelineShape shape) {
  if (shape.stages < 1) return fmt::format("expected at least 1 pipeline stage, found {}; try 1", shape.stages);
  if (shape.microbatches < 1) {
    return fmt::format("expected at least 1 micro-batch, found {}; try a larger global batch", shape.microbatches);
  }
  if (shape.chunks < 1) return fmt::format("expected at least 1 chunk a stage, found {}; try 1", shape.chunks);
  if (shape.group < 0) {
    return fmt::format("expected a micro-batch group of at least 0, found {}; try 0 (the pipeline stages)",
                       shape.group);
  }
  return std::nullopt;
}

std::optional<std::string> interleaving_rule(const Schedule& schedule, PipelineShape shape) {
  if (schedule.interleaves) {
    if (shape.chunks > 1) return std::nullopt;
    return "expected at least 2 chunks a stage (virtual pipeline), found 1; try 2 chunks, or the schedule 1f1b";
  }
  if (shape.chunks > 1) {
    return fmt::format(
        "expected 1 chunk a stage (virtual pipeline), found {}; try 1 chunk, or the schedule interleaved-1f1b",
        shape.chunks);
  }
  if (shape.group != 0) {
    return fmt::format(
        "expected no micro-batch group (only interleaved schedules have one), found {}; try without it, or the "
        "schedule interleaved-1f1b",
        shape.group);
  }
  return std::nullopt;
}

}  // namespace

Placement placement_of(const Schedule& schedule, PipelineShape shape) {
  return schedule.place ? schedule.place(shape) : Placement::looped(shape.stages, shape.chunks);
}

std::vector<OpKind> pass_kinds(const Schedule& schedule) {
  std::vector<OpKind> kinds{OpKind::kForward, OpKind::kBackward};
  const auto add = [&](OpKind first, OpKind second) {
    kinds.push_back(first);
    kinds.push_back(second);
  };
  if (schedule.splits_backward) add(OpKind::kBackwardInput, OpKind::kBackwardWeight);
  if (schedule.pairs_passes) add(OpKind::kPairedForward, OpKind::kPairedBackward);
  return kinds;
}

std::optional<std::string> why_not(const Schedule& schedule, PipelineShape shape) {
  std::optional<std::string> reason = counts_rule(shape);
  if (!reason) reason = interleaving_rule(schedule, shape);
  if (!reason && schedule.own_rule) reason = schedule.own_rule(shape);
  if (!reason) return std::nullopt;
  return fmt::format("{}: {}", schedule.name, *reason);
}

}  // namespace foretoken::schedule
