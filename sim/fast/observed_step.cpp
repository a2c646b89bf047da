// Walks the pipeline of a step, runs the few tasks around it, and observes both.
#include "sim/fast/observed_step.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/base/check.h"
#include "sim/des/engine.h"
#include "sim/fast/pipeline_walk.h"
#include "sim/fast/step_end.h"
#include "sim/observe/stage_spans.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/replicas/lower_data_parallel.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using des::Instant;
using schedule::Neighbour;
using schedule::OpKind;

// The passes of a kind of one chunk, and their number on a stage.
struct PassCount {
  Chunk chunk;
  OpKind kind;
  std::int64_t count;
};

std::vector<PassCount> count_passes(const schedule::StageProgram& ops, std::size_t chunks) {
  std::vector<std::array<std::int64_t, schedule::kOpKinds>> counts(chunks);
  for (const schedule::StageOp& op : ops) ++counts[op.chunk.index()][static_cast<std::size_t>(op.kind)];
  std::vector<PassCount> passes;
  for (const Chunk chunk : ids<Chunk>(chunks))
    for (const schedule::OpTraits& kind : schedule::kOpTraits)
      if (const std::int64_t count = counts[chunk.index()][static_cast<std::size_t>(kind.kind)];
          kind.is_pass && count > 0)
        passes.push_back({chunk, kind.kind, count});
  return passes;
}

// The tasks around a pipeline: gathers of parameters before it, and the end of the step.
class Around {
 public:
  explicit Around(const job::Job& job, const step::BlockParameters& trained) : job_(job), trained_(trained) {
    add_streams(workload_, job);
    gates_ = step::lower_parameter_gather(workload_, job, trained);
  }

  // Returns the instants at which the gathers before blocks end.
  [[nodiscard]] BlockEnds gates() const {
    BlockEnds instants;
    if (gates_.empty()) return instants;
    const des::RunResult run = des::run(workload_.graph);
    for (const auto& stage : gates_) {
      auto& chunks = instants.emplace_back();
      for (const auto& chunk : stage) {
        auto& blocks = chunks.emplace_back();
        for (const auto& tasks : chunk) {
          Instant& gate = blocks.emplace_back();
          for (const des::TaskId task : tasks) gate = std::max(gate, run.end[task.value]);
        }
      }
    }
    return instants;
  }

  void finish(const PlanRun& pipeline) {
    known_begin_ = workload_.graph.tasks();
    const step::PipelineEnds ends = add_known_ends(workload_, pipeline);
    known_end_ = workload_.graph.tasks();
    step::lower_step_end(workload_, job_, trained_, ends);
    run_ = des::run(workload_.graph);
    expects(run_.stuck.empty(), "the end of a step does not deadlock");
  }

  [[nodiscard]] Instant makespan() const { return run_.makespan; }
  [[nodiscard]] std::size_t tasks() const { return workload_.graph.tasks() - (known_end_ - known_begin_); }

  // Calls f(task) for every task that is not one of the pipeline.
  template <class F>
  void for_each_task(F f) const {
    for (std::size_t task = 0; task < workload_.graph.tasks(); ++task)
      if (task < known_begin_ || task >= known_end_) f(des::TaskId{static_cast<std::uint32_t>(task)});
  }

  [[nodiscard]] double total_ps() const {
    double total = 0;
    for_each_task([&](des::TaskId task) { total += static_cast<double>(workload_.graph.duration(task).ps); });
    return total;
  }

  void add_to(observe::StageSpans& spans, Stage stage) const {
    for_each_task([&](des::TaskId task) {
      const step::Meaning& meaning = workload_.meaning[task.value];
      const Interval span{run_.start[task.value].ps, run_.end[task.value].ps};
      if (const step::Communication* const row = workload_.communication_of(meaning)) {
        if (row->involves(stage)) spans.add_communication(*row, span);
      } else if (meaning.stage == stage) {
        spans.add_task(meaning.kind, span);
      }
    });
  }

 private:
  const job::Job& job_;
  const step::BlockParameters& trained_;
  step::Workload workload_;
  step::ForwardGates gates_;
  std::size_t known_begin_ = 0, known_end_ = 0;
  des::RunResult run_;
};

// Adds the messages of a walk that `stage` takes part in, with the rows that describe them.
void add_messages(observe::StageSpans& spans, const job::Job& job, const Walk& walk, Stage stage) {
  const job::Parts parts(job);
  const int stages = job.parallelism.pipeline;
  std::vector<step::Communication> rows;
  for (const WalkedMessage& message : walk.shown.messages) {
    const int onward = message.link == Neighbour::kNext ? 1 : stages - 1;
    const Stage to = id_of<Stage>((message.from.number() + onward) % stages);
    const step::Purpose purpose =
        message.carries_to == Neighbour::kNext ? step::Purpose::kActivations : step::Purpose::kActivationGradients;
    auto row = std::ranges::find_if(
        rows, [&](const auto& each) { return each.from == message.from && each.to == to && each.purpose == purpose; });
    if (row == rows.end()) {
      rows.push_back(step::message_between(job, parts, message.from, to, purpose));
      row = rows.end() - 1;
    }
    spans.add_communication(*row, message.span);
  }
  const step::JobMemory memory(job);
  for (const WalkedMove& move : walk.moves) {
    const step::Communication row =
        step::move_between(job, parts, move.from, memory.of_pass(move.from, Chunk{0}).stash);
    if (row.involves(stage)) spans.add_communication(row, move.span);
  }
}

observe::StageSplit split_of_busiest(const job::Job& job, const step::LoweredStep& step, const Walk& walk,
                                     const Around& around, Stage stage, Duration makespan) {
  observe::StageSpans spans;
  for (const PassCount& each :
       count_passes(step.program.stages[stage], static_cast<std::size_t>(step.program.placement.chunks())))
    spans.add_work(step.passes->timing(stage, each.chunk, each.kind), each.count);
  for (const Interval& pass : walk.shown.passes) spans.add_pass(pass);
  for (const Interval& part : walk.shown.parts) spans.add_task(step::TaskMeaning::kPass, part);
  for (const Interval& still : walk.shown.between) spans.add_task(step::TaskMeaning::kPassOverhead, still);
  add_messages(spans, job, walk, stage);
  around.add_to(spans, stage);
  return std::move(spans).split(makespan);
}

// Adds the stages with their busy times, and finds the busiest.
void add_busy_times(observe::Observations& observed, const step::LoweredStep& step) {
  for (const Stage stage : step.program.stages.ids()) {
    observe::StageActivity& activity = observed.stages.emplace_back();
    for (const PassCount& each :
         count_passes(step.program.stages[stage], static_cast<std::size_t>(step.program.placement.chunks())))
      activity.busy += each.count * step.passes->timing(stage, each.chunk, each.kind).total;
    if (activity.busy > observed.stages[observed.busiest_stage].busy) observed.busiest_stage = stage;
  }
}

}  // namespace

bool has_observed_step(const job::Job& job) {
  return !job.optimizer.shards_gradients() && !job.offload.any() && !job.overlaps_steps() &&
         job.imperfections.imbalanced_experts.empty();
}

ObservedStep observe_step(const job::Job& job) {
  constexpr double kLongest = 9e18;  // picoseconds over all tasks, as in lower()
  ObservedStep result;
  step::LoweredStep& step = result.step;
  step.imbalance = job.routing.imbalance_in_times();
  step.program = step::program_of(job);
  step.passes = std::make_unique<step::Passes>(job);
  step.message = step::message_bytes(job);

  observe::Observations& observed = result.observations;
  add_busy_times(observed, step);
  Around around(job, step.passes->trained());
  const Walk walk = walk_pipeline({.program = step.program,
                                   .passes = *step.passes,
                                   .policy = step::message_policy(job),
                                   .messages = step::message_durations(job),
                                   .moves = step::move_durations(job),
                                   .gates = around.gates(),
                                   .gradient_blocks = job.overlap.grad_reduce,
                                   .pass_overhead = step::pass_overhead(job),
                                   .shown = observed.busiest_stage});
  around.finish(walk.ends);
  if (walk.total_ps + around.total_ps() > kLongest) des::refuse_endless_step();
  step.most_sends = walk.most_sends;
  result.tasks = walk.tasks + around.tasks();

  observed.makespan = std::max(around.makespan(), walk.ends.last) - Instant{};
  for (const Stage stage : observed.stages.ids()) {
    observed.stages[stage].first_forward_start = walk.first_forward_start[stage];
    observed.stages[stage].last_backward_end = walk.last_backward_end[stage];
  }
  observed.busiest = split_of_busiest(job, step, walk, around, observed.busiest_stage, observed.makespan);
  result.memory = observe::memory_peaks(job, step.program);
  return result;
}

}  // namespace foretoken::fast
