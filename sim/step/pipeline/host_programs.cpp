// Follows the actions of each stage, and gives its tasks to the graph.
#include "sim/step/pipeline/host_programs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/check.h"

namespace foretoken::step {
namespace {

/// The message tasks by sender: [stage][chunk][to][microbatch].
class Messages {
 public:
  Messages(GraphTasks& tasks, const schedule::Program& program)
      : chunks_(static_cast<std::size_t>(program.placement.chunks())),
        microbatches_(static_cast<std::size_t>(microbatches_of(program))) {
    tasks_.assign(program.stages.size() * chunks_ * 2 * microbatches_, kUnsent);
    for (const Stage stage : program.stages.ids()) {
      const OpTable<std::optional<schedule::Neighbour>> links = links_from(program.placement, stage);
      for (const schedule::StageOp& op : program.stages[stage]) {
        const std::optional<schedule::Neighbour>& link = links.of(op);
        if (!link) continue;
        const MessageKey message = sent_by(stage, op);
        tasks_[index(message)] = tasks.message(message, *link);
      }
    }
  }

  [[nodiscard]] des::TaskId of(const MessageKey& key) const {
    const des::TaskId task = tasks_[index(key)];
    expects(task != kUnsent, "every posted message has a sender");
    return task;
  }

 private:
  static constexpr des::TaskId kUnsent{UINT32_MAX};
  // Returns the link that the result of an op takes; none where no other stage receives it.
  [[nodiscard]] static OpTable<std::optional<schedule::Neighbour>> links_from(const schedule::Placement& placement,
                                                                              Stage stage) {
    return {placement, [&](const schedule::StageOp& op) {
              return is_sent(placement, stage, op) ? std::optional(link_of(placement, sent_by(stage, op)))
                                                   : std::nullopt;
            }};
  }
  [[nodiscard]] std::size_t index(const MessageKey& key) const {
    const std::size_t place = key.sender.stage.index() * chunks_ + key.sender.chunk.index();
    return (place * 2 + (key.to == schedule::Neighbour::kNext ? 0 : 1)) * microbatches_ + key.microbatch.index();
  }

  std::size_t chunks_, microbatches_;
  std::vector<des::TaskId> tasks_;  // no optional, which would double it: a message is looked up four times
};

/// Carries out the host program of one stage.
class HostProgram {
 public:
  HostProgram(GraphTasks& tasks, const Messages& messages, const PipelineOptions& options,
              const schedule::Program& program, Stage stage)
      : tasks_(tasks),
        messages_(messages),
        options_(options),
        stage_(stage),
        chunk_ends_(program.stages[stage], program.placement.chunks()),
        gradient_blocks_(program.placement.chunks()) {}

  void carry_out(const std::vector<Action>& actions) {
    for (const Action& action : actions) {
      switch (action.kind()) {
        case ActionKind::kPost:
          post(action.message());
          break;
        case ActionKind::kWait:
          frontier_.push_back(messages_.of(action.message()));
          break;
        case ActionKind::kCompute:
          compute(action.op());
          break;
      }
    }
    if (last_) frontier_.push_back(*last_);
  }

  /// Returns the tasks that the stage ends with.
  [[nodiscard]] std::vector<des::TaskId> take_frontier() { return std::move(frontier_); }
  [[nodiscard]] Table<Chunk, std::vector<des::TaskId>> take_gradient_blocks() { return std::move(gradient_blocks_); }
  [[nodiscard]] std::int64_t sends() const { return sends_; }

 private:
  void post(const MessageKey& key) {
    const des::TaskId message = messages_.of(key);
    const bool is_send = key.sender.stage == stage_;
    if (is_send) ++sends_;
    if (options_.policy == MessagePolicy::kLatency || options_.policy == MessagePolicy::kAsProduced) {
      tasks_.add_dependency(*last_, message);
      return;
    }
    for (const des::TaskId before : frontier_) tasks_.add_dependency(before, message);
    // The messages that a blocking frontier waits for were posted after the last pass.
    const bool implied = options_.policy == MessagePolicy::kBlocking && !frontier_.empty();
    if (last_ && !implied) tasks_.add_dependency(*last_, message);
  }

  void compute(const schedule::StageOp& op) {
    if (op.kind == schedule::OpKind::kUpdate) return update(op);
    if (!traits(op.kind).is_pass) return move(op);
    BlockHooks hooks;
    if (chunk_ends_.is_first(op.chunk, computed_) && !options_.gates.empty())
      hooks.gates = &options_.gates[stage_][op.chunk];
    if (chunk_ends_.completes_gradients(op.chunk, computed_) && options_.gradient_blocks)
      hooks.ends = &gradient_blocks_[op.chunk];
    ++computed_;
    before_last_ = std::exchange(last_, tasks_.pass(stage_, op, frontier_, last_, hooks));
    frontier_.clear();
    if (options_.update && traits(op.kind).makes.has(schedule::Result::kWeightGradient)) backwards_.push_back(*last_);
  }

  void update(const schedule::StageOp& op) {
    ++computed_;
    // Of several chunks each micro-batch has several backward passes. The update then counts the last pass of all.
    const bool one_chunk = gradient_blocks_.size() <= 1;
    last_ = tasks_.update(stage_, op, one_chunk ? backwards_.at(op.microbatch.index()) : *last_, *last_);
  }

  void move(const schedule::StageOp& op) {
    ++computed_;
    const std::optional<des::TaskId> task = tasks_.move(stage_, op);
    if (!task) return;
    const std::optional<des::TaskId>& after = op.kind == schedule::OpKind::kSendAway ? last_ : before_last_;
    if (after) tasks_.add_dependency(*after, *task);
    frontier_.push_back(*task);
  }

  GraphTasks& tasks_;
  const Messages& messages_;
  const PipelineOptions& options_;
  Stage stage_;
  ChunkEnds chunk_ends_;
  std::vector<des::TaskId> frontier_;              // without the last pass
  std::optional<des::TaskId> last_, before_last_;  // passes
  std::size_t computed_ = 0;                       // ops so far
  Table<Chunk, std::vector<des::TaskId>> gradient_blocks_;
  std::int64_t sends_ = 0;
  std::vector<des::TaskId> backwards_;  // by micro-batch; only where weights change inside the pipeline
};

}  // namespace

PipelineEnds carry_out(GraphTasks& tasks, const schedule::Program& program, const PipelineOptions& options) {
  const Messages messages(tasks, program);
  PipelineEnds ends;
  for (const Stage stage : program.stages.ids()) {
    HostProgram host(tasks, messages, options, program, stage);
    host.carry_out(stage_actions(program, stage, options.policy));
    ends.finished.push_back(host.take_frontier());
    ends.gradient_blocks.push_back(host.take_gradient_blocks());
    ends.most_sends = std::max(ends.most_sends, host.sends());
  }
  return ends;
}

}  // namespace foretoken::step
