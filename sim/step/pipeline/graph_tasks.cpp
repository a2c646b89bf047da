// Appends tasks with their meanings and rows.
#include "sim/step/pipeline/graph_tasks.h"

namespace foretoken::step {

using des::Duration;
using des::TaskId;
using schedule::Neighbour;
using schedule::OpKind;
using schedule::StageOp;

Meaning meaning_of(Stage stage, const StageOp& op, TaskMeaning kind) {
  return {.stage = stage, .chunk = op.chunk, .microbatch = op.microbatch, .kind = kind, .pass = op.kind};
}

TaskId GraphTasks::message(const MessageKey& key, Neighbour link) {
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

TaskId GraphTasks::pass(Stage stage, const StageOp& op, std::vector<TaskId>& after, std::optional<TaskId> last,
                        const BlockHooks& hooks) {
  if (last) after.push_back(*last);
  if (options_.pass_overhead.ps > 0) after.push_back(stand_still(stage, op, last));
  return emitter_.emit(workload_, stage, op, after, hooks);
}

std::optional<TaskId> GraphTasks::move(Stage stage, const StageOp& op) {
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

// Returns the row of a message. All messages of a stage that carry the same on the same link share one.
CommunicationId GraphTasks::row_of(Stage from, Neighbour carries_to, Neighbour link) {
  std::optional<CommunicationId>& id = rows_[from][carries_to == link ? 0 : 1][link == Neighbour::kNext ? 0 : 1];
  if (id) return *id;
  const int stages = static_cast<int>(workload_.stages.size());
  const int step = link == Neighbour::kNext ? 1 : stages - 1;
  const Stage to = id_of<Stage>((from.number() + step) % stages);
  const Purpose purpose = carries_to == Neighbour::kNext ? Purpose::kActivations : Purpose::kActivationGradients;
  id = workload_.add(options_.message_row ? options_.message_row(from, to, purpose) : bare_message(from, to, purpose));
  return *id;
}

// Adds the wait between two passes. The pass before may end with a collective. No stream of the next pass starts
// sooner.
TaskId GraphTasks::stand_still(Stage stage, const StageOp& op, std::optional<TaskId> last) {
  const des::StreamId compute = workload_.stages[stage].pass.compute;
  const TaskId still = workload_.graph.add_occupy(compute, options_.pass_overhead);
  if (last) workload_.graph.add_dependency(*last, still);
  workload_.note(still, meaning_of(stage, op, TaskMeaning::kPassOverhead));
  return still;
}

}  // namespace foretoken::step
