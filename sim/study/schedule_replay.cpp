// The same lowering and the same engine as a simulated step, with durations that the user gives.
#include "sim/study/schedule_replay.h"

#include <algorithm>

#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::study {
namespace {

using des::Duration;
using des::Instant;

double ratio(Duration part, Duration whole) {
  return whole.ps == 0 ? 0 : static_cast<double>(part.ps) / static_cast<double>(whole.ps);
}

void measure(Replay& replay) {
  bool seen = false;
  Instant first, last;
  for (const auto& passes : replay.workload.passes) {
    Duration work;
    for (const step::PassTasks& pass : passes) {
      const Instant begin = replay.run.start[pass.first.value], end = replay.run.end[pass.last.value];
      first = seen ? std::min(first, begin) : begin;
      last = seen ? std::max(last, end) : end;
      seen = true;
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
  const std::size_t stages = program.size();
  step::add_stage_streams(result.workload, static_cast<int>(stages));
  const auto passes = step::fixed_passes(
      {.forward = std::vector(stages, times.forward), .backward = std::vector(stages, times.backward)});
  const step::PipelineOptions options{
      .chunks = static_cast<int>(times.forward.size()),
      .style = times.blocking ? step::MessageStyle::kBlocking : step::MessageStyle::kLatency,
      .messages = {.forward = std::vector(stages, times.message), .backward = std::vector(stages, times.message)},
      .gates = {}};
  (void)step::lower_pipeline(result.workload, program, options, *passes);
  result.run = des::run(result.workload.graph);
  if (result.run.stuck.empty()) measure(result);
  return result;
}

}  // namespace foretoken::study
