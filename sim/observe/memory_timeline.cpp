// Replays the schedule and counts the live bytes of every pipeline stage.
#include "sim/observe/memory_timeline.h"

#include <algorithm>

#include "sim/schedule/program_counts.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::observe {
namespace {

// Runs the ops of one stage one after the other, and calls `see` at every change of its live bytes.
template <class See>
class StageWalk {
 public:
  StageWalk(Table<Chunk, step::PassMemory> memory, Bytes kept, See see)
      : see_(std::move(see)), memory_(std::move(memory)), stored_(kept) {}

  void run(const schedule::StageOp& op, des::Instant start, des::Instant end) {
    const step::PassMemory& memory = memory_[op.chunk];
    const schedule::OpTraits& kind = schedule::traits(op.kind);
    if (!kind.is_pass) return move(kind, memory, end);
    last_end_ = end;
    switch (kind.stash) {
      case schedule::Stash::kStores:
        stored_ += memory.stash;
        see_(start, stored_, Bytes(0), ++alive_);
        break;
      case schedule::Stash::kKeeps:
        // The tensors that wait for weights grow as the stash is freed. Where they are larger, the last layer has most.
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
  // Activations leave for a partner, or come back.
  void move(const schedule::OpTraits& kind, const step::PassMemory& memory, des::Instant end) {
    const bool comes = kind.stash == schedule::Stash::kStores;
    stored_ += (comes ? 1.0 : -1.0) * memory.stash;
    see_(std::max(end, last_end_), stored_, Bytes(0), alive_ += comes ? 1 : -1);
  }

  static Bytes waiting_more(const schedule::OpTraits& kind, const step::PassMemory& memory) {
    return kind.makes.has(schedule::Result::kInputGradient) ? memory.for_weights - memory.stash : Bytes(0);
  }

  See see_;
  Table<Chunk, step::PassMemory> memory_;
  Bytes stored_;
  int alive_ = 0;
  des::Instant last_end_;  // of a pass: activations come back beside one
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

Bytes kept_for_partner(const job::Job& job, const step::JobMemory& memory, const schedule::Program& program,
                       Stage stage) {
  if (!job.schedule.moves_activations) return Bytes(0);
  const Stage twin = step::twin_of(job, stage);
  return static_cast<double>(schedule::peak_away(program.stages[twin])) * memory.of_pass(twin, Chunk{0}).stash;
}

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
    StageWalk walk(chunks, kept_for_partner(job, memory, step.program, stage),
                   [&](des::Instant at, Bytes stored, Bytes transient, int alive) {
                     add_point(timeline, {at, stored, transient}, alive);
                   });
    auto pass = step.workload.passes[stage].begin();
    auto move = step.workload.moves[stage].begin();
    for (const schedule::StageOp& op : step.program.stages[stage]) {
      if (op.kind == schedule::OpKind::kUpdate) continue;  // the weights stay where they are
      const step::PassTasks& tasks = schedule::traits(op.kind).is_pass ? *pass++ : *move++;
      walk.run(op, run.start[tasks.first.value], run.end[tasks.last.value]);
    }
    if (memory.of_update(stage) > Bytes(0) && !timeline.points.empty())
      add_point(timeline, {timeline.points.back().at, Bytes(0), memory.of_update(stage)}, 0);
  }
  return timelines;
}

Bytes peak_live_bytes(const step::JobMemory& memory, Stage stage, const schedule::StageProgram& ops, Bytes kept) {
  Bytes peak;
  StageWalk walk(memory.of_passes(stage), kept,
                 [&](des::Instant, Bytes stored, Bytes transient, int) { peak = std::max(peak, stored + transient); });
  for (const schedule::StageOp& op : ops)
    if (op.kind != schedule::OpKind::kUpdate) walk.run(op, {}, {});
  return std::max(peak, memory.of_update(stage));
}

}  // namespace foretoken::observe
