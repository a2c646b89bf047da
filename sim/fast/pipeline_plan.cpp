// Compiles a pipeline: carries out its host programs with slots in place of durations, then puts the tasks in order.
#include "sim/fast/pipeline_plan.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using des::Instant;
using des::TaskId;
using schedule::Neighbour;
using schedule::OpKind;
using schedule::StageOp;

constexpr std::uint32_t kNone = UINT32_MAX;

// Slots of durations: messages to the next and to the previous stage (one a stage each), passes, earliest ends of first
// passes, moves of activations, the wait before a pass, and nothing.
struct Slots {
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

// Tasks of a pipeline (host_programs.h), each with its slot and the tasks that it waits for.
class PlanTasks {
 public:
  // `before` is the task before it on its stream. The other tasks that it waits for stand in edges(), one leading to
  // the next.
  struct Task {
    std::uint32_t slot, before, first_edge;
  };
  struct Edge {
    std::uint32_t before, next;
  };

  PlanTasks(const PlanShape& shape, const Slots& slots, std::size_t passes)
      : slots_(slots), in_order_(shape.policy != step::MessagePolicy::kLatency), stands_still_(shape.stands_still) {
    to_next_.assign(slots.stages, kNone);
    to_previous_ = compute_ = moves_ = to_next_;
    tasks_.reserve((stands_still_ ? 3 : 2) * passes + 2 * slots.passes());
    edges_.reserve(4 * passes);
  }

  std::optional<TaskId> move(Stage stage, const StageOp& /*op*/) {
    if (slots_.moves == 0) return std::nullopt;
    return append(slots_.move(stage), moves_, stage);
  }

  TaskId message(const step::MessageKey& key, Neighbour link) {
    const Stage sender = key.sender.stage;
    const std::size_t slot = slots_.message(sender, link);
    if (!in_order_) return add(slot, kNone);
    return append(slot, link == Neighbour::kNext ? to_next_ : to_previous_, sender);
  }

  TaskId pass(Stage stage, const StageOp& op, const std::vector<TaskId>& after, std::optional<TaskId> previous,
              const step::BlockHooks& hooks) {
    if (!previous) first_of_stage_.push_back(static_cast<std::uint32_t>(tasks_.size()));
    if (stands_still_) append(slots_.still(), compute_, stage);
    TaskId last = append(slots_.pass(stage, op), compute_, stage);
    wait_for(after, last);
    if (hooks.gates != nullptr) {  // the first pass of its chunk
      const TaskId held = add(slots_.held(stage, op), kNone);
      last = append(slots_.nothing(), compute_, stage);
      add_dependency(held, last);
    }
    if (hooks.ends != nullptr) hooks.ends->push_back(last);  // the pass that completes the gradients of its chunk
    return last;
  }

  TaskId update(Stage, const StageOp&, TaskId, TaskId) {
    contract_broken("no search tries schedules without a flush", __FILE__, __LINE__);
  }

  void add_dependency(TaskId before, TaskId after) {
    std::uint32_t& first = tasks_[after.value].first_edge;
    edges_.push_back({before.value, first});
    first = static_cast<std::uint32_t>(edges_.size() - 1);
  }

  [[nodiscard]] const std::vector<Task>& tasks() const { return tasks_; }
  [[nodiscard]] const std::vector<Edge>& edges() const { return edges_; }
  /// Returns the first task of each stage's passes. The passes of a stage stand together, after all messages.
  [[nodiscard]] const std::vector<std::uint32_t>& first_of_stage() const { return first_of_stage_; }

 private:
  TaskId add(std::size_t slot, std::uint32_t before) {
    tasks_.push_back({static_cast<std::uint32_t>(slot), before, kNone});
    return {static_cast<std::uint32_t>(tasks_.size() - 1)};
  }
  TaskId append(std::size_t slot, std::vector<std::uint32_t>& stream, Stage stage) {
    std::uint32_t& tail = stream[stage.index()];
    const TaskId task = add(slot, tail);
    tail = task.value;
    return task;
  }
  void wait_for(const std::vector<TaskId>& before, TaskId task) {
    for (const TaskId each : before) add_dependency(each, task);
  }

  const Slots& slots_;
  bool in_order_, stands_still_;
  std::vector<Task> tasks_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> to_next_, to_previous_, compute_, moves_;  // last tasks of the stages' streams
  std::vector<std::uint32_t> first_of_stage_;
};

// Puts every task after all that it waits for, depth first. Stages take turns, so neighbours in the order seldom wait
// for each other. A processor then works on several at once. `place(task, steps)` makes the step of a task and returns
// its number, which is never 0. `steps` holds those of the tasks before.
template <class Place>
class Order {
 public:
  Order(const PlanTasks& made, Place place)
      : made_(made), place_(std::move(place)), looked_at_(made.tasks().size()), steps_(looked_at_.size(), 0) {
    const auto count = static_cast<std::uint32_t>(steps_.size());
    for (std::uint32_t task = 0; task < count; ++task) looked_at_[task] = made.tasks()[task].first_edge;
    std::vector<std::uint32_t> next = made.first_of_stage();
    for (bool more = true; more;) {
      more = false;
      for (std::size_t stage = 0; stage < next.size(); ++stage) {
        const std::uint32_t end = stage + 1 < next.size() ? made.first_of_stage()[stage + 1] : count;
        if (next[stage] == end) continue;
        add(next[stage]++);
        more = true;
      }
    }
    for (std::uint32_t task = 0; task < count; ++task) add(task);  // messages that nobody waits for
  }

  /// Returns the steps of these tasks.
  [[nodiscard]] std::vector<std::uint32_t> steps_of(const std::vector<TaskId>& tasks) const {
    std::vector<std::uint32_t> steps;
    for (const TaskId task : tasks) steps.push_back(steps_[task.value]);
    return steps;
  }

 private:
  void add(std::uint32_t last) {
    if (steps_[last] != 0) return;
    for (std::uint32_t task = last;;) {
      if (const std::uint32_t missing = next_missing(task); missing != kNone) {
        path_.push_back(task);
        expects(path_.size() < steps_.size(), "a checked schedule does not deadlock");
        task = missing;
        continue;
      }
      steps_[task] = place_(task, steps_);
      if (path_.empty()) return;
      task = path_.back();
      path_.pop_back();
    }
  }

  // Returns a task that `task` waits for and that has no step yet.
  std::uint32_t next_missing(std::uint32_t task) {
    const std::uint32_t on_stream = made_.tasks()[task].before;
    if (on_stream != kNone && steps_[on_stream] == 0) return on_stream;
    for (std::uint32_t& edge = looked_at_[task]; edge != kNone; edge = made_.edges()[edge].next)
      if (const std::uint32_t before = made_.edges()[edge].before; steps_[before] == 0) return before;
    return kNone;
  }

  const PlanTasks& made_;
  Place place_;
  std::vector<std::uint32_t> looked_at_;  // by task: the next of its edges to look at
  std::vector<std::uint32_t> steps_;      // by task: the number of its step; 0 until it has one
  std::vector<std::uint32_t> path_;       // tasks that wait for the current one
};

}  // namespace

PipelinePlan::PipelinePlan(const PlanShape& shape, const schedule::Program& program) {
  const Slots slots(shape);
  PlanTasks made(shape, slots, program.stages.size() * program.stages.front().size());
  // Every chunk's first pass is held, and every last one noted. One plan then serves all overlaps of a shape.
  const step::ForwardGates on_first_passes(shape.stages, Table<Chunk, std::vector<std::vector<TaskId>>>(shape.chunks));
  const step::PipelineEnds ends =
      step::carry_out(made, program, {.policy = shape.policy, .gates = on_first_passes, .gradient_blocks = true});

  uses_.assign(slots.count(), 0);
  steps_.reserve(made.tasks().size() + made.edges().size() / kMostWaits);
  const auto place = [&](std::uint32_t at, const std::vector<std::uint32_t>& step_of) {
    const PlanTasks::Task& task = made.tasks()[at];
    Step step{.slot = task.slot};
    std::size_t waits = 0;
    const auto wait_for = [&](std::uint32_t before) {
      if (waits == kMostWaits) {
        steps_.push_back({.slot = static_cast<std::uint32_t>(slots.nothing()), .waits = step.waits});
        step.waits = {static_cast<std::uint32_t>(steps_.size())};
        waits = 1;
      }
      step.waits[waits++] = step_of[before];
    };
    if (task.before != kNone) wait_for(task.before);
    for (std::uint32_t edge = task.first_edge; edge != kNone; edge = made.edges()[edge].next)
      wait_for(made.edges()[edge].before);
    ++uses_[task.slot];
    steps_.push_back(step);
    return static_cast<std::uint32_t>(steps_.size());
  };
  const Order order(made, place);
  for (const auto& stage : ends.finished) finished_.push_back(order.steps_of(stage));
  for (const Stage stage : program.stages.ids()) {
    Table<Chunk, LastStep>& chunks = last_.emplace_back(Table<Chunk, LastStep>(shape.chunks));
    for (const StageOp& op : program.stages[stage])
      if (schedule::traits(op.kind).makes.has(schedule::Result::kWeightGradient)) chunks[op.chunk].kind = op.kind;
    for (const Chunk chunk : chunks.ids())
      if (const std::vector<TaskId>& last = ends.gradient_blocks[stage][chunk]; !last.empty())
        chunks[chunk].step = order.steps_of(last).front();
  }
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
  scratch.resize(steps_.size() + 1);
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
  for (const Waits& stage : finished_) {
    Instant& finished = run.finished.emplace_back();
    for (const std::uint32_t step : stage) finished = std::max(finished, Instant{end[step]});
  }
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
