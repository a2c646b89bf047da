// When a stage posts and waits for its pipeline messages.
//
// Blocking, one chunk: between two passes the first one's output is sent and the second one's input received; with the
// same neighbour both go in one batch (send_forward_recv_backward), with different ones the send comes first.
// Blocking, interleaved: warm-up and cool-down passes stand alone, the steady state goes in forward-backward pairs; one
// batch between two groups holds all outputs of the first and all inputs of the second.
// Overlapped, interleaved: in the steady state an output is sent, and the input of the next pass of the same direction
// awaited, beside the pass in between; warm-up and cool-down block as before.
#include "sim/step/pipeline/pipeline_actions.h"

#include <optional>

namespace foretoken::step {
namespace {

using schedule::OpKind;
using schedule::StageOp;
using schedule::StageProgram;

// Passes [begin, end) of a program that run without a message in between.
struct Group {
  std::size_t begin, end;
};

// Warm-up forwards, forward-backward pairs, cool-down backwards. When all forwards are warm-up (few micro-batches)
// there is no pair: the first backward needs what the last forward sends.
std::vector<Group> groups_of(const StageProgram& program, bool pairs) {
  std::size_t warm_up = 0;
  while (warm_up < program.size() && program[warm_up].kind == OpKind::kForward) ++warm_up;
  const bool steady = pairs && warm_up < program.size() / 2;
  std::vector<Group> groups;
  for (std::size_t at = 0; at < program.size();) {
    const bool pair = steady && at + 1 < program.size() && program[at].kind == OpKind::kForward &&
                      program[at + 1].kind == OpKind::kBackward;
    groups.push_back({at, at + (pair ? 2 : 1)});
    at = groups.back().end;
  }
  return groups;
}

// The message that a stage receives before each pass of its program. It is the pass's own input, except where the
// pipeline wraps around (the first stage's forwards, the last stage's backwards): there messages arrive in the order in
// which the other end sends them, p passes behind, and may wait for their pass when micro-batch groups exceed p
// (schedules.py, recv_tensor_from_previous_stage).
std::vector<std::optional<MessageKey>> received_before(const StageProgram& program, int stage,
                                                       const VirtualStages& where, bool in_order_of_need) {
  std::vector<std::optional<MessageKey>> result(program.size());
  std::vector<StageOp> forwards, backwards;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const StageOp op = program[at];
    if (in_order_of_need || !where.wraps(stage, op.kind)) {
      if (where.receives(stage, op)) result[at] = where.needed(stage, op);
      continue;
    }
    std::vector<StageOp>& sequence = op.kind == OpKind::kForward ? forwards : backwards;
    sequence.push_back(op);
    const auto behind = static_cast<std::size_t>(where.stages());
    if (sequence.size() <= behind) continue;
    const StageOp sent = sequence[sequence.size() - 1 - behind];
    const int sender = op.kind == OpKind::kForward ? where.stages() - 1 : 0;
    if (where.sends(sender, sent)) result[at] = MessageKey{sender, sent};
  }
  return result;
}

class ActionWriter {
 public:
  ActionWriter(const StageProgram& program, int stage, const VirtualStages& where, bool in_order_of_need = false)
      : program_(program),
        stage_(stage),
        where_(where),
        received_(received_before(program, stage, where, in_order_of_need)) {
    actions_.reserve(program.size() * 5);
  }

  void compute(std::size_t at) { actions_.push_back({ActionKind::kCompute, {stage_, program_[at]}}); }
  void post_send(std::size_t at) {
    if (where_.sends(stage_, program_[at])) actions_.push_back({ActionKind::kPost, {stage_, program_[at]}});
  }
  void wait_send(std::size_t at) {
    if (where_.sends(stage_, program_[at])) actions_.push_back({ActionKind::kWait, {stage_, program_[at]}});
  }
  void post_receive(std::size_t at) {
    if (received_[at]) actions_.push_back({ActionKind::kPost, *received_[at]});
  }
  void wait_receive(std::size_t at) {
    if (received_[at]) actions_.push_back({ActionKind::kWait, *received_[at]});
  }
  // One batch: all outputs of `done` and all inputs of `next`, posted together, then waited for.
  void batch(Group done, Group next) {
    for (std::size_t at = done.begin; at < done.end; ++at) post_send(at);
    for (std::size_t at = next.begin; at < next.end; ++at) post_receive(at);
    for (std::size_t at = done.begin; at < done.end; ++at) wait_send(at);
    for (std::size_t at = next.begin; at < next.end; ++at) wait_receive(at);
  }
  [[nodiscard]] std::vector<Action> take() { return std::move(actions_); }

 private:
  const StageProgram& program_;
  int stage_;
  const VirtualStages& where_;
  std::vector<std::optional<MessageKey>> received_;
  std::vector<Action> actions_;
};

std::vector<Action> latency_actions(const StageProgram& program, int stage, const VirtualStages& where) {
  ActionWriter write(program, stage, where, true);
  for (std::size_t at = 0; at < program.size(); ++at) {
    write.wait_receive(at);
    write.compute(at);
    write.post_send(at);
  }
  return write.take();
}

std::vector<Action> blocking_actions(const StageProgram& program, int stage, const VirtualStages& where, int chunks) {
  ActionWriter write(program, stage, where);
  const std::vector<Group> groups = groups_of(program, chunks > 1);
  constexpr Group kNothing{0, 0};
  write.batch(kNothing, groups.front());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    for (std::size_t at = groups[g].begin; at < groups[g].end; ++at) write.compute(at);
    const Group next = g + 1 < groups.size() ? groups[g + 1] : kNothing;
    const bool same_phase = next.end > next.begin && program[next.begin].kind == program[groups[g].begin].kind;
    if (chunks == 1 && same_phase) {  // different neighbours: send, then receive
      write.batch(groups[g], kNothing);
      write.batch(kNothing, next);
    } else {
      write.batch(groups[g], next);
    }
  }
  return write.take();
}

// The next pass of the same kind after `at`, or the program's end.
std::size_t next_of_phase(const StageProgram& program, std::size_t at) {
  std::size_t next = at + 1;
  while (next < program.size() && program[next].kind != program[at].kind) ++next;
  return next;
}

std::vector<Action> overlapped_actions(const StageProgram& program, int stage, const VirtualStages& where) {
  ActionWriter write(program, stage, where);
  const std::vector<Group> groups = groups_of(program, true);
  constexpr Group kNothing{0, 0};
  const auto steady = [&](std::size_t g) { return g < groups.size() && groups[g].end - groups[g].begin == 2; };
  std::size_t sent_forward = program.size(), sent_backward = program.size();  // posted, not yet waited for
  write.batch(kNothing, {groups.front().begin, groups.front().begin + 1});
  if (steady(0)) write.post_receive(1);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::size_t first = groups[g].begin;
    if (!steady(g)) {
      write.compute(first);
      if (steady(g + 1)) {  // the first backward input is posted here and waited for after the first steady forward
        write.batch(groups[g], {groups[g + 1].begin, groups[g + 1].begin + 1});
        write.post_receive(groups[g + 1].begin + 1);
      } else {
        write.batch(groups[g], g + 1 < groups.size() ? groups[g + 1] : kNothing);
      }
      continue;
    }
    const std::size_t second = first + 1;
    const bool more_forwards = steady(g + 1);
    write.compute(first);
    write.post_send(first);
    if (more_forwards) write.post_receive(groups[g + 1].begin);
    if (sent_forward < program.size()) write.wait_send(sent_forward);
    sent_forward = first;
    write.wait_receive(second);
    write.compute(second);
    write.post_send(second);
    if (next_of_phase(program, second) < program.size()) write.post_receive(next_of_phase(program, second));
    if (sent_backward < program.size()) write.wait_send(sent_backward);
    sent_backward = second;
    if (g + 1 < groups.size()) write.wait_receive(groups[g + 1].begin);
  }
  if (sent_forward < program.size()) write.wait_send(sent_forward);
  if (sent_backward < program.size()) write.wait_send(sent_backward);
  return write.take();
}

}  // namespace

MessageKey VirtualStages::needed(int stage, StageOp op) const {
  const int from = index(stage, op) + (op.kind == OpKind::kForward ? -1 : 1);
  return {from % stages_, {op.kind, op.microbatch, from / stages_}};
}

bool VirtualStages::wraps(int stage, OpKind kind) const {
  return stages_ > 1 && stage == (kind == OpKind::kForward ? 0 : stages_ - 1);
}

std::vector<Action> stage_actions(const StageProgram& program, int stage, const VirtualStages& where, int chunks,
                                  MessageStyle style) {
  switch (style) {
    case MessageStyle::kLatency:
      return latency_actions(program, stage, where);
    case MessageStyle::kBlocking:
      return blocking_actions(program, stage, where, chunks);
    case MessageStyle::kOverlapped:
      return overlapped_actions(program, stage, where);
  }
  return {};
}

}  // namespace foretoken::step
