// Checks a program: counts prove completeness, positions prove order, and a replay without times finds deadlocks.
#include "sim/schedule/check_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sim/base/check.h"
#include "sim/base/noun.h"
#include "sim/schedule/op_counts.h"
#include "sim/schedule/op_text.h"

namespace foretoken::schedule {
namespace {

/// Collects the complaints about one program.
class Problems {
 public:
  explicit Problems(PipelineShape shape) : shape_(shape) {}
  [[nodiscard]] std::string name(const StageOp& op) const { return to_text(op, shape_.chunks); }
  void add(Stage stage, const StageOp& op, const std::string& what) {
    texts_.push_back(fmt::format("stage {}: {} {}", stage.number(), name(op), what));
  }
  void add(std::string text) { texts_.push_back(std::move(text)); }
  [[nodiscard]] bool none() const { return texts_.empty(); }
  [[nodiscard]] std::vector<std::string> take() { return std::move(texts_); }

 private:
  PipelineShape shape_;
  std::vector<std::string> texts_;
};

void check_inside(const Program& program, PipelineShape shape, Problems& problems) {
  const OpSlots slots(shape);
  const std::string outside =
      fmt::format("is outside {} and {}", with_noun(shape.microbatches, "micro-batch", "micro-batches"),
                  with_noun(shape.chunks, "chunk"));
  for (const Stage stage : program.stages.ids())
    for (const StageOp& op : program.stages[stage])
      if (!slots.has(op)) problems.add(stage, op, outside);
}

/// Checks completeness of a program whose ops are inside the shape.
class Completeness {
 public:
  Completeness(const Program& program, PipelineShape shape, const OpCounts& counts, Problems& problems)
      : placement_(program.placement), shape_(shape), problems_(problems), counts_(counts) {
    if (placement_.ways() == 1) return;  // no way to choose
    for (const MicroBatch microbatch : ids<MicroBatch>(shape.microbatches)) ways_.push_back(ways_of(microbatch));
  }

  void check() {
    for (const MicroBatch microbatch : ways_.ids())
      if (std::ranges::count(ways_[microbatch], true) > 1)
        problems_.add(fmt::format("micro-batch {} takes more than one way", microbatch.number()));
    for (const Stage stage : ids<Stage>(shape_.stages)) check_stage(stage);
  }

 private:
  // Returns the ways of a micro-batch, or the first way when it has no ops.
  [[nodiscard]] std::vector<bool> ways_of(MicroBatch microbatch) const {
    std::vector<bool> ways(static_cast<std::size_t>(placement_.ways()), false);
    for (const Stage stage : ids<Stage>(shape_.stages))
      for (const Chunk chunk : ids<Chunk>(shape_.chunks))
        if (counts_.any({stage, chunk}, microbatch))
          ways[static_cast<std::size_t>(placement_.way_of({stage, chunk}))] = true;
    if (std::ranges::count(ways, true) == 0) ways.front() = true;
    return ways;
  }

  void check_stage(Stage stage) {
    const auto for_each = [&](auto&& check_one) {
      for (const Chunk chunk : ids<Chunk>(shape_.chunks))
        for (const MicroBatch microbatch : ids<MicroBatch>(shape_.microbatches))
          check_one(Place{stage, chunk}, microbatch);
    };
    for_each([&](Place at, MicroBatch microbatch) { expect_once(at, OpKind::kForward, microbatch); });
    for_each([&](Place at, MicroBatch microbatch) { check_backward(at, microbatch); });
    for (const OpKind kind : {OpKind::kRecompute, OpKind::kSendAway, OpKind::kBringBack, OpKind::kUpdate})
      if (counts_.any(kind))
        for_each([&](Place at, MicroBatch microbatch) { expect_at_most_once(at, kind, microbatch); });
  }

  void check_backward(Place at, MicroBatch microbatch) {
    const auto times = [&](OpKind kind) { return times_of(at, kind, microbatch); };
    if (!has_parts_ || times(OpKind::kBackwardInput) + times(OpKind::kBackwardWeight) == 0) {
      expect_once(at, OpKind::kBackward, microbatch);
      return;
    }
    if (times(OpKind::kBackward) > 0)
      problems_.add(at.stage, {OpKind::kBackward, microbatch, at.chunk}, "appears beside one of its parts");
    expect_once(at, OpKind::kBackwardInput, microbatch);
    expect_once(at, OpKind::kBackwardWeight, microbatch);
  }

  void expect_once(Place at, OpKind kind, MicroBatch microbatch) {
    const bool comes_here = ways_.empty() || ways_[microbatch][static_cast<std::size_t>(placement_.way_of(at))];
    if (comes_here && times_of(at, kind, microbatch) == 0)
      problems_.add(at.stage, {kind, microbatch, at.chunk}, "is missing");
    expect_at_most_once(at, kind, microbatch);
  }

  void expect_at_most_once(Place at, OpKind kind, MicroBatch microbatch) {
    const int found = times_of(at, kind, microbatch);
    if (found > 1) problems_.add(at.stage, {kind, microbatch, at.chunk}, fmt::format("appears {} times", found));
  }

  // Counts an op and, of a pass, the same pass in a pair.
  [[nodiscard]] int times_of(Place at, OpKind kind, MicroBatch microbatch) const {
    int times = counts_.times(at, kind, microbatch);
    if (!has_pairs_) return times;
    for (const OpKind paired : {OpKind::kPairedForward, OpKind::kPairedBackward})
      if (unpaired(paired) == kind) times += counts_.times(at, paired, microbatch);
    return times;
  }

  const Placement& placement_;
  PipelineShape shape_;
  Problems& problems_;
  const OpCounts& counts_;
  bool has_pairs_ = counts_.any(OpKind::kPairedForward) || counts_.any(OpKind::kPairedBackward);
  bool has_parts_ = counts_.any(OpKind::kBackwardInput) || counts_.any(OpKind::kBackwardWeight);
  Table<MicroBatch, std::vector<bool>> ways_;  // of each micro-batch; empty where there is one way only
};

/// Checks that both passes of every pair stand beside each other, and that neither makes what the other needs.
void check_pairs(const Program& program, Problems& problems) {
  for (const Stage stage : program.stages.ids()) {
    const StageProgram& ops = program.stages[stage];
    for (std::size_t at = 0; at < ops.size(); ++at) {
      if (ops[at].kind == OpKind::kPairedBackward) problems.add(stage, ops[at], "follows no forward of its pair");
      if (ops[at].kind != OpKind::kPairedForward) continue;
      if (at + 1 == ops.size() || ops[at + 1].kind != OpKind::kPairedBackward) {
        problems.add(stage, ops[at], "comes before no backward of its pair");
        continue;
      }
      const StageOp& backward = ops[++at];
      if (backward.chunk == ops[at - 1].chunk && backward.microbatch == ops[at - 1].microbatch)
        problems.add(stage, backward, "is in a pair with its own forward");
    }
  }
}

/// Records the results of the earlier passes, in a replay without times.
class Made {
 public:
  explicit Made(PipelineShape shape) : slots_(shape), made_(slots_.places()) {}
  void run(Stage stage, const StageOp& op) {
    made_[slots_.of({stage, op.chunk}, op.microbatch)].add(traits(op.kind).makes);
  }
  [[nodiscard]] bool has(Place at, MicroBatch microbatch, Result result) const {
    return made_[slots_.of(at, microbatch)].has(result);
  }

 private:
  OpSlots slots_;
  std::vector<Results> made_;
};

void check_order(const Program& program, PipelineShape shape, const OpCounts& counts, Problems& problems) {
  Made made(shape);
  const OpSlots slots(shape);
  std::vector<bool> stored(slots.places(), false);
  for (const Stage stage : program.stages.ids()) {
    for (const StageOp& op : program.stages[stage]) {
      const OpTraits& its = traits(op.kind);
      const Place place{stage, op.chunk};
      const std::size_t stash = slots.of(place, op.microbatch);
      if (its.follows && !made.has(place, op.microbatch, *its.follows)) {
        const OpKind maker = counts.maker(place, op.microbatch, *its.follows);
        problems.add(
            stage, op,
            fmt::format("comes before its {} {}", traits(maker).name, problems.name({maker, op.microbatch, op.chunk})));
      } else if (its.follows && its.is_pass && !stored[stash]) {
        problems.add(stage, op, "finds no activations");
      }
      if (its.stash != Stash::kKeeps) stored[stash] = its.stash == Stash::kStores;
      made.run(stage, op);
    }
  }
}

/// Runs the lists in order without times. Every stage goes as far as it can.
class Replay {
 public:
  Replay(const Program& program, PipelineShape shape)
      : program_(program), next_(program.stages.size(), 0), made_(shape), beside_(program.stages.size()) {
    for (const Stage stage : program.stages.ids())
      for (const Chunk chunk : ids<Chunk>(shape.chunks))
        for (const Neighbour which : {Neighbour::kPrevious, Neighbour::kNext})
          if (const auto there = program.placement.neighbour({stage, chunk}, which)) remember(stage, there->stage);
  }

  void run() {
    // Only a neighbour can wake a stage, so the neighbours of every stage that moved are tried again.
    std::vector<Stage> to_try;
    for (const Stage stage : program_.stages.ids()) to_try.insert(to_try.begin(), stage);
    while (!to_try.empty()) {
      const Stage stage = to_try.back();
      to_try.pop_back();
      if (advance(stage)) to_try.insert(to_try.end(), beside_[stage].begin(), beside_[stage].end());
    }
  }

  /// Returns the op that `stage` waits with, or nothing when the stage has finished. Of a pair it is one that cannot
  /// run.
  [[nodiscard]] std::optional<PlacedOp> stopped_at(Stage stage) const {
    const StageProgram& ops = program_.stages[stage];
    const std::size_t next = next_[stage];
    if (next == ops.size()) return std::nullopt;
    return PlacedOp{stage, ops[can_run(stage, ops[next]) ? next + 1 : next]};
  }

 private:
  void remember(Stage stage, Stage neighbour) {
    if (std::ranges::find(beside_[stage], neighbour) == beside_[stage].end()) beside_[stage].push_back(neighbour);
  }

  /// Runs ops of `stage` until one has to wait. Returns true when any ran.
  bool advance(Stage stage) {
    const StageProgram& ops = program_.stages[stage];
    std::size_t& next = next_[stage];
    const std::size_t before = next;
    while (next < ops.size() && can_start(stage, next)) made_.run(stage, ops[next++]);
    return next > before;
  }

  /// Both passes of a pair start together.
  [[nodiscard]] bool can_start(Stage stage, std::size_t at) const {
    const StageProgram& ops = program_.stages[stage];
    return can_run(stage, ops[at]) && (ops[at].kind != OpKind::kPairedForward || can_run(stage, ops[at + 1]));
  }

  [[nodiscard]] bool can_run(Stage stage, const StageOp& op) const {
    const std::optional<Neighbour> from = traits(op.kind).input_from;
    if (!from) return true;
    const Place* const feeder = program_.placement.neighbour({stage, op.chunk}, *from);
    return !feeder || made_.has(*feeder, op.microbatch, result_from(*from));
  }

  const Program& program_;
  Table<Stage, std::size_t> next_;  // ops that have run
  Made made_;
  Table<Stage, std::vector<Stage>> beside_;
};

void check_deadlock(const Program& program, PipelineShape shape, const OpCounts& counts, Problems& problems) {
  Replay replay(program, shape);
  replay.run();
  for (const Stage stage : program.stages.ids()) {
    const auto stopped = replay.stopped_at(stage);
    if (!stopped) continue;
    // Both exist. Only a missing input stops an op, and in a complete program its maker has yet to run.
    const Neighbour from = traits(stopped->op.kind).input_from.value();
    const Place feeder = *program.placement.neighbour(stopped->place(), from);
    const MicroBatch microbatch = stopped->op.microbatch;
    const OpKind maker = counts.maker(feeder, microbatch, result_from(from));
    problems.add(fmt::format("deadlock: stage {} waits at {} for {} of stage {}, which waits at {}", stage.number(),
                             problems.name(stopped->op), problems.name({maker, microbatch, feeder.chunk}),
                             feeder.stage.number(), problems.name(replay.stopped_at(feeder.stage).value().op)));
  }
}

}  // namespace

std::vector<std::string> check_program(const Program& program, PipelineShape shape) {
  expects(shape.stages >= 1 && shape.microbatches >= 1 && shape.chunks >= 1,
          "a pipeline has at least one stage, one micro-batch and one chunk");
  if (program.stages.size() != static_cast<std::size_t>(shape.stages))
    return {fmt::format("expected {} stages, found {}", shape.stages, program.stages.size())};
  expects(program.placement.stages() == shape.stages && program.placement.chunks() == shape.chunks,
          "the placement of a program has the stages and chunks of its shape");
  Problems problems(shape);
  check_inside(program, shape, problems);
  const OpCounts counts(program, shape);
  if (problems.none()) Completeness(program, shape, counts, problems).check();
  if (problems.none()) check_pairs(program, problems);
  if (problems.none()) check_order(program, shape, counts, problems);
  if (problems.none()) check_deadlock(program, shape, counts, problems);
  return problems.take();
}

}  // namespace foretoken::schedule
