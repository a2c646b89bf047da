// Turns a run into bars, stage by stage.
#include "sim/report/gantt.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::report {
namespace {

using step::Meaning;
using step::TaskMeaning;

// Adds the bar of a task. Passes are drawn whole. Communication of several stages stands in the row of each, a message
// in the row of its sender.
void add_task(Gantt& chart, const Meaning& meaning, const step::Workload& workload, const des::RunResult& run,
              std::size_t task) {
  const des::Instant begin = run.start[task], end = run.end[task];
  if (meaning.kind == TaskMeaning::kOptimizer || meaning.kind == TaskMeaning::kStepOverhead)
    chart.rows[meaning.stage.index()].work.push_back({begin, end, Activity::kStepEnd});
  if (meaning.kind == TaskMeaning::kHostUpdate)
    chart.rows[meaning.stage.index()].communication.push_back({begin, end, Activity::kHostCopy});
  if (meaning.kind != TaskMeaning::kCommunication) return;

  const step::Communication& row = *workload.communication_of(meaning);
  if (is_message(row.purpose) || row.purpose == step::Purpose::kMovedActivations) {
    chart.rows[meaning.stage.index()].communication.push_back(
        {begin, end, Activity::kMessage, meaning.microbatch, meaning.chunk});
    return;
  }
  if (row.purpose == step::Purpose::kHostCopy) {
    chart.rows[meaning.stage.index()].communication.push_back(
        {begin, end, Activity::kHostCopy, meaning.microbatch, meaning.chunk});
    return;
  }
  for (const Stage stage : ids<Stage>(chart.rows.size()))
    if (row.involves(stage)) chart.rows[stage.index()].communication.push_back({begin, end, Activity::kDataParallel});
}

bool shows(const Gantt& chart, Activity activity) {
  return std::any_of(chart.rows.begin(), chart.rows.end(), [&](const GanttRow& row) {
    return std::any_of(row.work.begin(), row.work.end(), [&](const GanttBar& bar) { return bar.activity == activity; });
  });
}

bool starts_before(const GanttBar& a, const GanttBar& b) { return a.begin < b.begin; }

}  // namespace

Activity activity_of(schedule::OpKind kind) {
  switch (kind) {
    case schedule::OpKind::kForward:
    case schedule::OpKind::kPairedForward:
      return Activity::kForward;
    case schedule::OpKind::kBackward:
    case schedule::OpKind::kPairedBackward:
      return Activity::kBackward;
    case schedule::OpKind::kBackwardInput:
      return Activity::kBackwardInput;
    case schedule::OpKind::kBackwardWeight:
      return Activity::kBackwardWeight;
    case schedule::OpKind::kRecompute:
      return Activity::kRecompute;
    case schedule::OpKind::kSendAway:
    case schedule::OpKind::kBringBack:
      return Activity::kMessage;
    case schedule::OpKind::kUpdate:
      return Activity::kStepEnd;
  }
  contract_broken("every kind of op is drawn", __FILE__, __LINE__);
}

Gantt gantt_of(const step::Workload& workload, const des::RunResult& run, std::string title) {
  Gantt chart{.title = std::move(title), .rows = {}, .length = run.makespan - des::Instant{}};
  for (const Stage stage : workload.passes.ids()) {
    GanttRow& row = chart.rows.emplace_back();
    row.label = fmt::format("stage {}", stage.number());
    for (const step::PassTasks& pass : workload.passes[stage]) {
      row.work.push_back({run.start[pass.first.value], run.end[pass.last.value], activity_of(pass.op.kind),
                          pass.op.microbatch, pass.op.chunk});
      chart.chunks = std::max(chart.chunks, pass.op.chunk.number() + 1);
    }
  }
  for (std::size_t task = 0; task < workload.meaning.size(); ++task)
    if (run.end[task] > run.start[task]) add_task(chart, workload.meaning[task], workload, run, task);
  for (GanttRow& row : chart.rows) {
    std::stable_sort(row.work.begin(), row.work.end(), starts_before);
    std::stable_sort(row.communication.begin(), row.communication.end(), starts_before);
  }
  return chart;
}

bool copies_to_host(std::span<const Gantt> charts) {
  const auto copies = [](const GanttRow& row) {
    return std::ranges::any_of(row.communication,
                               [](const GanttBar& bar) { return bar.activity == Activity::kHostCopy; });
  };
  return std::ranges::any_of(charts, [&](const Gantt& chart) { return std::ranges::any_of(chart.rows, copies); });
}

std::vector<PassKind> passes_in(std::span<const Gantt> charts) {
  std::vector<PassKind> kinds;
  for (const schedule::OpTraits& one : schedule::kOpTraits) {
    if (!one.is_pass || schedule::unpaired(one.kind) != one.kind) continue;  // pairs look like their passes
    const Activity activity = activity_of(one.kind);
    if (std::any_of(charts.begin(), charts.end(), [&](const Gantt& chart) { return shows(chart, activity); }))
      kinds.push_back({activity, one.name});
  }
  return kinds;
}

}  // namespace foretoken::report
