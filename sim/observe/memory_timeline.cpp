// Live bytes of every pipeline stage as the schedule is replayed.
#include "sim/observe/memory_timeline.h"

#include <algorithm>

#include "sim/lowering/memory.h"

namespace foretoken::observe {
namespace {

using schedule::Phase;

// Walks the passes of one stage; they run one after the other.
class StageWalk {
 public:
  StageWalk(const lowering::Scenario& scenario, int stage, std::size_t passes) {
    timeline_.points.reserve(passes + passes / 2);  // one a forward pass, two a backward pass
    for (int chunk = 0; chunk < scenario.parallelism.virtual_pipeline; ++chunk)
      memory_.push_back(lowering::pass_memory(scenario, stage, chunk));
  }

  void forward(int chunk, des::Instant start) {
    stored_ += memory_[static_cast<std::size_t>(chunk)].stash;
    ++alive_;
    point(start, Bytes(0));
  }

  void backward(int chunk, des::Instant start, des::Instant end) {
    const lowering::PassMemory& memory = memory_[static_cast<std::size_t>(chunk)];
    point(start, memory.transient);
    stored_ += -1.0 * memory.stash;
    --alive_;
    point(end, Bytes(0));
  }

  [[nodiscard]] StageTimeline take() { return std::move(timeline_); }

 private:
  void point(des::Instant at, Bytes transient) {
    timeline_.points.push_back({at, stored_, transient});
    timeline_.most_chunks = std::max(timeline_.most_chunks, alive_);
    if (stored_ + transient <= timeline_.peak) return;
    timeline_.peak = stored_ + transient;
    timeline_.activations_at_peak = stored_;
    timeline_.transient_at_peak = transient;
    timeline_.chunks_at_peak = alive_;
  }

  std::vector<lowering::PassMemory> memory_;  // by chunk
  Bytes stored_;
  int alive_ = 0;
  StageTimeline timeline_;
};

}  // namespace

std::vector<StageTimeline> memory_timelines(const lowering::Scenario& scenario, const lowering::LoweredStep& step,
                                            const des::RunResult& run) {
  std::vector<StageTimeline> timelines;
  for (std::size_t stage = 0; stage < step.workload.passes.size(); ++stage) {
    StageWalk walk(scenario, static_cast<int>(stage), step.workload.passes[stage].size());
    for (const lowering::PassTasks& pass : step.workload.passes[stage]) {
      const des::Instant start = run.start[pass.first.value], end = run.end[pass.last.value];
      if (pass.op.phase == Phase::kForward)
        walk.forward(pass.op.chunk, start);
      else
        walk.backward(pass.op.chunk, start, end);
    }
    timelines.push_back(walk.take());
  }
  return timelines;
}

}  // namespace foretoken::observe
