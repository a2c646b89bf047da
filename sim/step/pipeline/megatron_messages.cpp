// Posts pipeline messages as Megatron-Core does. Its recorded call sequences are the test.
//
// Blocking, one chunk: between two passes the output of the first is sent and the input of the second received. With
// the same neighbour both go in one batch (send_forward_recv_backward). With different neighbours the send comes first.
//
// Blocking, interleaved: warm-up and cool-down passes stand as single passes, the steady state goes in forward-backward
// pairs. One batch between two groups holds all outputs of the first group and all inputs of the second.
//
// Overlapped, interleaved: the steady state sends an output, and awaits the input of the next pass of the same
// direction, beside the pass in between. Warm-up and cool-down block as above.
#include "sim/step/pipeline/megatron_messages.h"

#include <optional>

#include "sim/base/check.h"

namespace foretoken::step {
namespace {

using schedule::Neighbour;
using schedule::OpKind;
using schedule::Placement;
using schedule::StageOp;
using schedule::StageProgram;

// Ops [begin, end) of a stage that run without a message in between.
struct Group {
  std::size_t begin, end;
  [[nodiscard]] bool is_pair() const { return end - begin == 2; }
};
constexpr Group kNothing{0, 0};

// Returns warm-up forwards, forward-backward pairs and cool-down backwards. A pair cannot be the only one: its backward
// needs the output that its forward sends. With one chunk every op is a group.
std::vector<Group> groups_of(const schedule::Program& program, Stage stage) {
  const std::size_t ops = program.stages[stage].size();
  const auto warm_up = static_cast<std::size_t>(program.warm_up[stage]);
  const std::size_t pairs = ops / 2 - warm_up;
  const bool paired = program.placement.chunks() > 1 && pairs > 1;
  const std::size_t steady_end = paired ? warm_up + 2 * pairs : warm_up;
  std::vector<Group> groups;
  for (std::size_t at = 0; at < ops; at = groups.back().end)
    groups.push_back({at, at + (at >= warm_up && at < steady_end ? 2 : 1)});
  return groups;
}

// Returns true when the input of such ops reaches `stage` from the other end of the pipeline.
bool wraps(const Placement& placement, Stage stage, Neighbour from) {
  const int end = from == Neighbour::kPrevious ? 0 : placement.stages() - 1;
  return placement.stages() > 1 && stage.number() == end;
}

// Returns the message that a stage receives before each of its ops. Usually it is the op's own input. The pipeline
// wraps around at the first stage's forwards and the last stage's backwards. There messages arrive in the order in
// which the other end sends them, p ops behind. They may wait for their op when micro-batch groups exceed p
// (schedules.py, recv_tensor_from_previous_stage).
std::vector<std::optional<MessageKey>> received_before(const schedule::Program& program, Stage stage) {
  const Placement& placement = program.placement;
  const StageProgram& ops = program.stages[stage];
  std::vector<std::optional<MessageKey>> result(ops.size());
  std::vector<StageOp> from_previous, from_next;
  for (std::size_t at = 0; at < ops.size(); ++at) {
    const Neighbour from = traits(ops[at].kind).input_from.value();
    if (!wraps(placement, stage, from)) {
      result[at] = needed_by(placement, stage, ops[at]);
      continue;
    }
    std::vector<StageOp>& sequence = from == Neighbour::kPrevious ? from_previous : from_next;
    sequence.push_back(ops[at]);
    const auto behind = static_cast<std::size_t>(placement.stages());
    if (sequence.size() <= behind) continue;
    const int sender = from == Neighbour::kPrevious ? placement.stages() - 1 : 0;
    result[at] = sent_by(placement, id_of<Stage>(sender), sequence[sequence.size() - 1 - behind]);
  }
  return result;
}

class ActionWriter {
 public:
  ActionWriter(const schedule::Program& program, Stage stage) : ops_(program.stages[stage]) {
    expects(program.placement.is_looped(), "Megatron's messages go around a ring of stages");
    received_ = received_before(program, stage);
    for (const StageOp& op : ops_) sent_.push_back(sent_by(program.placement, stage, op));
    actions_.reserve(ops_.size() * 5);
  }

  void compute(std::size_t at) { actions_.push_back({ActionKind::kCompute, ops_[at], {}}); }
  void compute(Group group) {
    for (std::size_t at = group.begin; at < group.end; ++at) compute(at);
  }
  void post_send(std::size_t at) { add(ActionKind::kPost, sent_[at]); }
  void wait_send(std::size_t at) { add(ActionKind::kWait, sent_[at]); }
  void wait_send(std::optional<std::size_t> at) {
    if (at) wait_send(*at);
  }
  void post_receive(std::size_t at) { add(ActionKind::kPost, received_[at]); }
  void wait_receive(std::size_t at) { add(ActionKind::kWait, received_[at]); }

  // Writes one batch: all outputs of `done` and all inputs of `next` are posted together, then waited for.
  void batch(Group done, Group next) {
    for (std::size_t at = done.begin; at < done.end; ++at) post_send(at);
    for (std::size_t at = next.begin; at < next.end; ++at) post_receive(at);
    for (std::size_t at = done.begin; at < done.end; ++at) wait_send(at);
    for (std::size_t at = next.begin; at < next.end; ++at) wait_receive(at);
  }
  [[nodiscard]] std::vector<Action> take() { return std::move(actions_); }

 private:
  void add(ActionKind kind, const std::optional<MessageKey>& message) {
    if (message) actions_.push_back({kind, {}, *message});
  }

  const StageProgram& ops_;
  std::vector<std::optional<MessageKey>> sent_, received_;
  std::vector<Action> actions_;
};

// Writes the overlapped interleaved schedule of one stage.
class Overlapped {
 public:
  Overlapped(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage]), write_(program, stage), groups_(groups_of(program, stage)) {}

  std::vector<Action> take() {
    write_.batch(kNothing, {0, 1});
    if (groups_.front().is_pair()) write_.post_receive(1);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g].is_pair())
        pair(g);
      else
        single(g);
    }
    write_.wait_send(sent_forward_);
    write_.wait_send(sent_backward_);
    return write_.take();
  }

 private:
  [[nodiscard]] bool is_pair(std::size_t g) const { return g < groups_.size() && groups_[g].is_pair(); }

  void single(std::size_t g) {
    write_.compute(groups_[g]);
    if (!is_pair(g + 1)) {
      write_.batch(groups_[g], g + 1 < groups_.size() ? groups_[g + 1] : kNothing);
      return;
    }
    // The first backward's input is posted here. The wait follows after the first forward of the steady state.
    const std::size_t next = groups_[g + 1].begin;
    write_.batch(groups_[g], {next, next + 1});
    write_.post_receive(next + 1);
  }

  void pair(std::size_t g) {
    const std::size_t forward = groups_[g].begin, backward = forward + 1;
    write_.compute(forward);
    write_.post_send(forward);
    if (is_pair(g + 1)) write_.post_receive(groups_[g + 1].begin);
    write_.wait_send(sent_forward_);
    sent_forward_ = forward;

    write_.wait_receive(backward);
    write_.compute(backward);
    write_.post_send(backward);
    if (const std::size_t next = next_of_kind(backward); next < ops_.size()) write_.post_receive(next);
    write_.wait_send(sent_backward_);
    sent_backward_ = backward;
    if (g + 1 < groups_.size()) write_.wait_receive(groups_[g + 1].begin);
  }

  // Returns the next op of the same kind after `at`, or the program's end.
  [[nodiscard]] std::size_t next_of_kind(std::size_t at) const {
    std::size_t next = at + 1;
    while (next < ops_.size() && ops_[next].kind != ops_[at].kind) ++next;
    return next;
  }

  const StageProgram& ops_;
  ActionWriter write_;
  std::vector<Group> groups_;
  std::optional<std::size_t> sent_forward_, sent_backward_;  // posted, but not yet waited for
};

}  // namespace

std::vector<Action> megatron_blocking_actions(const schedule::Program& program, Stage stage) {
  const StageProgram& ops = program.stages[stage];
  const bool flat = program.placement.chunks() == 1;
  ActionWriter write(program, stage);
  const std::vector<Group> groups = groups_of(program, stage);
  write.batch(kNothing, groups.front());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    write.compute(groups[g]);
    const Group next = g + 1 < groups.size() ? groups[g + 1] : kNothing;
    const bool same_kind = next.end > next.begin && ops[next.begin].kind == ops[groups[g].begin].kind;
    if (flat && same_kind) {  // different neighbours: send, then receive
      write.batch(groups[g], kNothing);
      write.batch(kNothing, next);
    } else {
      write.batch(groups[g], next);
    }
  }
  return write.take();
}

std::vector<Action> megatron_overlapped_actions(const schedule::Program& program, Stage stage) {
  return Overlapped(program, stage).take();
}

}  // namespace foretoken::step
