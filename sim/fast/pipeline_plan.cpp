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
  // Returns the stage of a pass; nothing for other slots.
  [[nodiscard]] std::optional<std::size_t> stage_of_pass(std::size_t slot) const {
    if (slot < 2 * stages || slot >= 2 * stages + passes()) return std::nullopt;
    return (slot - 2 * stages) / (kinds * chunks);
  }
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

namespace {

// Returns about the number of a plan's steps.
std::size_t likely_steps(const schedule::Program& program) {
  constexpr std::size_t kStepsOfAPass = 3;  // with its messages and joins
  return kStepsOfAPass * program.stages.size() * program.stages.front().size();
}

}  // namespace

PipelinePlan::PipelinePlan(const PlanShape& shape, const schedule::Program& program) {
  const std::optional<ShortenedProgram> shorter = shortened(program);
  std::optional<Repeated> steps;
  if (shorter) {
    steps_.reserve(likely_steps(program));
    record(shape, shorter->program);
    steps = repeated(Slots(shape), *shorter);
  }
  if (steps)
    insert_copies(*steps, shorter->left_out / shorter->turn);
  else
    record(shape, program);
  count_uses(shape);
}

PipelinePlan PipelinePlan::without_copies(const PlanShape& shape, const schedule::Program& program) {
  PipelinePlan plan;
  plan.record(shape, program);
  plan.count_uses(shape);
  return plan;
}

void PipelinePlan::record(const PlanShape& shape, const schedule::Program& program) {
  Recorder recorder(*this, shape, likely_steps(program));
  StageWalk<Recorder>(program, shape.policy, recorder).to_the_end();
  recorder.close();
}

void PipelinePlan::count_uses(const PlanShape& shape) {
  uses_.assign(Slots(shape).count(), 0);
  for (const Step& step : steps_) ++uses_[step.slot];
}

// Returns steps during which every stage runs a turn of its ops, if it makes the same steps in the turn after it. All
// these ops repeat the ops before them. So do those that were left out, and their steps repeat these, too.
std::optional<PipelinePlan::Repeated> PipelinePlan::repeated(const Slots& slots,
                                                             const ShortenedProgram& shorter) const {
  // The steps so far, and the passes of each stage among them, when the first stage begins a period.
  struct Cut {
    std::uint32_t steps = 0;
    std::vector<std::size_t> passes;  // by stage
  };
  std::vector<Cut> cuts;
  Cut now{0, std::vector<std::size_t>(slots.stages, 0)};
  std::size_t next = shorter.steady.front().begin;
  for (const Step& step : steps_) {
    if (const std::optional<std::size_t> stage = slots.stage_of_pass(step.slot)) {
      if (*stage == 0 && now.passes.front() == next) {
        cuts.push_back(now);
        next += shorter.period;
      }
      ++now.passes[*stage];
    }
    ++now.steps;
  }
  const auto is_turn = [&](const Cut& begin, const Cut& end) {
    for (const Stage stage : shorter.steady.ids()) {
      const std::size_t first = begin.passes[stage.index()], last = end.passes[stage.index()];
      const SteadyOps& steady = shorter.steady[stage];
      if (first < steady.begin || last > steady.end || last - first != shorter.turn * shorter.period) return false;
    }
    return true;
  };
  for (std::size_t at = 0; at + 2 * shorter.turn < cuts.size(); ++at) {
    const Cut &first = cuts[at], &second = cuts[at + shorter.turn], &third = cuts[at + 2 * shorter.turn];
    const Repeated steps{first.steps + 1, second.steps - first.steps};
    if (third.steps - second.steps == steps.count && is_turn(first, second) && is_turn(second, third) &&
        is_repeated(steps))
      return steps;
  }
  return std::nullopt;
}

// Returns true when the steps after these do the same, and no step from there on waits for one before these.
bool PipelinePlan::is_repeated(Repeated steps) const {
  const std::uint32_t begin = steps.begin, count = steps.count, end = begin + count;
  for (std::uint32_t number = begin; number < end; ++number) {
    const Step &step = steps_[number - 1], &later = steps_[number - 1 + count];
    if (step.slot != later.slot) return false;
    for (std::size_t at = 0; at < kMostWaits; ++at) {
      const std::uint32_t wait = step.waits[at];
      if (later.waits[at] != (wait == 0 ? 0 : wait + count)) return false;
    }
  }
  const auto is_early = [&](std::uint32_t number) { return number > 0 && number < begin; };
  for (std::size_t number = end; number <= steps_.size(); ++number)
    if (std::ranges::any_of(steps_[number - 1].waits, is_early)) return false;
  const auto comes_later = [&](std::uint32_t number) { return number >= end; };
  return std::ranges::all_of(finished_, comes_later) && std::ranges::all_of(last_, [&](const auto& chunks) {
           return std::ranges::all_of(chunks, comes_later, &LastStep::step);
         });
}

// Inserts copies of repeated steps behind them.
void PipelinePlan::insert_copies(Repeated steps, std::size_t copies) {
  const std::size_t walked = steps_.size(), added = copies * steps.count;
  const std::size_t end = steps.begin - 1 + steps.count;
  copied_steps_ = added;
  const auto shifted = [](Step step, std::uint32_t by) {
    for (std::uint32_t& wait : step.waits) wait += wait == 0 ? 0 : by;
    return step;
  };
  steps_.resize(walked + added);
  for (std::size_t at = walked; at-- > end;)
    steps_[at + added] = shifted(steps_[at], static_cast<std::uint32_t>(added));
  for (std::size_t at = end; at < end + added; ++at) steps_[at] = shifted(steps_[at - steps.count], steps.count);
  for (std::uint32_t& step : finished_) step += static_cast<std::uint32_t>(added);
  for (auto& chunks : last_)
    for (LastStep& last : chunks) last.step += static_cast<std::uint32_t>(added);
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
