// Sums the tasks of one stage as timers do.
#include "sim/observe/rank_timers.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/program.h"

namespace foretoken::observe {
namespace {

using step::Purpose;
using step::TaskMeaning;

bool reduces_gradients(Purpose purpose) {
  return purpose == Purpose::kGradients || purpose == Purpose::kNormGradients || purpose == Purpose::kTiedEmbedding ||
         purpose == Purpose::kCopyGradients;
}

}  // namespace

RankTimers rank_timers(const step::LoweredStep& step, const des::RunResult& run, Stage stage) {
  expects(!step.steady, "a schedule without a flush has no end of a step");
  const step::Workload& workload = step.workload;
  RankTimers timers;
  des::Instant last_pass, reduced, update_start = des::kNever, update_end;
  for (const step::PassTasks& pass : workload.passes[stage]) {
    const des::Instant from = run.start[pass.first.value], to = run.end[pass.last.value];
    const bool forward = pass.op.kind == schedule::OpKind::kForward;
    (forward ? timers.forward : timers.backward) += des::to_seconds(to - from);
    last_pass = std::max(last_pass, to);
  }
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    if (meaning.stage != stage) continue;
    const step::Communication* row = workload.communication_of(meaning);
    if (meaning.kind == TaskMeaning::kOptimizer) update_start = std::min(update_start, run.start[task]);
    if (meaning.kind == TaskMeaning::kOptimizer || meaning.kind == TaskMeaning::kStepOverhead)
      update_end = std::max(update_end, run.end[task]);
    if (meaning.kind == TaskMeaning::kCommunication && row != nullptr && reduces_gradients(row->purpose))
      reduced = std::max(reduced, run.end[task]);
  }
  for (std::size_t task = 0; task < workload.meaning.size(); ++task) {
    const step::Meaning& meaning = workload.meaning[task];
    const step::Communication* row = workload.communication_of(meaning);
    if (meaning.stage != stage || row == nullptr || row->purpose != Purpose::kParameters) continue;
    if (run.start[task] < update_start) continue;  // beside the passes
    timers.parameters += des::to_seconds(run.end[task] - run.start[task]);
    update_end = std::max(update_end, run.end[task]);
  }
  const des::Instant ready = std::max(last_pass, reduced);
  timers.forward_backward = des::to_seconds(ready - des::Instant{});
  timers.gradients = des::to_seconds(ready - last_pass);
  if (update_start != des::kNever && update_end > update_start)
    timers.optimizer = des::to_seconds(update_end - update_start);
  return timers;
}

}  // namespace foretoken::observe
