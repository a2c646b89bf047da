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

// A number for each pass of a GPU, and for the end of its step.
std::uint64_t number_of(const Meaning& meaning) {
  return (std::uint64_t{meaning.microbatch} << 24U) + (std::uint64_t{meaning.chunk} << 8U) +
         static_cast<std::uint64_t>(meaning.kind);
}

}  // namespace

Speeds::Speeds(const Scenario& scenario)
    : scenario_(scenario), ranks_a_stage_(scenario.gpus / scenario.parallelism.pipeline) {
  const Imperfections& what = scenario.imperfections;
  if (what.slow_gpus.empty() && !scenario.stragglers.on) return;
  slowdown_.assign(static_cast<std::size_t>(scenario.gpus), 1);
  if (scenario.stragglers.on)
    for (int rank = 0; rank < scenario.gpus; ++rank)
      slowdown_[static_cast<std::size_t>(rank)] =
          slowness(scenario.stragglers, what.gpu_of(rank), scenario.host_of(what.gpu_of(rank)));
  for (int rank = 0; rank < scenario.gpus; ++rank)
    for (const SlowGpu& slow : what.slow_gpus)
      if (slow.gpu == what.gpu_of(rank)) slowdown_[static_cast<std::size_t>(rank)] *= slow.slowdown;
}

Paced Speeds::paced(des::Duration duration, const Meaning& meaning, const Passes& passes,
                    std::span<const int> members) const {
  const double share = uneven() ? compute_share(meaning, passes) : 0;
  if (share == 0) return {duration};
  double worst = 0;
  Paced paced;
  for (const int member : members) {
    const int rank = meaning.stage * ranks_a_stage_ + member, gpu = scenario_.imperfections.gpu_of(rank);
    const double own = slowdown_[static_cast<std::size_t>(rank)];
    const double factor = own * jitter_of_pass(scenario_.stragglers, gpu, number_of(meaning));
    if (factor <= worst) continue;
    worst = factor;
    paced.rank = own > 1 ? rank : -1;
  }
  paced.duration = {std::llround(static_cast<double>(duration.ps) * (1 + (worst - 1) * share))};
  return paced;
}

}  // namespace foretoken::lowering
