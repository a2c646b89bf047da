// Walks a pipeline with instants, and keeps the spans of one stage.
#include "sim/fast/pipeline_walk.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/fast/stage_walk.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using des::Instant;
using schedule::Neighbour;

class InstantClock {
 public:
  using Moment = Instant;
  using Moments = Instant;  // the latest of them
  static constexpr bool kTakesTurns = false;

  explicit InstantClock(const WalkedPipeline& pipeline) : pipeline_(pipeline) {
    const std::size_t stages = pipeline.program.stages.size();
    walk_.ends.finished.resize(stages);
    walk_.first_forward_start.resize(stages);
    walk_.last_backward_end.resize(stages);
    seen_forward_.assign(stages, 0);
    for (const Stage stage : ids<Stage>(stages))
      for (const Neighbour neighbour : {Neighbour::kNext, Neighbour::kPrevious})
        on_link_.push_back(pipeline.messages.of(stage, neighbour));
    if (pipeline.gradient_blocks)
      walk_.ends.gradient_blocks = BlockEnds(
          stages, Table<Chunk, std::vector<Instant>>(static_cast<std::size_t>(pipeline.program.placement.chunks())));
  }

  static void add(Instant& latest, Instant moment) { latest = std::max(latest, moment); }
  static Instant only(Instant moment) { return moment; }
  static Instant latest(Instant moments) { return moments; }

  Instant message(const MessageKind& kind, Instant posted, Instant free) {
    const Instant start = std::max(posted, free);
    const Instant end = later(start, on_link_[kind.link]);
    walk_.ends.last = std::max(walk_.ends.last, end);
    if (kind.from == pipeline_.shown || kind.to == pipeline_.shown)
      walk_.shown.messages.push_back({kind.from, kind.neighbour, kind.carries_to, {start.ps, end.ps}});
    return end;
  }

  Instant pass(const StagePass<Instant>& pass, Instant after) {
    const schedule::OpTraits& kind = traits(pass.op.kind);
    const bool shown = pass.stage == pipeline_.shown;
    const Interval span = run(pass, std::max(stand_still(pass.last, shown), after), shown);
    if (shown) walk_.shown.passes.push_back(span);
    if (kind.makes.has(schedule::Result::kOutput) && std::exchange(seen_forward_[pass.stage.index()], 1) == 0)
      walk_.first_forward_start[pass.stage] = {span.begin};
    if (kind.makes.has(schedule::Result::kInputGradient) || kind.makes.has(schedule::Result::kWeightGradient))
      walk_.last_backward_end[pass.stage] = {span.end};
    return {span.end};
  }

  [[nodiscard]] bool moves() const { return !pipeline_.moves.empty(); }
  Instant move(Stage stage, Instant after, Instant free) {
    const Instant start = std::max(after, free);
    const Instant end = later(start, pipeline_.moves[stage]);
    count(pipeline_.moves[stage]);
    walk_.moves.push_back({stage, {start.ps, end.ps}});
    walk_.ends.last = std::max(walk_.ends.last, end);
    return end;
  }

  void finish(Stage stage, Instant end, std::int64_t sends) {
    walk_.ends.finished[stage] = end;
    walk_.most_sends = std::max(walk_.most_sends, sends);
    walk_.ends.last = std::max(walk_.ends.last, end);
  }

  /// Returns the walk. `messages` counts them by link.
  Walk take(const std::vector<std::size_t>& messages) && {
    for (std::size_t link = 0; link < messages.size(); ++link) {
      walk_.tasks += messages[link];
      walk_.total_ps += static_cast<double>(messages[link]) * static_cast<double>(on_link_[link].ps);
    }
    return std::move(walk_);
  }

 private:
  // Returns the instant at which the GPU may start its next pass.
  Instant stand_still(Instant last, bool shown) {
    const Duration overhead = pipeline_.pass_overhead;
    if (overhead.ps == 0) return last;
    const Instant end = later(last, overhead);
    count(overhead);
    if (shown) walk_.shown.between.push_back({last.ps, end.ps});
    return end;
  }

  Interval run(const StagePass<Instant>& pass, Instant start, bool shown) {
    const step::PassTiming& timing = pipeline_.passes.timing(pass.stage, pass.op.chunk, pass.op.kind);
    const bool gated = pass.is_first && !pipeline_.gates.empty();
    const bool cut = pass.completes_gradients && pipeline_.gradient_blocks;
    if (!gated && !cut) {
      const Instant end = later(start, timing.total);
      count(timing.total);
      if (shown) walk_.shown.parts.push_back({start.ps, end.ps});
      return {start.ps, end.ps};
    }
    static const std::vector<Instant> kNoGates;
    const std::vector<Instant>& gates = gated ? pipeline_.gates[pass.stage][pass.op.chunk] : kNoGates;
    std::vector<Instant>* const ends = cut ? &walk_.ends.gradient_blocks[pass.stage][pass.op.chunk] : nullptr;
    return blocks(timing, start, gates, ends, shown);
  }

  Interval blocks(const step::PassTiming& timing, Instant start, const std::vector<Instant>& gates,
                  std::vector<Instant>* ends, bool shown) {
    std::optional<Instant> first;
    Instant at = start;
    Duration before;
    for (std::size_t block = 0; block < timing.block_ends.size(); ++block) {
      if (block < gates.size()) at = std::max(at, gates[block]);
      if (!first) first = at;
      const Instant end = later(at, timing.block_ends[block] - before);
      count(timing.block_ends[block] - before);
      before = timing.block_ends[block];
      if (shown) walk_.shown.parts.push_back({at.ps, end.ps});
      if (ends != nullptr) ends->push_back(end);
      at = end;
    }
    return {first.value_or(start).ps, at.ps};
  }

  void count(Duration duration) {
    ++walk_.tasks;
    walk_.total_ps += static_cast<double>(duration.ps);
  }

  const WalkedPipeline& pipeline_;
  std::vector<Duration> on_link_;   // of a message, by link
  std::vector<char> seen_forward_;  // by stage
  Walk walk_;
};

}  // namespace

Walk walk_pipeline(const WalkedPipeline& pipeline) {
  InstantClock clock(pipeline);
  StageWalk<InstantClock> stages(pipeline.program, pipeline.policy, clock);
  stages.to_the_end();
  return std::move(clock).take(stages.mailbox().on_links());
}

}  // namespace foretoken::fast
