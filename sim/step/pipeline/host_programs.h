// Carries out the host programs of all stages: which tasks a pipeline has, and what each of them waits for.
//
// A message is a task on the link from its sender to its receiver. It starts when both sides have posted it and the
// messages before it on that link have ended: NCCL's send and receive kernels meet (a rendezvous), in the order in
// which they were issued. What a side has to do first is its frontier: its last pass and the messages that it waited
// for since. Waiting makes the next pass depend on the message.
//
// What becomes of the tasks is the caller's: lower_pipeline appends them to a graph, PipelinePlan keeps what a replay
// needs. A `Tasks` has
//
//   TaskId message(int stage, StageOp op);         // the output of `op`, after the messages before it on its link
//   TaskId pass(int stage, StageOp op, std::vector<TaskId>& after, std::optional<TaskId> last, const BlockHooks&);
//                                                  // after `after` and the stage's last pass; its last task
//   void add_dependency(TaskId before, TaskId after);
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// The message tasks by sender: [stage][kind][chunk][microbatch].
class Messages {
 public:
  template <class Tasks>
  Messages(Tasks& tasks, const schedule::Program& program, int chunks, const VirtualStages& where)
      : chunks_(static_cast<std::size_t>(chunks)), microbatches_(program.front().size() / 2 / chunks_) {
    tasks_.assign(program.size() * 2 * chunks_ * microbatches_, kNone);
    for (int stage = 0; stage < static_cast<int>(program.size()); ++stage)
      for (const schedule::StageOp op : program[static_cast<std::size_t>(stage)])
        if (where.sends(stage, op)) tasks_[index(stage, op)] = tasks.message(stage, op);
  }

  [[nodiscard]] std::size_t microbatches() const { return microbatches_; }
  [[nodiscard]] des::TaskId of(const MessageKey& key) const {
    const des::TaskId task = tasks_[index(key.stage, key.op)];
    expects(task != kNone, "every posted message has a sender");
    return task;
  }

 private:
  static constexpr des::TaskId kNone{UINT32_MAX};
  [[nodiscard]] std::size_t index(int stage, schedule::StageOp op) const {
    const std::size_t kind = op.kind == schedule::OpKind::kForward ? 0 : 1;
    return ((static_cast<std::size_t>(stage) * 2 + kind) * chunks_ + static_cast<std::size_t>(op.chunk)) *
               microbatches_ +
           static_cast<std::size_t>(op.microbatch);
  }

  std::size_t chunks_, microbatches_;
  std::vector<des::TaskId> tasks_;
};

/// Carries out the host program of one stage.
template <class Tasks>
class HostProgram {
 public:
  HostProgram(Tasks& tasks, const Messages& messages, const PipelineOptions& options, int stage)
      : tasks_(tasks), messages_(messages), options_(options), stage_(stage) {
    const auto chunks = static_cast<std::size_t>(options.chunks);
    forwards_.assign(chunks, 0);
    backwards_.assign(chunks, 0);
    gradient_blocks_.resize(chunks);
  }

  void carry_out(const std::vector<Action>& actions) {
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
    if (last_) frontier_.push_back(*last_);
  }

  /// What the stage has to end last, and what it leaves behind.
  [[nodiscard]] std::vector<des::TaskId> take_frontier() { return std::move(frontier_); }
  [[nodiscard]] std::vector<std::vector<des::TaskId>> take_gradient_blocks() { return std::move(gradient_blocks_); }
  [[nodiscard]] std::int64_t sends() const { return sends_; }

 private:
  void post(const MessageKey& key) {
    const des::TaskId message = messages_.of(key);
    const bool is_send = key.stage == stage_;
    if (is_send) ++sends_;
    if (options_.style == MessageStyle::kLatency) {
      if (is_send) tasks_.add_dependency(*last_, message);
      return;
    }
    for (const des::TaskId before : frontier_) tasks_.add_dependency(before, message);
    // What blocking messages waited for since the last pass was itself posted after that pass.
    const bool implied = options_.style == MessageStyle::kBlocking && !frontier_.empty();
    if (last_ && !implied) tasks_.add_dependency(*last_, message);
  }

  void compute(schedule::StageOp op) {
    const auto chunk = static_cast<std::size_t>(op.chunk);
    BlockHooks hooks;
    if (op.kind == schedule::OpKind::kForward) {
      if (forwards_[chunk]++ == 0 && !options_.gates.empty())
        hooks.gates = &options_.gates[static_cast<std::size_t>(stage_)][chunk];
    } else if (++backwards_[chunk] == messages_.microbatches() && options_.gradient_blocks) {
      hooks.ends = &gradient_blocks_[chunk];
    }
    last_ = tasks_.pass(stage_, op, frontier_, last_, hooks);
    frontier_.clear();
  }

  Tasks& tasks_;
  const Messages& messages_;
  const PipelineOptions& options_;
  int stage_;
  std::vector<des::TaskId> frontier_;  // besides the last pass
  std::optional<des::TaskId> last_;
  std::vector<std::size_t> forwards_, backwards_;  // passes so far, per chunk
  std::vector<std::vector<des::TaskId>> gradient_blocks_;
  std::int64_t sends_ = 0;
};

/// Carries out the whole program.
template <class Tasks>
PipelineEnds carry_out(Tasks& tasks, const schedule::Program& program, const PipelineOptions& options) {
  const VirtualStages where(static_cast<int>(program.size()), options.chunks);
  const Messages messages(tasks, program, options.chunks, where);
  PipelineEnds ends;
  for (int stage = 0; stage < where.stages(); ++stage) {
    const schedule::StageProgram& ops = program[static_cast<std::size_t>(stage)];
    HostProgram<Tasks> host(tasks, messages, options, stage);
    host.carry_out(stage_actions(ops, stage, where, options.chunks, options.style));
    ends.finished.push_back(host.take_frontier());
    ends.gradient_blocks.push_back(host.take_gradient_blocks());
    ends.most_sends = std::max(ends.most_sends, host.sends());
  }
  return ends;
}

}  // namespace foretoken::step
