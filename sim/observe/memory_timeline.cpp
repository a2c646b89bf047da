// Replays the schedule and counts the live bytes of every pipeline stage.
#include "sim/observe/memory_timeline.h"

#include <algorithm>

namespace foretoken::observe {
namespace {

// Runs the ops of one stage one after the other, and calls `see` at every change of its live bytes.
template <class See>
class StageWalk {
 public:
  StageWalk(Table<Chunk, step::PassMemory> memory, See see) : see_(std::move(see)), memory_(std::move(memory)) {}

  void run(const schedule::StageOp& op, des::Instant start, des::Instant end) {
    const step::PassMemory& memory = memory_[op.chunk];
    const schedule::OpTraits& kind = schedule::traits(op.kind);
    switch (kind.stash) {
      case schedule::Stash::kStores:
        stored_ += memory.stash;
        see_(start, stored_, Bytes(0), ++alive_);
        break;
      case schedule::Stash::kKeeps:
        // What waits for weights grows as the stash is freed. Where it is the larger one, the last layer has most.
        see_(start, stored_, memory.transient + std::max(Bytes(0), waiting_more(kind, memory)), alive_);
        stored_ += waiting_more(kind, memory);
        see_(end, stored_, Bytes(0), alive_);
        break;
      case schedule::Stash::kFrees:
        const bool second_part =
            !kind.makes.has(schedule::Result::kInputGradient) && kind.makes.has(schedule::Result::kWeightGradient);
        see_(start, stored_, second_part ? Bytes(0) : memory.transient, alive_);
        stored_ += -1.0 * (second_part ? memory.for_weights : memory.stash);
        see_(end, stored_, Bytes(0), --alive_);
        break;
    }
  }

 private:
  static Bytes waiting_more(const schedule::OpTraits& kind, const step::PassMemory& memory) {
    return kind.makes.has(schedule::Result::kInputGradient) ? memory.for_weights - memory.stash : Bytes(0);
  }

  See see_;
  Table<Chunk, step::PassMemory> memory_;
  Bytes stored_;
  int alive_ = 0;
};

void add_point(StageTimeline& timeline, const MemoryPoint& point, int alive) {
  timeline.points.push_back(point);
  timeline.most_chunks = std::max(timeline.most_chunks, alive);
  if (point.activations + point.transient <= timeline.peak) return;
  timeline.peak = point.activations + point.transient;
  timeline.activations_at_peak = point.activations;
  timeline.transient_at_peak = point.transient;
  timeline.chunks_at_peak = alive;
}

}  // namespace

PerStage<StageTimeline> memory_timelines(const job::Job& job, const step::LoweredStep& step,
                                         const des::RunResult& run) {
  const step::JobMemory memory(job);
  PerStage<StageTimeline> timelines;
  for (const Stage stage : step.workload.passes.ids()) {
    StageTimeline& timeline = timelines.emplace_back();
    const Table<Chunk, step::PassMemory> chunks = memory.of_passes(stage);
    for (const step::PassMemory& chunk : chunks) timeline.stored.push_back(chunk.stash);
    const std::size_t passes = step.workload.passes[stage].size();
    timeline.points.reserve(passes + passes / 2);  // one a forward pass, two a backward pass
    StageWalk walk(chunks, [&](des::Instant at, Bytes stored, Bytes transient, int alive) {
      add_point(timeline, {at, stored, transient}, alive);
    });
    for (const step::PassTasks& pass : step.workload.passes[stage]) {
      walk.run(pass.op, run.start[pass.first.value], run.end[pass.last.value]);
    }
  }
  return timelines;
}

Bytes peak_live_bytes(const step::JobMemory& memory, Stage stage, const schedule::StageProgram& ops) {
  Bytes peak;
  StageWalk walk(memory.of_passes(stage),
                 [&](des::Instant, Bytes stored, Bytes transient, int) { peak = std::max(peak, stored + transient); });
  for (const schedule::StageOp& op : ops) walk.run(op, {}, {});
  return peak;
}

}  // namespace foretoken::observe
