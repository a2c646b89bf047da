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
#include <utility>

#include "sim/base/check.h"

namespace foretoken::step {
namespace {

using schedule::Neighbour;
using schedule::Placement;
using schedule::StageOp;
using schedule::StageProgram;

// Ops [begin, end) of a stage that run without a message in between.
struct Group {
  std::size_t begin, end;
  [[nodiscard]] bool is_pair() const { return end - begin == 2; }
  [[nodiscard]] bool any() const { return end > begin; }
};
constexpr Group kNothing{0, 0};

// The groups of a stage: warm-up forwards, forward-backward pairs, cool-down backwards. A pair cannot be the only one:
// its backward needs the output that its forward sends. With one chunk every op is a group.
class Groups {
 public:
  Groups(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage].size()),
        steady_begin_(static_cast<std::size_t>(program.warm_up[stage])),
        steady_end_(steady_begin_) {
    const std::size_t pairs = ops_ / 2 - steady_begin_;
    if (program.placement.chunks() > 1 && pairs > 1) steady_end_ += 2 * pairs;
  }
  [[nodiscard]] Group first() const { return from(0); }
  // Returns the group after `group`; nothing after the last one.
  [[nodiscard]] Group after(Group group) const { return group.end < ops_ ? from(group.end) : kNothing; }

 private:
  [[nodiscard]] Group from(std::size_t begin) const {
    return {begin, begin + (begin >= steady_begin_ && begin < steady_end_ ? 2 : 1)};
  }

  std::size_t ops_, steady_begin_, steady_end_;
};

// Returns true when the input of such ops reaches `stage` from the other end of the pipeline.
bool wraps(const Placement& placement, Stage stage, Neighbour from) {
  const int end = from == Neighbour::kPrevious ? 0 : placement.stages() - 1;
  return placement.stages() > 1 && stage.number() == end;
}

// A message and its micro-batch, or no message.
struct Message {
  const MessageKey* key = nullptr;  // its own micro-batch means nothing
  schedule::MicroBatch microbatch = {};
};

// Finds the message that a stage receives before each of its ops. Usually it is the op's own input. The pipeline wraps
// around at the first stage's forwards and the last stage's backwards. There messages arrive in the order in which the
// other end sends them, p ops behind. They may wait for their op when micro-batch groups exceed p (schedules.py,
// recv_tensor_from_previous_stage).
class Received {
 public:
  Received(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage]), needed_(OpMessages::needed(program, stage)) {
    for (const Neighbour from : {Neighbour::kPrevious, Neighbour::kNext})
      if (wraps(program.placement, stage, from)) wrap_around(program, from);
  }

  [[nodiscard]] Message before(std::size_t at) const { return messages_.empty() ? own_input(at) : messages_[at]; }

 private:
  [[nodiscard]] Message own_input(std::size_t at) const { return {needed_.find(ops_[at]), ops_[at].microbatch}; }

  void wrap_around(const schedule::Program& program, Neighbour from) {
    const int stages = program.placement.stages();
    messages_.reserve(ops_.size());
    for (std::size_t at = 0; at < ops_.size(); ++at) messages_.push_back(own_input(at));
    wrapped_ = OpMessages::sent(program, id_of<Stage>(from == Neighbour::kPrevious ? stages - 1 : 0));
    const auto behind = static_cast<std::size_t>(stages);
    std::vector<const StageOp*> sequence;
    sequence.reserve(ops_.size());
    for (std::size_t at = 0; at < ops_.size(); ++at) {
      if (traits(ops_[at].kind).input_from != from) continue;
      sequence.push_back(&ops_[at]);
      messages_[at] = {};
      if (sequence.size() <= behind) continue;
      const StageOp& op = *sequence[sequence.size() - 1 - behind];
      messages_[at] = {wrapped_->find(op), op.microbatch};
    }
  }

  const StageProgram& ops_;
  OpMessages needed_;
  std::optional<OpMessages> wrapped_;  // of the other end of the pipeline
  std::vector<Message> messages_;      // by op, where the pipeline wraps around; they point into needed_ and wrapped_
};

class ActionWriter {
 public:
  ActionWriter(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage]), sent_(OpMessages::sent(program, stage)), received_(program, stage) {
    expects(program.placement.is_looped(), "Megatron's messages go around a ring of stages");
  }

  // Appends what follows to `piece`.
  void into(ActionPiece& piece) { piece_ = &piece; }

  void compute(std::size_t at) { piece_->add(Action(ops_[at])); }
  void compute(Group group) {
    for (std::size_t at = group.begin; at < group.end; ++at) compute(at);
  }
  void post_send(std::size_t at) { send(ActionKind::kPost, at); }
  void wait_send(std::size_t at) { send(ActionKind::kWait, at); }
  void wait_send(std::optional<std::size_t> at) {
    if (at) wait_send(*at);
  }
  void post_receive(std::size_t at) { receive(ActionKind::kPost, at); }
  void wait_receive(std::size_t at) { receive(ActionKind::kWait, at); }

  // Writes one batch: all outputs of `done` and all inputs of `next` are posted together, then waited for.
  void batch(Group done, Group next) {
    const std::size_t begin = piece_->size();
    for (std::size_t at = done.begin; at < done.end; ++at) post_send(at);
    for (std::size_t at = next.begin; at < next.end; ++at) post_receive(at);
    piece_->add_waits(begin);
  }

 private:
  void send(ActionKind kind, std::size_t at) { add(kind, {sent_.find(ops_[at]), ops_[at].microbatch}); }
  void receive(ActionKind kind, std::size_t at) { add(kind, received_.before(at)); }
  void add(ActionKind kind, Message message) {
    if (message.key == nullptr) return;
    piece_->add({kind, MessageKey{message.key->sender, message.microbatch, message.key->to}});
  }

  const StageProgram& ops_;
  OpMessages sent_;
  Received received_;
  ActionPiece* piece_ = nullptr;
};

// Writes the host program of one stage, a group at a time.
class GroupByGroup : public ActionSource {
 public:
  GroupByGroup(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage]), write_(program, stage), groups_(program, stage), group_(groups_.first()) {}

  bool write_next(ActionPiece& piece) final {
    if (!group_.any()) return false;
    write_.into(piece);
    next_ = groups_.after(group_);
    write_group();
    group_ = next_;
    return true;
  }

 protected:
  // Writes the actions of group_, which next_ follows.
  virtual void write_group() = 0;

  const StageProgram& ops_;
  ActionWriter write_;
  Groups groups_;
  Group group_, next_{};
};

class Blocking final : public GroupByGroup {
 public:
  Blocking(const schedule::Program& program, Stage stage)
      : GroupByGroup(program, stage), flat_(program.placement.chunks() == 1) {}

 private:
  void write_group() override {
    if (group_.begin == 0) write_.batch(kNothing, group_);
    write_.compute(group_);
    const bool same_kind = next_.any() && ops_[next_.begin].kind == ops_[group_.begin].kind;
    if (flat_ && same_kind) {  // different neighbours: send, then receive
      write_.batch(group_, kNothing);
      write_.batch(kNothing, next_);
    } else {
      write_.batch(group_, next_);
    }
  }

  bool flat_;
};

// The overlapped interleaved schedule.
class Overlapped final : public GroupByGroup {
 public:
  using GroupByGroup::GroupByGroup;

 private:
  void write_group() override {
    if (group_.begin == 0) {
      write_.batch(kNothing, {0, 1});
      if (group_.is_pair()) write_.post_receive(1);
    }
    if (group_.is_pair())
      pair();
    else
      single();
    if (next_.any()) return;
    write_.wait_send(sent_forward_);
    write_.wait_send(sent_backward_);
  }

  void single() {
    write_.compute(group_);
    if (!next_.is_pair()) {
      write_.batch(group_, next_);
      return;
    }
    // The first backward's input is posted here. The wait follows after the first forward of the steady state.
    write_.batch(group_, {next_.begin, next_.begin + 1});
    write_.post_receive(next_.begin + 1);
  }

  void pair() {
    const std::size_t forward = group_.begin, backward = forward + 1;
    write_.compute(forward);
    write_.post_send(forward);
    if (next_.is_pair()) write_.post_receive(next_.begin);
    write_.wait_send(sent_forward_);
    sent_forward_ = forward;

    write_.wait_receive(backward);
    write_.compute(backward);
    write_.post_send(backward);
    if (const std::size_t next = next_of_kind(backward); next < ops_.size()) write_.post_receive(next);
    write_.wait_send(sent_backward_);
    sent_backward_ = backward;
    if (next_.any()) write_.wait_receive(next_.begin);
  }

  // Returns the next op of the same kind after `at`, or the program's end.
  [[nodiscard]] std::size_t next_of_kind(std::size_t at) const {
    std::size_t next = at + 1;
    while (next < ops_.size() && ops_[next].kind != ops_[at].kind) ++next;
    return next;
  }

  std::optional<std::size_t> sent_forward_, sent_backward_;  // posted, but not yet waited for
};

}  // namespace

std::unique_ptr<ActionSource> megatron_blocking_actions(const schedule::Program& program, Stage stage) {
  return std::make_unique<Blocking>(program, stage);
}

std::unique_ptr<ActionSource> megatron_overlapped_actions(const schedule::Program& program, Stage stage) {
  return std::make_unique<Overlapped>(program, stage);
}

}  // namespace foretoken::step
