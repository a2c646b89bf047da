// Writes a pipeline schedule into a task graph.
#include "sim/step/pipeline/lower_pipeline.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"
#include "sim/step/pipeline/graph_tasks.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::step {
namespace {

using des::Duration;
using des::TaskId;
using schedule::StageOp;

constexpr TaskId kNoTask{UINT32_MAX};

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
