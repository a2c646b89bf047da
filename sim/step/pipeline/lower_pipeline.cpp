// Writes a pipeline schedule into a task graph.
#include "sim/step/pipeline/lower_pipeline.h"

#include <algorithm>
#include <array>
#include <optional>

#include "sim/base/check.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::TaskId;
using schedule::Neighbour;
using schedule::OpKind;
using schedule::StageOp;

constexpr TaskId kNoTask{UINT32_MAX};

Meaning meaning_of(Stage stage, const StageOp& op, TaskMeaning kind) {
  return {.stage = stage, .chunk = op.chunk, .microbatch = op.microbatch, .kind = kind, .pass = op.kind};
}

Meaning pass_meaning(Stage stage, const StageOp& op) { return meaning_of(stage, op, TaskMeaning::kPass); }

// Emits one task a pass, or one a block when other tasks depend on its blocks. `times` gives the duration of a pass and
// the ends of its blocks.
template <class Times>
class OneTaskEmitter final : public PassEmitter {
 public:
  explicit OneTaskEmitter(Times times) : times_(std::move(times)) {}

  TaskId emit(Workload& workload, Stage stage, const StageOp& op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    std::vector<PassTasks>& passes = workload.passes[stage];
    if (!hooks.any()) {
      const TaskId task = append(workload, stage, op, times_.total(stage, op), after);
      passes.push_back({task, task, op});
      return task;
    }
    const std::vector<Duration> ends = times_.block_ends(stage, op);
    TaskId first = kNoTask, last = kNoTask;
    Duration before;
    for (std::size_t b = 0; b < ends.size(); ++b) {
      std::vector<TaskId> wait = b == 0 ? after : std::vector<TaskId>{};
      if (hooks.gates != nullptr && b < hooks.gates->size())
        wait.insert(wait.end(), (*hooks.gates)[b].begin(), (*hooks.gates)[b].end());
      last = append(workload, stage, op, ends[b] - before, wait);
      if (b == 0) first = last;
      before = ends[b];
      if (hooks.ends != nullptr) hooks.ends->push_back(last);
    }
    passes.push_back({first, last, op});
    return last;
  }

 private:
  static TaskId append(Workload& workload, Stage stage, const StageOp& op, Duration duration,
                       const std::vector<TaskId>& after) {
    const std::vector<PassTasks>& passes = workload.passes[stage];
    const TaskId task = workload.graph.add_occupy(workload.stages[stage].pass.compute, duration);
    for (const TaskId before : after)  // the stream's order already implies the pass before
      if (passes.empty() || before != passes.back().last) workload.graph.add_dependency(before, task);
    workload.note(task, pass_meaning(stage, op));
    return task;
  }

  Times times_;
};

struct FixedTimes {
  PassDurations durations;
  [[nodiscard]] Duration total(Stage stage, const StageOp& op) const { return durations.at(op.kind)[stage][op.chunk]; }
  [[nodiscard]] std::vector<Duration> block_ends(Stage stage, const StageOp& op) const { return {total(stage, op)}; }
};

const PassTiming& timing_of(const Passes& passes, Stage stage, const StageOp& op) {
  return passes.timing(stage, op.chunk, op.kind);
}

struct PassTimes {
  const Passes* passes;
  [[nodiscard]] Duration total(Stage stage, const StageOp& op) const { return timing_of(*passes, stage, op).total; }
  [[nodiscard]] std::vector<Duration> block_ends(Stage stage, const StageOp& op) const {
    return timing_of(*passes, stage, op).block_ends;
  }
};

class KernelEmitter final : public PassEmitter {
 public:
  explicit KernelEmitter(const Passes& passes) : passes_(passes) {}
  TaskId emit(Workload& workload, Stage stage, const StageOp& op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    const PassBlocks& blocks = passes_.blocks(stage, op.chunk, op.kind);
    const EmittedPass pass = emit_kernels(workload.graph, workload.stages[stage].pass, blocks, after, hooks);
    for (const EmittedOp& emitted : pass.tasks) {
      Meaning meaning = pass_meaning(stage, op);
      meaning.op = emitted.op;
      if (emitted.op == nullptr) {
        meaning.kind = TaskMeaning::kHostIssue;
      } else if (emitted.op->communication) {
        meaning.communication = {workload.pass_rows[stage].value + emitted.op->communication->value};
      }
      workload.note(emitted.task, meaning);
    }
    workload.passes[stage].push_back({pass.tasks.front().task, pass.last, op});
    return pass.last;
  }

 private:
  const Passes& passes_;
};

// Makes the tasks of a pipeline in a graph (host_programs.h).
class GraphTasks {
 public:
  GraphTasks(Workload& workload, const PipelineOptions& options, PassEmitter& emitter)
      : workload_(workload),
        options_(options),
        emitter_(emitter),
        rows_(workload.stages.size()),
        move_rows_(workload.stages.size()) {}

  TaskId message(const MessageKey& key, Neighbour link) {
    const Stage sender = key.sender.stage;
    const Duration duration = options_.messages.of(sender, link);
    const StageStreams& streams = workload_.stages[sender];
    const des::StreamId stream = link == Neighbour::kNext ? streams.send_forward : streams.send_backward;
    const TaskId task = options_.policy == MessagePolicy::kLatency ? workload_.graph.add_delay(duration)
                                                                   : workload_.graph.add_occupy(stream, duration);
    const OpKind made_by = key.to == Neighbour::kNext ? OpKind::kForward : OpKind::kBackward;
    Meaning meaning = meaning_of(sender, {made_by, key.microbatch, key.sender.chunk}, TaskMeaning::kCommunication);
    meaning.communication = row_of(sender, key.to, link);
    workload_.note(task, meaning);
    return task;
  }

  TaskId pass(Stage stage, const StageOp& op, std::vector<TaskId>& after, std::optional<TaskId> last,
              const BlockHooks& hooks) {
    if (last) after.push_back(*last);
    if (options_.pass_overhead.ps > 0) after.push_back(stand_still(stage, op, last));
    return emitter_.emit(workload_, stage, op, after, hooks);
  }

  TaskId update(Stage stage, const StageOp& op, TaskId ready, TaskId last) {
    return options_.update(stage, op, ready, last);
  }

  std::optional<TaskId> move(Stage stage, const StageOp& op) {
    if (options_.moves.empty()) return std::nullopt;
    std::optional<des::StreamId>& stream = workload_.stages[stage].moves;
    if (!stream) {
      stream = workload_.graph.add_stream();
      move_rows_[stage] = workload_.add(options_.move_row(stage));
    }
    const TaskId task = workload_.graph.add_occupy(*stream, options_.moves[stage]);
    Meaning meaning = meaning_of(stage, op, TaskMeaning::kCommunication);
    meaning.communication = move_rows_[stage];
    workload_.note(task, meaning);
    workload_.moves[stage].push_back({task, task, op});
    return task;
  }

  void add_dependency(TaskId before, TaskId after) { workload_.graph.add_dependency(before, after); }

 private:
  // Returns the row of a message. All messages of a stage that carry the same on the same link share one.
  CommunicationId row_of(Stage from, Neighbour carries_to, Neighbour link) {
    std::optional<CommunicationId>& id = rows_[from][carries_to == link ? 0 : 1][link == Neighbour::kNext ? 0 : 1];
    if (id) return *id;
    const int stages = static_cast<int>(workload_.stages.size());
    const int step = link == Neighbour::kNext ? 1 : stages - 1;
    const Stage to = id_of<Stage>((from.number() + step) % stages);
    const Purpose purpose = carries_to == Neighbour::kNext ? Purpose::kActivations : Purpose::kActivationGradients;
    id =
        workload_.add(options_.message_row ? options_.message_row(from, to, purpose) : bare_message(from, to, purpose));
    return *id;
  }

  // Adds the wait between two passes. The pass before may end with a collective. No stream of the next pass starts
  // sooner.
  TaskId stand_still(Stage stage, const StageOp& op, std::optional<TaskId> last) {
    const des::StreamId compute = workload_.stages[stage].pass.compute;
    const TaskId still = workload_.graph.add_occupy(compute, options_.pass_overhead);
    if (last) workload_.graph.add_dependency(*last, still);
    workload_.note(still, meaning_of(stage, op, TaskMeaning::kPassOverhead));
    return still;
  }

  Workload& workload_;
  const PipelineOptions& options_;
  PassEmitter& emitter_;
  Table<Stage, std::array<std::array<std::optional<CommunicationId>, 2>, 2>> rows_;  // by sender
  Table<Stage, std::optional<CommunicationId>> move_rows_;
};

}  // namespace

std::unique_ptr<PassEmitter> fixed_passes(PassDurations durations) {
  return std::make_unique<OneTaskEmitter<FixedTimes>>(FixedTimes{std::move(durations)});
}

std::unique_ptr<PassEmitter> stage_passes(const Passes& passes) {
  return std::make_unique<OneTaskEmitter<PassTimes>>(PassTimes{&passes});
}

std::unique_ptr<PassEmitter> kernel_passes(const Passes& passes) { return std::make_unique<KernelEmitter>(passes); }

AxisSet stage_axes(const job::Job& job) {
  const AxisSet experts{Axis::kExpertTensor, Axis::kExpert};
  return job.model.experts ? net::kStageAxes | experts : net::kStageAxes;
}

void add_stage_streams(Workload& workload, int stages, AxisSet axes) {
  des::TaskGraph& graph = workload.graph;
  const auto count = static_cast<std::size_t>(stages);
  graph.reserve_streams((kAxes + 4) * count);  // compute, host, the links to both neighbours, the axes
  workload.stages.reserve(count);
  for (int stage = 0; stage < stages; ++stage) {
    const PassStreams pass = add_pass_streams(graph, axes);
    workload.stages.push_back({pass, graph.add_stream(), graph.add_stream()});
  }
  workload.passes.resize(count);
  workload.moves.resize(count);
}

PipelineEnds lower_pipeline(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
                            PassEmitter& emitter) {
  std::size_t passes = 0;
  for (const Stage stage : program.stages.ids()) {
    passes += program.stages[stage].size();
    workload.passes[stage].reserve(program.stages[stage].size());
  }
  const std::size_t tasks = (options.pass_overhead.ps > 0 ? 3 : 2) * passes;  // with a message a pass
  workload.graph.reserve(tasks, 5 * passes);
  workload.meaning.reserve(tasks);
  GraphTasks graph(workload, options, emitter);
  return carry_out(graph, program, options);
}

}  // namespace foretoken::step
