// Compiles a pipeline: walks its stages with slots in place of durations, and records the steps.
#include "sim/fast/pipeline_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.h"
#include "sim/fast/stage_walk.h"

namespace foretoken::fast {

using des::Duration;
using des::Instant;
using schedule::Neighbour;
using schedule::OpKind;
using schedule::StageOp;

// Slots of durations: messages to the next and to the previous stage (one a stage each), passes, earliest ends of first
// passes, moves of activations, the wait before a pass, and nothing.
struct PipelinePlan::Slots {
  explicit Slots(const PlanShape& shape)
      : stages(static_cast<std::size_t>(shape.stages)),
        chunks(static_cast<std::size_t>(shape.chunks)),
        moves(shape.moves ? stages : 0),
        kinds(shape.kinds.size()) {
    for (std::size_t at = 0; at < kinds; ++at) kind_at[static_cast<std::size_t>(shape.kinds[at])] = at;
  }
  // Returns the position of a pass in PlanTimes::passes.
  [[nodiscard]] std::size_t place(Stage stage, const StageOp& op) const {
    const std::optional<std::size_t> kind = kind_at[static_cast<std::size_t>(op.kind)];
    expects(kind.has_value(), "a plan knows the kinds of its program's passes");
    return kinds * (stage.index() * chunks + op.chunk.index()) + *kind;
  }
  [[nodiscard]] std::size_t passes() const { return kinds * stages * chunks; }
  [[nodiscard]] std::size_t message(Stage stage, Neighbour link) const {
    return stage.index() + (link == Neighbour::kNext ? 0 : stages);
  }
  [[nodiscard]] std::size_t pass(Stage stage, const StageOp& op) const { return 2 * stages + place(stage, op); }
  [[nodiscard]] std::size_t held(Stage stage, const StageOp& op) const {
    return 2 * stages + passes() + place(stage, op);
  }
  [[nodiscard]] std::size_t move(Stage stage) const { return 2 * (stages + passes()) + stage.index(); }
  [[nodiscard]] std::size_t still() const { return 2 * (stages + passes()) + moves; }
  [[nodiscard]] std::size_t nothing() const { return still() + 1; }
  [[nodiscard]] std::size_t count() const { return nothing() + 1; }

  std::size_t stages, chunks, moves, kinds;
  std::array<std::optional<std::size_t>, schedule::kOpKinds> kind_at{};  // by kind: its position among the plan's kinds
};

// Records the steps of a walk. A moment is the number of the step that ends then, and 0 is the start of the pipeline.
class PipelinePlan::Recorder {
 public:
  using Moment = std::uint32_t;
  struct Moments {
    std::array<Moment, kMostWaits - 1> steps = {};  // 0 for none
  };
  static constexpr bool kTakesTurns = true;  // neighbours among the steps then seldom wait for each other

  // `steps` is a guess of their number.
  Recorder(PipelinePlan& plan, const PlanShape& shape, std::size_t steps)
      : plan_(plan), slots_(shape), stands_still_(shape.stands_still) {
    plan_.steps_.resize(std::max<std::size_t>(steps, 1));
    plan_.finished_.resize(slots_.stages);
    plan_.last_ = Table<Stage, Table<Chunk, LastStep>>(slots_.stages, Table<Chunk, LastStep>(slots_.chunks));
  }

  void add(Moments& moments, Moment moment) {
    auto& [first, second] = moments.steps;
    if (moment == 0 || moment == first || moment == second) return;
    if (first == 0)
      first = moment;
    else if (second == 0)
      second = moment;
    else
      join(moments, moment);
  }
  static Moments only(Moment moment) { return {{moment}}; }
  Moment latest(Moments& moments) {
    const auto [first, second] = moments.steps;
    if (second != 0) moments.steps = {join(first, second, 0), 0};
    return moments.steps[0];
  }

  Moment message(const MessageKind& kind, const Moments& posted, Moment free) {
    return step(slots_.message(kind.from, kind.neighbour), after(posted, free));
  }

  Moment pass(const StagePass<Moment>& pass, const Moments& ready) {
    const Moment last = stands_still_ ? step(slots_.still(), {pass.last, 0, 0}) : pass.last;
    Moment end = step(slots_.pass(pass.stage, pass.op), after(ready, last));
    if (pass.is_first) {
      const Moment held = step(slots_.held(pass.stage, pass.op), {});
      end = join(end, held, 0);
    }
    if (pass.completes_gradients) plan_.last_[pass.stage][pass.op.chunk] = {pass.op.kind, end};
    return end;
  }

  [[nodiscard]] bool moves() const { return slots_.moves > 0; }
  Moment move(Stage stage, Moment ready, Moment free) { return step(slots_.move(stage), {ready, free, 0}); }

  void finish(Stage stage, Moments& ends, std::int64_t /*sends*/) { plan_.finished_[stage] = latest(ends); }

  // Drops the room for more steps.
  void close() { plan_.steps_.resize(count_); }

 private:
  [[nodiscard]] static std::array<Moment, kMostWaits> after(const Moments& moments, Moment other) {
    return {moments.steps[0], moments.steps[1], other};
  }
  // Joins two moments and a third one. It stands by itself so that the compiler can put add() into its callers.
  [[gnu::noinline]] void join(Moments& two, Moment third) { two.steps = {join(two.steps[0], two.steps[1], third), 0}; }
  // Adds a step that ends with the last of some others.
  [[gnu::noinline]] Moment join(Moment first, Moment second, Moment third) {
    return step(nothing_, {first, second, third});
  }
  Moment step(std::size_t slot, std::array<Moment, kMostWaits> waits) {
    if (count_ == plan_.steps_.size()) plan_.steps_.resize(2 * count_);
    plan_.steps_[count_++] = {static_cast<std::uint32_t>(slot), waits};
    return static_cast<Moment>(count_);
  }

  PipelinePlan& plan_;
  Slots slots_;
  std::size_t nothing_ = slots_.nothing();
  bool stands_still_;
  std::size_t count_ = 0;  // steps so far; the plan has room for more
};

PipelinePlan::PipelinePlan(const PlanShape& shape, const schedule::Program& program) {
  constexpr std::size_t kStepsOfAPass = 3;  // with its messages and joins, about
  Recorder recorder(*this, shape, kStepsOfAPass * program.stages.size() * program.stages.front().size());
  StageWalk<Recorder>(program, shape.policy, recorder).to_the_end();
  recorder.close();
  uses_.assign(Slots(shape).count(), 0);
  for (const Step& step : steps_) ++uses_[step.slot];
}

std::vector<std::int64_t> PipelinePlan::slots_of(const PlanTimes& times) {
  const std::vector<Duration> none(times.held.empty() ? times.passes.size() : 0);
  const std::array parts = {&times.messages.to_next.values(), &times.messages.to_previous.values(), &times.passes,
                            times.held.empty() ? &none : &times.held, &times.moves.values()};
  std::size_t count = 2;
  for (const auto* part : parts) count += part->size();
  std::vector<std::int64_t> slots;
  slots.reserve(count);
  for (const auto* part : parts)
    for (const Duration duration : *part) slots.push_back(duration.ps);
  slots.push_back(times.pass_overhead.ps);
  slots.push_back(0);
  return slots;
}

double PipelinePlan::total_ps(const PlanTimes& times) const {
  const std::vector<std::int64_t> slots = slots_of(times);
  double total = 0;
  for (std::size_t at = 0; at < uses_.size(); ++at) total += uses_[at] * static_cast<double>(slots[at]);
  return total;
}

PlanRun PipelinePlan::replay(const PlanTimes& times, std::vector<std::int64_t>& scratch) const {
  const std::vector<std::int64_t> slots = slots_of(times);
  // The memory only grows: a vector that shrinks and grows again writes zeros each time.
  if (scratch.size() <= steps_.size()) scratch.resize(steps_.size() + 1);
  std::int64_t* const end = scratch.data();  // by number of the step
  end[0] = 0;
  std::int64_t* at = end;
  std::int64_t last = 0;
  for (const Step& step : steps_) {
    const auto [first, second, third] = step.waits;
    *++at = std::max(std::max(end[first], end[second]), end[third]) + slots[step.slot];
    last = std::max(last, *at);
  }
  PlanRun run{.finished = {}, .gradient_blocks = {}, .last = {last}};
  for (const std::uint32_t step : finished_) run.finished.push_back(Instant{end[step]});
  return run;
}

Table<Stage, Table<Chunk, LastPass>> PipelinePlan::last_passes(const std::vector<std::int64_t>& scratch) const {
  Table<Stage, Table<Chunk, LastPass>> passes;
  for (const Table<Chunk, LastStep>& chunks : last_) {
    Table<Chunk, LastPass>& stage = passes.emplace_back();
    for (const LastStep& last : chunks) stage.push_back({last.kind, Instant{scratch[last.step]}});
  }
  return passes;
}

}  // namespace foretoken::fast
