// Sums the spans of a trace by kind, and the operations of a simulated stage by the same kinds.
#include "sim/study/diagnose/trace_times.h"

#include <algorithm>
#include <map>

#include "sim/base/intervals.h"
#include "sim/observe/stage_times.h"

namespace foretoken::study {
namespace {

using io::trace::GpuTrace;
using io::trace::kWorks;
using io::trace::Span;
using io::trace::Work;

// The part of a trace that counts, in nanoseconds.
struct Window {
  std::int64_t begin = 0, end = 0;
  std::size_t steps = 1;
};

Window window_of(const GpuTrace& trace) {
  std::int64_t last = 0;
  for (const Span& span : trace.spans) last = std::max(last, span.end);
  if (trace.steps.empty()) return {trace.spans.front().begin, last, 1};
  const std::size_t first = trace.steps.size() > 1 ? 1 : 0;
  return {trace.steps[first].begin, trace.steps.back().end, trace.steps.size() - first};
}

Seconds step_share(std::int64_t nanoseconds, const Window& window) {
  return Seconds(static_cast<double>(nanoseconds) * 1e-9 / static_cast<double>(window.steps));
}

void add_gaps(std::vector<Interval> busy, const Window& window, TraceTimes& times) {
  constexpr std::int64_t kLeastGap = 10'000;
  std::sort(busy.begin(), busy.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  busy.push_back({window.end, window.end});
  std::int64_t until = window.begin, longest = 0;
  std::size_t gaps = 0;
  for (const Interval& each : busy) {
    if (each.begin - until >= kLeastGap) ++gaps;
    longest = std::max(longest, each.begin - until);
    until = std::max(until, each.end);
  }
  times.gaps = gaps / window.steps;
  times.longest_gap = Seconds(static_cast<double>(longest) * 1e-9);
}

// Sums over the spans of a window.
struct Sums {
  std::array<std::int64_t, kWorks> time{};
  std::array<std::size_t, kWorks> kernels{};
  std::map<std::uint32_t, std::pair<std::int64_t, std::size_t>> other;  // by name
  std::vector<Interval> compute, communication, all;
};

Sums sums_in(const GpuTrace& trace, const Window& window) {
  Sums sums;
  for (const Span& span : trace.spans) {
    const Interval part{std::max(span.begin, window.begin), std::min(span.end, window.end)};
    if (part.end <= part.begin) continue;
    const auto work = static_cast<std::size_t>(span.work);
    sums.time[work] += part.end - part.begin;
    ++sums.kernels[work];
    (span.work == Work::kCommunication ? sums.communication : sums.compute).push_back(part);
    sums.all.push_back(part);
    if (span.work != Work::kOther) continue;
    auto& [time, kernels] = sums.other[span.name];
    time += part.end - part.begin;
    ++kernels;
  }
  return sums;
}

// The kind of an operation of the model. Gradients are added up by elementwise kernels.
Work work_of_op(const step::TimedOp& op) {
  using model::OpRole;
  if (op.axis || op.communication) return Work::kCommunication;
  switch (op.role) {
    case OpRole::kLinear:
    case OpRole::kHead:
      return Work::kProduct;
    case OpRole::kAttention:
      return Work::kAttention;
    case OpRole::kNorm:
      return Work::kNorm;
    case OpRole::kEmbedding:
      return Work::kEmbedding;
    case OpRole::kLoss:
      return Work::kLoss;
    case OpRole::kRouting:
      return Work::kRouting;
    case OpRole::kComm:
      return Work::kCommunication;
    case OpRole::kActivation:
    case OpRole::kElementwise:
    case OpRole::kAccumulate:
      break;
  }
  return Work::kElementwise;
}

Stage stage_of_trace(const Prediction& prediction, const GpuTrace& trace) {
  const job::Job& job = prediction.job;
  if (!trace.rank || *trace.rank < 0 || *trace.rank >= job.gpus) return prediction.observations.busiest_stage;
  return job.grid().stage_of(Rank{static_cast<std::uint32_t>(*trace.rank)});
}

// Returns the communication of a stage that nothing hides.
Seconds exposed_on(Stage stage, const Prediction& prediction) {
  Seconds exposed;
  if (stage == prediction.observations.busiest_stage) {
    for (const auto& [axis, name] : kAxisNames) exposed += prediction.metrics.time.comm[axis];
    return exposed;
  }
  const observe::StageSplit split = observe::split_of(stage, prediction.step, prediction.run);
  for (const auto& [axis, name] : kAxisNames) exposed += des::to_seconds(split.comm[axis]);
  return prediction.metrics.bias_factor() * exposed;
}

}  // namespace

TraceTimes trace_times(const GpuTrace& trace) {
  const Window window = window_of(trace);
  Sums sums = sums_in(trace, window);
  TraceTimes times;
  times.steps = window.steps;
  times.steps_are_marked = !trace.steps.empty();
  times.step = step_share(window.end - window.begin, window);
  add_gaps(sums.all, window, times);
  Coverage covered, alone;
  times.communicating = step_share(alone.add(sums.communication), window);
  times.computing = step_share(covered.add(std::move(sums.compute)), window);
  times.exposed = step_share(covered.add(std::move(sums.communication)), window);
  times.idle = step_share(window.end - window.begin - covered.covered(), window);
  for (std::size_t work = 0; work < kWorks; ++work)
    if (sums.kernels[work] > 0)
      times.works.push_back({static_cast<Work>(work), sums.kernels[work] / window.steps,
                             step_share(sums.time[work], window), std::nullopt});
  std::stable_sort(times.works.begin(), times.works.end(),
                   [](const WorkTime& a, const WorkTime& b) { return a.measured > b.measured; });
  for (const auto& [name, sum] : sums.other)
    times.other.push_back({trace.names[name], Work::kOther, sum.second / window.steps, step_share(sum.first, window)});
  std::stable_sort(times.other.begin(), times.other.end(),
                   [](const TopKernel& a, const TopKernel& b) { return a.time > b.time; });
  constexpr std::size_t kMostOthers = 5;
  if (times.other.size() > kMostOthers) times.other.resize(kMostOthers);
  return times;
}

PredictedTimes predicted_times(const Prediction& prediction, const GpuTrace& trace) {
  PredictedTimes times;
  times.stage = stage_of_trace(prediction, trace);
  times.step = prediction.metrics.step_time;
  times.microbatches = prediction.job.microbatches();
  std::array<double, kWorks> sums{};
  const step::Workload& workload = prediction.step.workload;
  for (const step::PassTasks& pass : workload.passes[times.stage])
    for (const step::TimedOps* block : prediction.step.passes->blocks(times.stage, pass.op.chunk, pass.op.kind))
      for (const step::TimedOp& op : *block)
        if (op.kind != step::KernelKind::kWait)
          sums[static_cast<std::size_t>(work_of_op(op))] += des::to_seconds(op.duration).value();
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    const double seconds = des::to_seconds(prediction.run.end[task] - prediction.run.start[task]).value();
    // Both ends of a message run a kernel.
    if (meaning.kind == step::TaskMeaning::kCommunication && workload.communication_of(meaning)->involves(times.stage))
      sums[static_cast<std::size_t>(Work::kCommunication)] += seconds;
    if (meaning.kind == step::TaskMeaning::kOptimizer && meaning.stage == times.stage)
      sums[static_cast<std::size_t>(Work::kOptimizer)] += seconds;
  }
  const double steps = prediction.step.steady ? prediction.step.steady->steps() : 1;
  const double factor = prediction.metrics.bias_factor() / steps;
  for (std::size_t work = 0; work < kWorks; ++work)
    if (sums[work] > 0) times.works[work] = Seconds(factor * sums[work]);
  for (const Chunk chunk : ids<Chunk>(prediction.job.parallelism.virtual_pipeline))
    times.layers += prediction.job.layers_in(times.stage, chunk);
  times.exposed = exposed_on(times.stage, prediction);
  return times;
}

}  // namespace foretoken::study
