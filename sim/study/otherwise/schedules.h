// Predicts the same job with other pipeline schedules.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/process/watch.h"
#include "sim/report/gantt.h"
#include "sim/report/metrics.h"
#include "sim/study/scenario_source.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// A schedule and its chunks a stage.
struct ScheduleChoice {
  std::string label;            ///< in tables and charts: "interleaved:4"
  schedule::Schedule schedule;  ///< of the catalogue, or any other
  int chunks = 1;
};

[[nodiscard]] bool is_of(const ScheduleChoice& choice, const job::Job& job);

/// Returns GPipe, 1F1B, ZB-H1, interleaved 1F1B with two and with four chunks, ZB-V and V-Half, and the job's own
/// schedule if it is another.
/// They are ordered by chunks and have no labels.
[[nodiscard]] std::vector<ScheduleChoice> usual_schedules(const job::Job& job);

/// The prediction of a job with one schedule, or the reason why it cannot have it.
struct TriedSchedule {
  ScheduleChoice choice;
  bool is_own = false;  ///< the job's
  std::optional<report::Metrics> metrics;
  report::Gantt chart;
  std::vector<Complaint> impossible;
};

/// Predicts the scenario with each schedule instead of its own. All rules of scenarios apply. Work that is stopped
/// gives the schedules that are done.
[[nodiscard]] std::vector<TriedSchedule> try_schedules(const ScenarioSource& source, std::span<const std::string> sets,
                                                       const job::Job& base, const std::vector<ScheduleChoice>& choices,
                                                       const trust::Evidence& evidence, const Watch& watch = {});

/// Returns the place of the fastest schedule that fits in memory; where none fits, of the fastest. Nothing when none is
/// possible.
[[nodiscard]] std::optional<std::size_t> fastest(std::span<const TriedSchedule> tried);

}  // namespace foretoken::study
