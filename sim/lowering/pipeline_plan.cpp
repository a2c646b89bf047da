// How a pipeline is compiled: it is lowered with the number of a slot in place of every duration, then put in order.
#include "sim/lowering/pipeline_plan.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::lowering {
namespace {

using des::Duration;
using des::Instant;
using des::TaskId;

// Slots: messages forward, messages backward (one a stage each), passes, blocks, gathers, standing still.
struct Slots {
  explicit Slots(const PlanShape& shape)
      : stages(static_cast<std::size_t>(shape.stages)),
        passes(stages * static_cast<std::size_t>(shape.chunks) * 2),
        blocks(0) {
    for (const int count : shape.blocks) blocks += static_cast<std::size_t>(count);
  }
  [[nodiscard]] std::size_t pass(std::size_t at) const { return 2 * stages + at; }
  [[nodiscard]] std::size_t block(std::size_t at) const { return 2 * stages + passes + at; }
  [[nodiscard]] std::size_t gather(std::size_t at) const { return 2 * stages + passes + blocks + at; }

  std::size_t stages, passes, blocks;
};

Duration number(std::size_t slot) { return {static_cast<std::int64_t>(slot)}; }

// Slot numbers as durations of passes, so that the lowering writes them into the graph.
PassDurations numbered_passes(const PlanShape& shape, const Slots& slots) {
  PassDurations numbers;
  std::size_t pass = 0, block = 0;
  const auto ends_of_blocks = [&](std::size_t count) {
    std::vector<Duration> ends;
    for (Duration end; count > 0; --count) ends.push_back(end += number(slots.block(block++)));
    return ends;
  };
  for (std::size_t stage = 0; stage < slots.stages; ++stage) {
    auto &forward = numbers.forward.emplace_back(), &backward = numbers.backward.emplace_back();
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      forward.push_back(number(slots.pass(pass++)));
      backward.push_back(number(slots.pass(pass++)));
    }
    if (shape.blocks.empty()) continue;
    auto &forward_blocks = numbers.forward_blocks.emplace_back(),
         &backward_blocks = numbers.backward_blocks.emplace_back();
    for (std::size_t at = pass - 2 * static_cast<std::size_t>(shape.chunks); at < pass; at += 2) {
      forward_blocks.push_back(ends_of_blocks(static_cast<std::size_t>(shape.blocks[at])));
      backward_blocks.push_back(ends_of_blocks(static_cast<std::size_t>(shape.blocks[at + 1])));
    }
  }
  return numbers;
}

ForwardGates lower_gathers(Workload& workload, const PlanShape& shape, const Slots& slots) {
  if (shape.gates.empty()) return {};
  ForwardGates gates(slots.stages,
                     std::vector<std::vector<std::vector<TaskId>>>(static_cast<std::size_t>(shape.chunks)));
  for (std::size_t i = 0; i < shape.gates.size(); ++i) {
    const auto [stage, chunk, block] = shape.gates[i];
    const StageStreams& streams = workload.stages[static_cast<std::size_t>(stage)];
    const TaskId task = workload.graph.add_occupy(streams.data_comm, number(slots.gather(i)));
    workload.note(task, {.stage = static_cast<std::uint16_t>(stage), .kind = TaskMeaning::kParamGather});
    auto& blocks = gates[static_cast<std::size_t>(stage)][static_cast<std::size_t>(chunk)];
    if (blocks.size() <= static_cast<std::size_t>(block)) blocks.resize(static_cast<std::size_t>(block) + 1);
    blocks[static_cast<std::size_t>(block)].push_back(task);
  }
  return gates;
}

}  // namespace

PipelinePlan::PipelinePlan(const PlanShape& shape) {
  const Slots slots(shape);
  expects(shape.blocks.empty() || shape.blocks.size() == slots.passes, "blocks are stated for every pass or for none");
  const auto found = schedule::find_schedule(shape.schedule);
  expects(found.has_value(), "a plan is of a known schedule");
  const schedule::Program program = found->build(
      {.stages = shape.stages, .microbatches = shape.microbatches, .chunks = shape.chunks, .group = shape.group});
  Workload workload;
  add_stage_streams(workload, shape.stages);
  PipelineOptions options{.chunks = shape.chunks,
                          .style = shape.style,
                          .messages = {},
                          .gates = lower_gathers(workload, shape, slots),
                          .gradient_blocks = shape.gradient_blocks,
                          .pass_overhead = shape.stands_still ? number(slots.gather(shape.gates.size())) : Duration{}};
  for (std::size_t stage = 0; stage < slots.stages; ++stage) {
    options.messages.forward.push_back(number(stage));
    options.messages.backward.push_back(number(slots.stages + stage));
  }
  ends_ = lower_pipeline(workload, program, options, *fixed_passes(numbered_passes(shape, slots)));
  order(workload.graph);
}

// Kahn's order: a task comes once all it waits for have come.
void PipelinePlan::order(const des::TaskGraph& graph) {
  const auto tasks = static_cast<std::uint32_t>(graph.tasks());
  std::vector<std::uint32_t> waiting(tasks), next_wait(tasks), order;
  order.reserve(tasks);
  place_.resize(tasks);
  steps_.reserve(tasks + 1);
  for (std::uint32_t task = 0; task < tasks; ++task) {
    waiting[task] = graph.in_degree({task});
    if (waiting[task] == 0) order.push_back(task);
  }
  std::uint32_t waits = 0;
  for (std::uint32_t at = 0; at < order.size(); ++at) {
    const std::uint32_t task = order[at];
    place_[task] = at;
    next_wait[task] = waits;
    const auto slot = static_cast<std::size_t>(graph.duration({task}).ps);
    if (uses_.size() <= slot) uses_.resize(slot + 1);
    ++uses_[slot];
    steps_.push_back({static_cast<std::uint32_t>(slot), waits});
    waits += graph.in_degree({task});
    graph.for_each_successor({task}, [&](TaskId after) {
      if (--waiting[after.value] == 0) order.push_back(after.value);
    });
  }
  expects(order.size() == tasks, "a checked schedule does not deadlock");
  steps_.push_back({0, waits});
  waits_.resize(waits);
  for (std::uint32_t at = 0; at < tasks; ++at)
    graph.for_each_successor({order[at]}, [&](TaskId after) { waits_[next_wait[after.value]++] = at; });
}

std::vector<std::int64_t> PipelinePlan::slots_of(const PlanTimes& times) {
  std::vector<std::int64_t> slots;
  for (const auto* part :
       {&times.messages.forward, &times.messages.backward, &times.passes, &times.block_lengths, &times.gathers})
    for (const Duration duration : *part) slots.push_back(duration.ps);
  slots.push_back(times.pass_overhead.ps);
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
  const std::size_t count = tasks();
  scratch.resize(count);
  std::int64_t* const end = scratch.data();
  const std::uint32_t* wait = waits_.data();
  std::int64_t last = 0;
  for (std::size_t at = 0; at < count; ++at) {
    std::int64_t start = 0;
    for (const std::uint32_t* const stop = waits_.data() + steps_[at + 1].first_wait; wait != stop; ++wait)
      start = std::max(start, end[*wait]);
    end[at] = start + slots[steps_[at].slot];
    last = std::max(last, end[at]);
  }
  PlanRun run{.finished = {}, .gradient_blocks = {}, .last = {last}};
  for (const std::vector<TaskId>& tasks_of_stage : ends_.finished) {
    Instant& finished = run.finished.emplace_back();
    for (const TaskId task : tasks_of_stage) finished = std::max(finished, Instant{end[place_[task.value]]});
  }
  for (const auto& chunks : ends_.gradient_blocks) {
    auto& stage = run.gradient_blocks.emplace_back();
    for (const auto& blocks : chunks) {
      auto& chunk = stage.emplace_back();
      for (const TaskId task : blocks) chunk.push_back({end[place_[task.value]]});
    }
  }
  return run;
}

}  // namespace foretoken::lowering
