// Replays a schedule with given durations, by the lowering and the engine of a simulated step.
#include "sim/study/schedule_replay.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/async/versions.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::study {
namespace {

using des::Duration;
using des::Instant;

double ratio(Duration part, Duration whole) {
  return whole.ps == 0 ? 0 : static_cast<double>(part.ps) / static_cast<double>(whole.ps);
}

void measure(Replay& replay) {
  bool any = false;
  Instant first, last;
  for (const auto& passes : replay.workload.passes) {
    Duration work;
    for (const step::PassTasks& pass : passes) {
      const Instant begin = replay.run.start[pass.first.value], end = replay.run.end[pass.last.value];
      first = any ? std::min(first, begin) : begin;
      last = any ? std::max(last, end) : end;
      any = true;
      work += end - begin;
    }
    replay.work = std::max(replay.work, work);
  }
  replay.pipeline = last - first;
}

}  // namespace

double Replay::bubble_fraction() const { return ratio(pipeline - work, work); }
double Replay::bubble_fraction_of_step() const { return ratio(pipeline - work, pipeline); }

Replay replay(const schedule::Program& program, const ReplayTimes& times) {
  Replay result;
  const std::size_t stages = program.stages.size();
  step::add_stage_streams(result.workload, static_cast<int>(stages));
  step::PassDurations durations;
  for (const auto& [kind, by_chunk] : times.passes)
    durations[kind] = Table<Stage, Table<Chunk, Duration>>(stages, by_chunk);
  const auto passes = step::fixed_passes(std::move(durations));
  const Table<Stage, Duration> message(stages, times.message);
  const step::PipelineOptions options{
      .policy = times.blocking ? step::MessagePolicy::kBlocking : step::MessagePolicy::kLatency,
      .messages = {.to_next = message, .to_previous = message}};
  (void)step::lower_pipeline(result.workload, program, options, *passes);
  result.run = des::run(result.workload.graph);
  if (result.run.stuck.empty()) measure(result);
  return result;
}

Duration steady_step(const schedule::Program& program, schedule::PipelineShape shape, const ReplayTimes& times) {
  const schedule::SteadyRun steady = schedule::steady_run(shape);
  const Replay whole = replay(program, times);
  const auto start_of = [&](int steps) {
    for (const step::PassTasks& pass : whole.workload.passes.front())
      if (pass.op.kind == schedule::OpKind::kForward && pass.op.microbatch.number() == steps * shape.microbatches)
        return whole.run.start[pass.first.value];
    contract_broken("every step begins with a forward pass", __FILE__, __LINE__);
  };
  return {(start_of(steady.before + steady.measured) - start_of(steady.before)).ps / steady.measured};
}

}  // namespace foretoken::study
