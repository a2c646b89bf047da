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
        see_(start, stored_, memory.transient - memory.returned + std::max(memory.returned, waiting_more(kind, memory)),
             alive_);
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

namespace {

// The most activations of the second kind that were alive with each number of the first, if a moment had that number.
class AliveTogether {
 public:
  void see(const std::array<int, 2>& alive) {
    const auto first = static_cast<std::size_t>(alive[0]);
    if (first >= second_.size()) second_.resize(2 * first + 1);
    second_[first] = std::max(second_[first].value_or(0), alive[1]);
  }
  // Returns the moments that no other outdoes.
  [[nodiscard]] std::vector<MostAlive::Moment> most() const {
    std::vector<MostAlive::Moment> moments;
    std::optional<int> before;
    for (std::size_t first = second_.size(); first-- > 0;) {
      if (second_[first] <= before) continue;  // no number is less than any
      before = second_[first];
      moments.push_back({static_cast<int>(first), *before});
    }
    return moments;
  }

 private:
  std::vector<std::optional<int>> second_;  // by number of the first kind
};

}  // namespace

std::optional<MostAlive> most_alive(const schedule::Program& program, const std::vector<Stage>& stages,
                                    Table<Chunk, std::size_t> kinds) {
  std::array<AliveTogether, 2> at_backward;
  for (const Stage stage : stages) {
    std::array<int, 2> alive{};
    for (const schedule::StageOp& op : program.stages[stage]) {
      if (op.kind == schedule::OpKind::kUpdate) continue;
      const schedule::OpTraits& traits = schedule::traits(op.kind);
      const bool whole =
          traits.makes.has(schedule::Result::kOutput) ||
          (traits.makes.has(schedule::Result::kInputGradient) && traits.makes.has(schedule::Result::kWeightGradient));
      if (!traits.is_pass || !whole) return std::nullopt;
      const std::size_t kind = kinds[op.chunk];
      if (traits.stash == schedule::Stash::kStores) {
        ++alive[kind];
      } else {
        at_backward[kind].see(alive);
        --alive[kind];
      }
    }
    if (alive != std::array<int, 2>{}) return std::nullopt;  // a forward pass without a backward pass
  }
  return MostAlive{.kinds = std::move(kinds), .at_backward = {at_backward[0].most(), at_backward[1].most()}};
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
  std::array<const step::PassMemory*, 2> of_kind{};
  for (const Chunk chunk : chunks.ids()) {
    const step::PassMemory*& known = of_kind[most.kinds[chunk]];
    if (known == nullptr) known = &chunks[chunk];
    if (chunks[chunk].stash != known->stash || chunks[chunk].transient != known->transient) return std::nullopt;
  }
  std::array<Bytes, 2> stash;
  Bytes peak;
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind) {
    if (of_kind[kind] == nullptr) continue;
    stash[kind] = of_kind[kind]->stash;
    for (const Bytes bytes : {of_kind[kind]->stash, of_kind[kind]->transient})
      if (std::floor(bytes.value()) != bytes.value()) return std::nullopt;
  }
  for (std::size_t kind = 0; kind < of_kind.size(); ++kind)
    for (const MostAlive::Moment& moment : most.at_backward[kind])
      peak = std::max(peak, static_cast<double>(moment.first) * stash[0] +
                                static_cast<double>(moment.second) * stash[1] + of_kind[kind]->transient);
  if (peak.value() >= kAllWhole) return std::nullopt;
  return peak;
}

}  // namespace foretoken::observe
