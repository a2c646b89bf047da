// Replays a pipeline schedule into a task graph.
#include "sim/step/pipeline/lower_pipeline.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::TaskId;
using schedule::OpKind;
using schedule::StageOp;

constexpr TaskId kNoTask{UINT32_MAX};

Meaning meaning_of(int stage, StageOp op, TaskMeaning kind) {
  return {.stage = static_cast<std::uint16_t>(stage),
          .chunk = static_cast<std::uint16_t>(op.chunk),
          .microbatch = static_cast<std::uint32_t>(op.microbatch),
          .kind = kind,
          .pass = op.kind};
}

Meaning pass_meaning(int stage, StageOp op) { return meaning_of(stage, op, TaskMeaning::kPass); }

// One task a pass, or one a block when something hangs on its blocks. `times` gives the duration of a pass and the ends
// of its blocks.
template <class Times>
class OneTaskEmitter final : public PassEmitter {
 public:
  explicit OneTaskEmitter(Times times) : times_(std::move(times)) {}

  TaskId emit(Workload& workload, int stage, StageOp op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    std::vector<PassTasks>& passes = workload.passes[static_cast<std::size_t>(stage)];
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
  static TaskId append(Workload& workload, int stage, StageOp op, Duration duration, const std::vector<TaskId>& after) {
    const auto at = static_cast<std::size_t>(stage);
    const std::vector<PassTasks>& passes = workload.passes[at];
    const TaskId task = workload.graph.add_occupy(workload.stages[at].pass.compute, duration);
    for (const TaskId before : after)  // the stream's order implies the pass before
      if (passes.empty() || before != passes.back().last) workload.graph.add_dependency(before, task);
    workload.note(task, pass_meaning(stage, op));
    return task;
  }

  Times times_;
};

struct FixedTimes {
  PassDurations durations;
  [[nodiscard]] Duration total(int stage, StageOp op) const {
    const auto& table = op.kind == OpKind::kForward ? durations.forward : durations.backward;
    return table[static_cast<std::size_t>(stage)][static_cast<std::size_t>(op.chunk)];
  }
  [[nodiscard]] std::vector<Duration> block_ends(int stage, StageOp op) const {
    const auto& table = op.kind == OpKind::kForward ? durations.forward_blocks : durations.backward_blocks;
    if (table.empty()) return {total(stage, op)};
    return table[static_cast<std::size_t>(stage)][static_cast<std::size_t>(op.chunk)];
  }
};

struct PassTimes {
  const Passes* passes;
  [[nodiscard]] Duration total(int stage, StageOp op) const { return passes->timing(stage, op.chunk, op.kind).total; }
  [[nodiscard]] std::vector<Duration> block_ends(int stage, StageOp op) const {
    return passes->timing(stage, op.chunk, op.kind).block_ends;
  }
};

class KernelEmitter final : public PassEmitter {
 public:
  explicit KernelEmitter(const Passes& passes) : passes_(passes) {}
  TaskId emit(Workload& workload, int stage, StageOp op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    const auto at = static_cast<std::size_t>(stage);
    const EmittedPass pass =
        emit_kernels(workload.graph, workload.stages[at].pass, passes_.blocks(stage, op.chunk, op.kind), after, hooks);
    for (const EmittedOp& emitted : pass.tasks) {
      Meaning meaning = pass_meaning(stage, op);
      meaning.op = emitted.op;
      if (emitted.op == nullptr) {
        meaning.kind = TaskMeaning::kHostIssue;
      } else if (emitted.op->communication) {
        meaning.communication = {workload.pass_rows[at].value + emitted.op->communication->value};
      }
      workload.note(emitted.task, meaning);
    }
    workload.passes[at].push_back({pass.tasks.front().task, pass.last, op});
    return pass.last;
  }

 private:
  const Passes& passes_;
};

// Tasks of a pipeline as they stand in a graph (host_programs.h).
class GraphTasks {
 public:
  GraphTasks(Workload& workload, const PipelineOptions& options, PassEmitter& emitter)
      : workload_(workload),
        options_(options),
        emitter_(emitter),
        onward_(workload.stages.size()),
        back_(workload.stages.size()) {}

  TaskId message(int stage, StageOp op) {
    const bool forward = op.kind == OpKind::kForward;
    const auto at = static_cast<std::size_t>(stage);
    const Duration duration = forward ? options_.messages.forward[at] : options_.messages.backward[at];
    const StageStreams& streams = workload_.stages[at];
    const TaskId task =
        options_.style == MessageStyle::kLatency
            ? workload_.graph.add_delay(duration)
            : workload_.graph.add_occupy(forward ? streams.send_forward : streams.send_backward, duration);
    Meaning meaning = meaning_of(stage, op, TaskMeaning::kCommunication);
    meaning.communication = row_of(stage, forward);
    workload_.note(task, meaning);
    return task;
  }

  TaskId pass(int stage, StageOp op, std::vector<TaskId>& after, std::optional<TaskId> last, const BlockHooks& hooks) {
    if (last) after.push_back(*last);
    if (options_.pass_overhead.ps > 0) after.push_back(stand_still(stage, op, last));
    return emitter_.emit(workload_, stage, op, after, hooks);
  }

  void add_dependency(TaskId before, TaskId after) { workload_.graph.add_dependency(before, after); }

 private:
  // All messages of a stage that go the same way have one row.
  CommunicationId row_of(int stage, bool forward) {
    const auto at = static_cast<std::size_t>(stage);
    const int stages = static_cast<int>(workload_.stages.size());
    std::optional<CommunicationId>& id = (forward ? onward_ : back_)[at];
    if (id) return *id;
    const Stage from = id_of<Stage>(stage), to = id_of<Stage>((stage + (forward ? 1 : stages - 1)) % stages);
    const Purpose purpose = forward ? Purpose::kActivations : Purpose::kActivationGradients;
    id =
        workload_.add(options_.message_row ? options_.message_row(from, to, purpose) : bare_message(from, to, purpose));
    return *id;
  }

  // Between the pass before, which may end with a collective, and the next one, none of whose streams starts sooner.
  TaskId stand_still(int stage, StageOp op, std::optional<TaskId> last) {
    const des::StreamId compute = workload_.stages[static_cast<std::size_t>(stage)].pass.compute;
    const TaskId still = workload_.graph.add_occupy(compute, options_.pass_overhead);
    if (last) workload_.graph.add_dependency(*last, still);
    workload_.note(still, meaning_of(stage, op, TaskMeaning::kPassOverhead));
    return still;
  }

  Workload& workload_;
  const PipelineOptions& options_;
  PassEmitter& emitter_;
  std::vector<std::optional<CommunicationId>> onward_, back_;  // by sender
};

}  // namespace

std::unique_ptr<PassEmitter> fixed_passes(const PassDurations& durations) {
  return std::make_unique<OneTaskEmitter<FixedTimes>>(FixedTimes{durations});
}

std::unique_ptr<PassEmitter> stage_passes(const Passes& passes) {
  return std::make_unique<OneTaskEmitter<PassTimes>>(PassTimes{&passes});
}

std::unique_ptr<PassEmitter> kernel_passes(const Passes& passes) { return std::make_unique<KernelEmitter>(passes); }

void add_stage_streams(Workload& workload, int stages) {
  des::TaskGraph& graph = workload.graph;
  for (int stage = 0; stage < stages; ++stage) {
    const PassStreams pass = add_pass_streams(graph, net::kStageAxes);
    workload.stages.push_back({pass, graph.add_stream(), graph.add_stream()});
  }
  workload.passes.resize(static_cast<std::size_t>(stages));
}

PipelineEnds lower_pipeline(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
                            PassEmitter& emitter) {
  std::size_t passes = 0;
  for (std::size_t stage = 0; stage < program.size(); ++stage) {
    passes += program[stage].size();
    workload.passes[stage].reserve(program[stage].size());
  }
  const std::size_t tasks = (options.pass_overhead.ps > 0 ? 3 : 2) * passes;  // with a message a pass
  workload.graph.reserve(tasks, 5 * passes);
  workload.meaning.reserve(tasks);
  GraphTasks graph(workload, options, emitter);
  return carry_out(graph, program, options);
}

}  // namespace foretoken::step
