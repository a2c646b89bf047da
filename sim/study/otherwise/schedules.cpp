// Predicts the same job with other pipeline schedules.
#include "sim/study/otherwise/schedules.h"

#include <algorithm>
#include <utility>

#include "sim/schedule/catalogue.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Key;

TriedSchedule try_schedule(const ScenarioSource& source, std::span<const std::string> sets, ScheduleChoice choice,
                           const trust::Evidence& evidence) {
  TriedSchedule tried{.choice = std::move(choice), .metrics = {}, .chart = {}, .impossible = {}};
  job::Patch patch = {{Key::kVirtualPipeline, std::int64_t{tried.choice.chunks}}};
  // A schedule from a file, or one to be made, is the scenario's own, which states it.
  if (!tried.choice.schedule.only_shape && !tried.choice.schedule.made)
    patch.push_back({Key::kSchedule, tried.choice.schedule});
  if (tried.choice.chunks == 1) patch.push_back({Key::kMicrobatchGroup, {}});
  try {
    Prediction prediction = predict(source.read(sets, patch), {.advice = true, .interval = IntervalQuestion{evidence}});
    tried.metrics = std::move(prediction.metrics);
    tried.chart = report::gantt_of(prediction.step.workload, prediction.run, tried.choice.label);
  } catch (const ConfigError& error) {
    tried.impossible = error.complaints();
  }
  return tried;
}

}  // namespace

bool is_of(const ScheduleChoice& choice, const job::Job& job) {
  return choice.schedule.name == job.schedule.name && choice.chunks == job.parallelism.virtual_pipeline;
}

std::vector<ScheduleChoice> usual_schedules(const job::Job& job) {
  std::vector<ScheduleChoice> choices;
  for (const auto& [name, chunks] : {std::pair{"gpipe", 1},
                                     {"1f1b", 1},
                                     {"zb-h1", 1},
                                     {"interleaved-1f1b", 2},
                                     {"zb-v", 2},
                                     {"v-half", 2},
                                     {"interleaved-1f1b", 4}})
    choices.push_back({.label = {}, .schedule = schedule::schedule_named(name), .chunks = chunks});
  if (std::none_of(choices.begin(), choices.end(), [&](const ScheduleChoice& each) { return is_of(each, job); }))
    choices.push_back({.label = {}, .schedule = job.schedule, .chunks = job.parallelism.virtual_pipeline});
  std::stable_sort(choices.begin(), choices.end(),
                   [](const ScheduleChoice& a, const ScheduleChoice& b) { return a.chunks < b.chunks; });
  return choices;
}

std::vector<TriedSchedule> try_schedules(const ScenarioSource& source, std::span<const std::string> sets,
                                         const job::Job& base, const std::vector<ScheduleChoice>& choices,
                                         const trust::Evidence& evidence, const Watch& watch) {
  std::vector<TriedSchedule> all;
  watch.show(0, choices.size());
  for (const ScheduleChoice& choice : choices) {
    if (watch.stopped()) break;
    all.push_back(try_schedule(source, sets, choice, evidence));
    all.back().is_own = is_of(choice, base);
    watch.show(all.size(), choices.size());
  }
  return all;
}

std::optional<std::size_t> fastest(std::span<const TriedSchedule> tried) {
  const auto key = [](const report::Metrics& metrics) { return std::pair(!metrics.memory.fits, metrics.step_time); };
  std::optional<std::size_t> best;
  for (std::size_t at = 0; at < tried.size(); ++at)
    if (tried[at].metrics && (!best || key(*tried[at].metrics) < key(*tried[*best].metrics))) best = at;
  return best;
}

}  // namespace foretoken::study
