// Replays a pipeline schedule into a task graph.
//
// A message is a task on the link from its sender to its receiver. It starts when both sides have posted it and the
// messages before it on that link have ended: NCCL's send and receive kernels meet (a rendezvous), in the order in
// which they were issued. What a side has to do first is its frontier: its last pass and the messages that it waited
// for since. Waiting makes the next pass depend on the message.
#include "sim/lowering/lower_pipeline.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::lowering {
namespace {

using des::Duration;
using des::TaskId;
using schedule::Phase;
using schedule::StageOp;

constexpr TaskId kNoTask{UINT32_MAX};

// The message tasks by sender: [stage][phase][chunk][microbatch].
class Messages {
 public:
  Messages(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
           const VirtualStages& where)
      : chunks_(static_cast<std::size_t>(options.chunks)), microbatches_(program.front().size() / 2 / chunks_) {
    tasks_.assign(program.size() * 2 * chunks_ * microbatches_, kNoTask);
    for (int stage = 0; stage < static_cast<int>(program.size()); ++stage)
      for (const StageOp op : program[static_cast<std::size_t>(stage)])
        if (where.sends(stage, op)) add(workload, stage, op, options);
  }

  [[nodiscard]] std::size_t microbatches() const { return microbatches_; }
  [[nodiscard]] TaskId of(const MessageKey& key) const {
    const TaskId task = tasks_[index(key.stage, key.op)];
    expects(task != kNoTask, "every posted message has a sender");
    return task;
  }

 private:
  [[nodiscard]] std::size_t index(int stage, StageOp op) const {
    const std::size_t phase = op.phase == Phase::kForward ? 0 : 1;
    return ((static_cast<std::size_t>(stage) * 2 + phase) * chunks_ + static_cast<std::size_t>(op.chunk)) *
               microbatches_ +
           static_cast<std::size_t>(op.microbatch);
  }

  void add(Workload& workload, int stage, StageOp op, const PipelineOptions& options) {
    const bool forward = op.phase == Phase::kForward;
    const auto at = static_cast<std::size_t>(stage);
    const Duration duration = forward ? options.messages.forward[at] : options.messages.backward[at];
    const StageStreams& streams = workload.stages[at];
    const TaskId task =
        options.style == MessageStyle::kLatency
            ? workload.graph.add_delay(duration)
            : workload.graph.add_occupy(forward ? streams.send_forward : streams.send_backward, duration);
    tasks_[index(stage, op)] = task;
    workload.note(task, {.stage = static_cast<std::uint16_t>(stage),
                         .chunk = static_cast<std::uint16_t>(op.chunk),
                         .microbatch = static_cast<std::uint32_t>(op.microbatch),
                         .kind = forward ? TaskMeaning::kSendForward : TaskMeaning::kSendBackward});
  }

  std::size_t chunks_, microbatches_;
  std::vector<TaskId> tasks_;
};

// Carries out the host program of one stage.
class StageReplay {
 public:
  StageReplay(Workload& workload, const Messages& messages, const PipelineOptions& options, PassEmitter& emitter,
              int stage)
      : workload_(workload), messages_(messages), options_(options), emitter_(emitter), stage_(stage) {
    const auto chunks = static_cast<std::size_t>(options.chunks);
    forwards_.assign(chunks, 0);
    backwards_.assign(chunks, 0);
    gradient_blocks_.resize(chunks);
  }

  void replay(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      switch (action.kind) {
        case ActionKind::kPost:
          post(action.message);
          break;
        case ActionKind::kWait:
          frontier_.push_back(messages_.of(action.message));
          break;
        case ActionKind::kCompute:
          compute(action.message.op);
          break;
      }
    }
    if (last_ != kNoTask) frontier_.push_back(last_);
  }

  [[nodiscard]] std::vector<TaskId> finished() const { return frontier_; }
  [[nodiscard]] std::vector<std::vector<TaskId>> gradient_blocks() { return std::move(gradient_blocks_); }
  [[nodiscard]] std::int64_t sends() const { return sends_; }

 private:
  void post(const MessageKey& key) {
    const TaskId message = messages_.of(key);
    const bool is_send = key.stage == stage_;
    if (is_send) ++sends_;
    if (options_.style == MessageStyle::kLatency) {
      if (is_send) workload_.graph.add_dependency(last_, message);
      return;
    }
    for (const TaskId before : frontier_) workload_.graph.add_dependency(before, message);
    // What blocking messages waited for since the last pass was itself posted after that pass.
    const bool implied = options_.style == MessageStyle::kBlocking && !frontier_.empty();
    if (last_ != kNoTask && !implied) workload_.graph.add_dependency(last_, message);
  }

  void compute(StageOp op) {
    const auto chunk = static_cast<std::size_t>(op.chunk);
    BlockHooks hooks;
    if (op.phase == Phase::kForward) {
      if (forwards_[chunk]++ == 0 && !options_.gates.empty())
        hooks.gates = &options_.gates[static_cast<std::size_t>(stage_)][chunk];
    } else if (++backwards_[chunk] == messages_.microbatches() && options_.gradient_blocks) {
      hooks.ends = &gradient_blocks_[chunk];
    }
    if (last_ != kNoTask) frontier_.push_back(last_);
    if (options_.pass_overhead.ps > 0) stand_still(op);
    last_ = emitter_.emit(workload_, stage_, op, frontier_, hooks);
    frontier_.clear();
  }

  // Between the pass before, which may end with a collective, and the next one, none of whose streams starts sooner.
  void stand_still(StageOp op) {
    const des::StreamId compute = workload_.stages[static_cast<std::size_t>(stage_)].pass.compute;
    const TaskId still = workload_.graph.add_occupy(compute, options_.pass_overhead);
    if (last_ != kNoTask) workload_.graph.add_dependency(last_, still);
    frontier_.push_back(still);
    workload_.note(still, {.stage = static_cast<std::uint16_t>(stage_),
                           .chunk = static_cast<std::uint16_t>(op.chunk),
                           .microbatch = static_cast<std::uint32_t>(op.microbatch),
                           .kind = TaskMeaning::kPassOverhead});
  }

  Workload& workload_;
  const Messages& messages_;
  const PipelineOptions& options_;
  PassEmitter& emitter_;
  int stage_;
  std::vector<TaskId> frontier_;  // besides the last pass
  TaskId last_ = kNoTask;
  std::vector<std::size_t> forwards_, backwards_;  // passes so far, per chunk
  std::vector<std::vector<TaskId>> gradient_blocks_;
  std::int64_t sends_ = 0;
};

Meaning pass_meaning(int stage, StageOp op) {
  return {.stage = static_cast<std::uint16_t>(stage),
          .chunk = static_cast<std::uint16_t>(op.chunk),
          .microbatch = static_cast<std::uint32_t>(op.microbatch),
          .kind = op.phase == Phase::kForward ? TaskMeaning::kForward : TaskMeaning::kBackward};
}

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
    const auto& table = op.phase == Phase::kForward ? durations.forward : durations.backward;
    return table[static_cast<std::size_t>(stage)][static_cast<std::size_t>(op.chunk)];
  }
  [[nodiscard]] std::vector<Duration> block_ends(int stage, StageOp op) const {
    const auto& table = op.phase == Phase::kForward ? durations.forward_blocks : durations.backward_blocks;
    if (table.empty()) return {total(stage, op)};
    return table[static_cast<std::size_t>(stage)][static_cast<std::size_t>(op.chunk)];
  }
};

struct PassTimes {
  const Passes* passes;
  [[nodiscard]] Duration total(int stage, StageOp op) const { return passes->timing(stage, op.chunk, op.phase).total; }
  [[nodiscard]] std::vector<Duration> block_ends(int stage, StageOp op) const {
    return passes->timing(stage, op.chunk, op.phase).block_ends;
  }
};

class KernelEmitter final : public PassEmitter {
 public:
  explicit KernelEmitter(const Passes& passes) : passes_(passes) {}
  TaskId emit(Workload& workload, int stage, StageOp op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    const auto at = static_cast<std::size_t>(stage);
    const EmittedPass pass =
        emit_kernels(workload.graph, workload.stages[at].pass, passes_.blocks(stage, op.chunk, op.phase), after, hooks);
    for (const EmittedOp& emitted : pass.tasks) {
      Meaning meaning = pass_meaning(stage, op);
      meaning.op = emitted.op;
      if (emitted.op == nullptr) meaning.kind = TaskMeaning::kHostIssue;
      workload.note(emitted.task, meaning);
    }
    workload.passes[at].push_back({pass.tasks.front().task, pass.last, op});
    return pass.last;
  }

 private:
  const Passes& passes_;
};

}  // namespace

void Workload::note(TaskId task, const Meaning& what) {
  expects(task.value == meaning.size(), "tasks are noted in the order of their numbers");
  meaning.push_back(what);
}

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
    const PassStreams pass{graph.add_stream(), graph.add_stream(), graph.add_stream(), graph.add_stream()};
    workload.stages.push_back({pass, graph.add_stream(), graph.add_stream(), graph.add_stream()});
  }
  workload.passes.resize(static_cast<std::size_t>(stages));
}

PipelineEnds lower_pipeline(Workload& workload, const schedule::Program& program, const PipelineOptions& options,
                            PassEmitter& emitter) {
  const int stages = static_cast<int>(program.size());
  const VirtualStages where(stages, options.chunks);
  std::size_t passes = 0;
  for (const auto& ops : program) passes += ops.size();
  workload.graph.reserve(2 * passes, 5 * passes);
  workload.meaning.reserve(2 * passes);
  const Messages messages(workload, program, options, where);
  PipelineEnds ends;
  for (int stage = 0; stage < stages; ++stage) {
    const schedule::StageProgram& ops = program[static_cast<std::size_t>(stage)];
    workload.passes[static_cast<std::size_t>(stage)].reserve(ops.size());
    StageReplay replay(workload, messages, options, emitter, stage);
    replay.replay(stage_actions(ops, stage, where, options.chunks, options.style));
    ends.finished.push_back(replay.finished());
    ends.gradient_blocks.push_back(replay.gradient_blocks());
    ends.most_sends = std::max(ends.most_sends, replay.sends());
  }
  return ends;
}

}  // namespace foretoken::lowering
