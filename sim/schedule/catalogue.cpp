// The list of schedules, above all of them, and the rules that they share.
#include "sim/schedule/catalogue.h"

#include <fmt/format.h>

#include <array>

#include "sim/schedule/gpipe.h"
#include "sim/schedule/interleaved_1f1b.h"
#include "sim/schedule/one_f_one_b.h"

namespace foretoken::schedule {
namespace {

constexpr std::array kSchedules = {
    Schedule{.name = "gpipe",
             .description = "all forwards, then all backwards in reverse order (arXiv:1811.06965)",
             .build = gpipe},
    Schedule{.name = "gpipe-fifo",
             .description = "GPipe with the backwards oldest first (arXiv:1811.06965)",
             .build = gpipe_fifo},
    Schedule{.name = "1f1b",
             .description = "one forward, one backward, flushed every step (PipeDream-Flush, arXiv:2006.09503)",
             .build = one_f_one_b},
    Schedule{.name = "interleaved-1f1b",
             .description = "1f1b over several model chunks a stage, as Megatron-Core issues it (arXiv:2104.04473)",
             .interleaves = true,
             .build = interleaved_1f1b,
             .own_rule = interleaved_1f1b_rule},
};

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
    return "expected at least 2 chunks a stage (virtual_pipeline), found 1; try virtual_pipeline 2, or the schedule "
           "1f1b";
  }
  if (shape.chunks > 1) {
    return fmt::format(
        "expected 1 chunk a stage (virtual_pipeline), found {}; try virtual_pipeline 1, or the schedule "
        "interleaved-1f1b",
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

std::span<const Schedule> all_schedules() { return kSchedules; }

std::optional<Schedule> find_schedule(std::string_view name) {
  for (const Schedule& schedule : kSchedules) {
    if (schedule.name == name) return schedule;
  }
  return std::nullopt;
}

std::optional<std::string> why_not(const Schedule& schedule, PipelineShape shape) {
  std::optional<std::string> reason = counts_rule(shape);
  if (!reason) reason = interleaving_rule(schedule, shape);
  if (!reason && schedule.own_rule != nullptr) reason = schedule.own_rule(shape);
  if (!reason) return std::nullopt;
  return fmt::format("{}: {}", schedule.name, *reason);
}

}  // namespace foretoken::schedule
