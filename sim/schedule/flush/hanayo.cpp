// Hanayo: chunks in waves over the stages, down and back and down again, with one copy of the model.
//
// W waves have 2W chunks a stage (arXiv:2308.15762, section 3). The order is the one in which the passes would run: a
// forward takes one slot, a backward two, a message none. A free stage takes the oldest micro-batch, and of that the
// deepest chunk. It prefers backwards, or it takes forwards and backwards in turn. No stage holds more than the
// activations of p micro-batches, as in 1F1B.
//
// The paper shows one unit of p micro-batches, for which preferring backwards is best. Longer steps pay with more
// micro-batches on their way and with turns. So every rule runs with p to 2p micro-batches on their way, and the
// shortest run gives the order.
#include <fmt/format.h>

#include <optional>
#include <queue>
#include <tuple>
#include <vector>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/interleaved_1f1b.h"

namespace foretoken::schedule {
namespace {

constexpr int kForwardSlots = 1, kBackwardSlots = 2;  // arXiv:2308.15762, figure 3: a backward takes two forwards

/// A rule by which stages choose their passes.
struct WaveRule {
  int on_their_way = 1;  ///< micro-batches between their first and their last pass, at most
  bool in_turn = false;  ///< a forward and a backward take turns where both could run
};

/// A pass of a micro-batch at a virtual stage.
struct WavePass {
  bool is_forward = true;
  int microbatch = 0, position = 0;
};

/// The end of a pass that runs.
struct WaveEnd {
  int slot = 0, stage = 0;
  WavePass pass;
};

struct OldestAndDeepest {
  bool operator()(const WavePass& a, const WavePass& b) const {
    return std::tuple(a.microbatch, -a.position) > std::tuple(b.microbatch, -b.position);
  }
};

struct Earliest {
  bool operator()(const WaveEnd& a, const WaveEnd& b) const {
    return std::tuple(a.slot, a.stage) > std::tuple(b.slot, b.stage);
  }
};

using WavePasses = std::priority_queue<WavePass, std::vector<WavePass>, OldestAndDeepest>;

/// One stage while the passes run.
struct WaveStage {
  WavePasses forwards, backwards;  // that can start
  int held = 0;                    // chunks with stored activations
  bool busy = false, last_was_forward = true;
};

/// A program and the slots that it takes.
struct WaveRun {
  Program program;
  int slots = 0;
};

/// Lets the passes run by one rule, and notes the order in which every stage starts them.
class Waves {
 public:
  Waves(PipelineShape shape, WaveRule rule)
      : shape_(shape), rule_(rule), run_{.program = {Placement::zigzag(shape.stages, shape.chunks), {}}} {
    run_.program.stages.resize(static_cast<std::size_t>(shape.stages));
    stages_.resize(static_cast<std::size_t>(shape.stages));
  }

  /// Returns nothing where stages without room wait for each other.
  [[nodiscard]] std::optional<WaveRun> run() {
    start_all(0);
    while (!ends_.empty()) {
      run_.slots = ends_.top().slot;
      for (; !ends_.empty() && ends_.top().slot == run_.slots; ends_.pop()) end(ends_.top());
      start_all(run_.slots);
    }
    if (done_ < shape_.microbatches) return std::nullopt;
    return std::move(run_);
  }

 private:
  [[nodiscard]] int chunk_of(int position) const { return position / shape_.stages; }
  [[nodiscard]] WaveStage& stage_of(int position) {
    const int at = position % shape_.stages;
    return stages_[static_cast<std::size_t>(chunk_of(position) % 2 == 0 ? at : shape_.stages - 1 - at)];
  }

  void start_all(int slot) {
    for (; begun_ < shape_.microbatches && begun_ - done_ < rule_.on_their_way; ++begun_)
      stages_[0].forwards.push({true, begun_, 0});
    for (int number = 0; number < shape_.stages; ++number) {
      WaveStage& stage = stages_[static_cast<std::size_t>(number)];
      if (stage.busy || (stage.forwards.empty() && stage.backwards.empty())) continue;
      const bool both = !stage.forwards.empty() && !stage.backwards.empty();
      const bool forward = both ? rule_.in_turn && !stage.last_was_forward : stage.backwards.empty();
      if (forward && stage.held == shape_.chunks * shape_.stages) continue;
      start(number, slot, forward ? stage.forwards : stage.backwards);
    }
  }

  void start(int number, int slot, WavePasses& passes) {
    const WavePass pass = passes.top();
    passes.pop();
    WaveStage& stage = stages_[static_cast<std::size_t>(number)];
    stage.busy = true;
    stage.last_was_forward = pass.is_forward;
    if (pass.is_forward) ++stage.held;
    run_.program.stages[id_of<Stage>(number)].push_back({pass.is_forward ? OpKind::kForward : OpKind::kBackward,
                                                         id_of<MicroBatch>(pass.microbatch),
                                                         id_of<Chunk>(chunk_of(pass.position))});
    ends_.push({slot + (pass.is_forward ? kForwardSlots : kBackwardSlots), number, pass});
  }

  /// Frees the stage of a pass that ends, and lets the next pass of its micro-batch start.
  void end(const WaveEnd& ended) {
    WaveStage& stage = stages_[static_cast<std::size_t>(ended.stage)];
    stage.busy = false;
    WavePass next = ended.pass;
    if (!next.is_forward) {
      --stage.held;
      if (next.position == 0) {
        ++done_;
        return;
      }
      --next.position;
      stage_of(next.position).backwards.push(next);
    } else if (next.position + 1 < shape_.stages * shape_.chunks) {
      ++next.position;
      stage_of(next.position).forwards.push(next);
    } else {
      next.is_forward = false;
      stage.backwards.push(next);
    }
  }

  PipelineShape shape_;
  WaveRule rule_;
  WaveRun run_;
  std::vector<WaveStage> stages_;
  std::priority_queue<WaveEnd, std::vector<WaveEnd>, Earliest> ends_;
  int begun_ = 0, done_ = 0;  // micro-batches
};

/// The first rule always ends: p micro-batches on their way fit into the room of every stage.
Program wave_program(PipelineShape shape) {
  std::optional<WaveRun> best;
  for (const int quarters : {4, 5, 6, 7, 8})
    for (const bool in_turn : {false, true}) {
      auto run = Waves(shape, {.on_their_way = quarters * shape.stages / 4, .in_turn = in_turn}).run();
      if (run && (!best || run->slots < best->slots)) best = std::move(run);
    }
  return std::move(best->program);
}

Placement wave_place(PipelineShape shape) { return Placement::zigzag(shape.stages, shape.chunks); }

std::optional<std::string> wave_rule(PipelineShape shape) {
  if (shape.chunks % 2 != 0) {
    return fmt::format(
        "expected an even number of chunks a stage (virtual pipeline), two for each wave, found {}; try {} chunks",
        shape.chunks, shape.chunks + 1);
  }
  return no_group_rule(shape);
}

}  // namespace

Schedule hanayo() {
  return {.name = "hanayo",
          .description = "chunks in waves, down the stages and back, in the memory of 1f1b (arXiv:2308.15762)",
          .interleaves = true,
          .build = wave_program,
          .place = wave_place,
          .own_rule = wave_rule};
}

}  // namespace foretoken::schedule
