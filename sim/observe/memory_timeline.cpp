// Replays the schedule and counts the live bytes of every pipeline stage.
#include "sim/observe/memory_timeline.h"

#include <algorithm>
#include <cmath>
#include <utility>

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

void take_peak(StageTimeline& timeline, Bytes activations, Bytes transient, int alive) {
  timeline.most_chunks = std::max(timeline.most_chunks, alive);
  if (activations + transient <= timeline.peak) return;
  timeline.peak = activations + transient;
  timeline.activations_at_peak = activations;
  timeline.transient_at_peak = transient;
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
                     timeline.points.push_back({at, stored, transient});
                     take_peak(timeline, stored, transient, alive);
                   });
    auto pass = step.workload.passes[stage].begin();
    auto move = step.workload.moves[stage].begin();
    for (const schedule::StageOp& op : step.program.stages[stage]) {
      if (op.kind == schedule::OpKind::kUpdate) continue;  // the weights stay where they are
      const step::PassTasks& tasks = schedule::traits(op.kind).is_pass ? *pass++ : *move++;
      walk.run(op, run.start[tasks.first.value], run.end[tasks.last.value]);
    }
    if (const Bytes update = memory.of_update(stage); update > Bytes(0) && !timeline.points.empty()) {
      timeline.points.push_back({timeline.points.back().at, Bytes(0), update});
      take_peak(timeline, Bytes(0), update, 0);
    }
  }
  return timelines;
}

PerStage<StageTimeline> memory_peaks(const job::Job& job, const schedule::Program& program) {
  const step::JobMemory memory(job);
  PerStage<StageTimeline> timelines;
  for (const Stage stage : program.stages.ids()) {
    StageTimeline& timeline = timelines.emplace_back();
    const Table<Chunk, step::PassMemory> chunks = memory.of_passes(stage);
    for (const step::PassMemory& chunk : chunks) timeline.stored.push_back(chunk.stash);
    StageWalk walk(
        chunks, kept_for_partner(job, memory, program, stage),
        [&](des::Instant, Bytes stored, Bytes transient, int alive) { take_peak(timeline, stored, transient, alive); });
    for (const schedule::StageOp& op : program.stages[stage])
      if (op.kind != schedule::OpKind::kUpdate) walk.run(op, {}, {});
    take_peak(timeline, Bytes(0), memory.of_update(stage), 0);
  }
  return timelines;
}

std::optional<MostAlive> most_alive(const schedule::StageProgram& ops) {
  MostAlive most;
  int alive = 0;
  for (const schedule::StageOp& op : ops) {
    if (op.kind == schedule::OpKind::kUpdate) continue;
    const schedule::OpTraits& kind = schedule::traits(op.kind);
    const bool whole = kind.makes.has(schedule::Result::kOutput) || (kind.makes.has(schedule::Result::kInputGradient) &&
                                                                     kind.makes.has(schedule::Result::kWeightGradient));
    if (!kind.is_pass || !whole) return std::nullopt;
    if (kind.stash == schedule::Stash::kStores)
      most.stored = std::max(most.stored, ++alive);
    else
      most.at_backward = std::max(most.at_backward, alive--);
  }
  return most;
}

Bytes peak_live_bytes(const Table<Chunk, step::PassMemory>& chunks, const schedule::StageProgram& ops, Bytes kept) {
  Bytes peak;
  StageWalk walk(chunks, kept,
                 [&](des::Instant, Bytes stored, Bytes transient, int) { peak = std::max(peak, stored + transient); });
  for (const schedule::StageOp& op : ops)
    if (op.kind != schedule::OpKind::kUpdate) walk.run(op, {}, {});
  return peak;
}

std::optional<Bytes> peak_live_bytes(const Table<Chunk, step::PassMemory>& chunks, const MostAlive& most) {
  constexpr double kAllWhole = 0x1p53;  // smaller whole numbers, and their sums, are exact
  const step::PassMemory& memory = chunks.front();
  for (const step::PassMemory& chunk : chunks)
    if (chunk.stash != memory.stash || chunk.transient != memory.transient) return std::nullopt;
  for (const Bytes bytes : {memory.stash, memory.transient})
    if (std::floor(bytes.value()) != bytes.value()) return std::nullopt;
  const Bytes peak = std::max(static_cast<double>(most.stored) * memory.stash,
                              static_cast<double>(most.at_backward) * memory.stash + memory.transient);
  if (peak.value() >= kAllWhole) return std::nullopt;
  return peak;
}

}  // namespace foretoken::observe
