// How slow GPUs stretch the tasks that they take part in.
#include "sim/lowering/speeds.h"

#include <algorithm>
#include <cmath>

namespace foretoken::lowering {
namespace {

// The part of a task that its GPU computes; the rest is communication or the host.
double compute_share(const Meaning& meaning, const Passes& passes) {
  switch (meaning.kind) {
    case TaskMeaning::kForward:
    case TaskMeaning::kBackward: {
      if (meaning.op != nullptr) return meaning.op->stream == OpStream::kCompute ? 1 : 0;
      const auto phase = meaning.kind == TaskMeaning::kForward ? schedule::Phase::kForward : schedule::Phase::kBackward;
      const PassTiming& timing = passes.timing(meaning.stage, meaning.chunk, phase);
      return timing.total.ps == 0 ? 0 : static_cast<double>(timing.compute.ps) / static_cast<double>(timing.total.ps);
    }
    case TaskMeaning::kOptimizer:
      return 1;
    default:
      return 0;
  }
}

}  // namespace

Speeds::Speeds(const Scenario& scenario) : ranks_a_stage_(scenario.gpus / scenario.parallelism.pipeline) {
  const Imperfections& what = scenario.imperfections;
  if (what.slow_gpus.empty()) return;
  slowdown_.assign(static_cast<std::size_t>(scenario.gpus), 1);
  for (int rank = 0; rank < scenario.gpus; ++rank)
    for (const SlowGpu& slow : what.slow_gpus)
      if (slow.gpu == what.gpu_of(rank)) slowdown_[static_cast<std::size_t>(rank)] *= slow.slowdown;
}

des::Duration Speeds::stretch(des::Duration duration, const Meaning& meaning, const Passes& passes,
                              std::span<const int> members) const {
  if (slowdown_.empty()) return duration;
  double worst = 0;
  for (const int member : members)
    worst = std::max(worst, slowdown_[static_cast<std::size_t>(meaning.stage * ranks_a_stage_ + member)]);
  const double factor = 1 + (worst - 1) * compute_share(meaning, passes);
  return {std::llround(static_cast<double>(duration.ps) * factor)};
}

}  // namespace foretoken::lowering
