// The messages around the passes of a stage: the stage posts sends and receives, and waits for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/schedule/program.h"

namespace foretoken::step {

/// The policy by which a runtime posts the messages of a pipeline.
enum class MessagePolicy : std::uint8_t {
  kLatency,     ///< a message delays its receiver and blocks nobody, not even other messages
  kAsProduced,  ///< posted once the result exists, awaited when it is needed; in order on its link
  kBlocking,    ///< Megatron without overlap: batched send and receive that both sides wait for
  kOverlapped,  ///< Megatron-Core's interleaved steady state: posted early, waited for late
};

/// A message: the result that `sender` made of the micro-batch. An output goes to the next virtual stage, an input
/// gradient to the previous one.
struct MessageKey {
  schedule::Place sender;
  schedule::MicroBatch microbatch;
  schedule::Neighbour to = schedule::Neighbour::kNext;
};

enum class ActionKind : std::uint8_t { kCompute, kPost, kWait };

/// One step of a stage's host program: computes an op, or posts a message, or waits for it. It takes 16 bytes, because
/// a long pipeline has many thousands.
class Action {
 public:
  Action() = default;
  explicit Action(const schedule::StageOp& op) : place_{{}, op.chunk}, microbatch_(op.microbatch), op_(op.kind) {}
  Action(ActionKind kind, const MessageKey& message)
      : place_(message.sender), microbatch_(message.microbatch), kind_(kind), to_(message.to) {}

  [[nodiscard]] ActionKind kind() const { return kind_; }
  /// Precondition: kind() is kCompute.
  [[nodiscard]] schedule::StageOp op() const { return {op_, microbatch_, place_.chunk}; }
  /// Precondition: kind() is kPost or kWait.
  [[nodiscard]] MessageKey message() const { return {place_, microbatch_, to_}; }
  /// Returns the wait for the same message. Precondition: kind() is kPost.
  [[nodiscard]] Action wait() const {
    Action same = *this;
    same.kind_ = ActionKind::kWait;
    return same;
  }

 private:
  schedule::Place place_;  // of the op, without its stage, or of the message's sender
  schedule::MicroBatch microbatch_;
  ActionKind kind_ = ActionKind::kCompute;
  schedule::OpKind op_ = schedule::OpKind::kForward;
  schedule::Neighbour to_ = schedule::Neighbour::kNext;
};

static_assert(sizeof(Action) == 16);

/// Returns true when another stage receives the result of `op` on `stage`.
[[nodiscard]] inline bool is_sent(const schedule::Placement& placement, Stage stage, const schedule::StageOp& op) {
  const std::optional<schedule::Neighbour> to = traits(op.kind).result_to;
  return to && placement.neighbour_elsewhere({stage, op.chunk}, *to) != nullptr;
}
/// Returns the message with the result of `op` on `stage`. Precondition: is_sent().
[[nodiscard]] inline MessageKey sent_by(Stage stage, const schedule::StageOp& op) {
  return {{stage, op.chunk}, op.microbatch, *traits(op.kind).result_to};
}
/// Returns the virtual stage on another stage that `op` on `stage` needs a message from, or nullptr.
[[nodiscard]] inline const schedule::Place* sender_to(const schedule::Placement& placement, Stage stage,
                                                      const schedule::StageOp& op) {
  const std::optional<schedule::Neighbour> from = traits(op.kind).input_from;
  return from ? placement.neighbour_elsewhere({stage, op.chunk}, *from) : nullptr;
}
/// Returns the message that `op` needs from `sender`. Precondition: `sender` is sender_to() of the op.
[[nodiscard]] inline MessageKey needed_by(const schedule::StageOp& op, schedule::Place sender) {
  return {sender, op.microbatch, opposite(*traits(op.kind).input_from)};
}

/// Returns the link that a message takes on the ring of stages: the sender's link to the next stage or to the previous
/// one. Precondition: the message goes to another stage.
[[nodiscard]] inline schedule::Neighbour link_of(const schedule::Placement& placement, const MessageKey& message) {
  const schedule::Place* const receiver = placement.neighbour_elsewhere(message.sender, message.to);
  expects(receiver != nullptr, "a message goes to another stage");
  const std::uint32_t stages = static_cast<std::uint32_t>(placement.stages()), sender = message.sender.stage.value;
  if (stages == 2) return message.to;  // both links lead to the other stage
  const std::uint32_t onward = sender + 1 == stages ? 0 : sender + 1;
  return receiver->stage.value == onward ? schedule::Neighbour::kNext : schedule::Neighbour::kPrevious;
}

/// One value for each kind of op and each chunk of a stage, whatever the micro-batch.
template <class Value>
class OpTable {
 public:
  /// `make(op)` returns the value of an op; its micro-batch is 0.
  template <class Make>
  OpTable(const schedule::Placement& placement, Make make) : chunks_(static_cast<std::size_t>(placement.chunks())) {
    for (const schedule::OpTraits& kind : schedule::kOpTraits)
      for (const Chunk chunk : ids<Chunk>(chunks_)) values_.push_back(make({kind.kind, {}, chunk}));
  }
  [[nodiscard]] const Value& of(const schedule::StageOp& op) const {
    return values_[static_cast<std::size_t>(op.kind) * chunks_ + op.chunk.index()];
  }

 private:
  std::size_t chunks_;
  std::vector<Value> values_;
};

/// The messages of one stage's ops. Those of an op's kind and chunk differ in the micro-batch only.
class OpMessages {
 public:
  /// The messages that the stage sends, or those that it needs.
  [[nodiscard]] static OpMessages sent(const schedule::Program& program, Stage stage);
  [[nodiscard]] static OpMessages needed(const schedule::Program& program, Stage stage);

  /// Returns the message of an op, whose own micro-batch means nothing; nullptr where such ops have none.
  [[nodiscard]] const MessageKey* find(const schedule::StageOp& op) const {
    const std::optional<MessageKey>& message = table_.of(op);
    return message ? &*message : nullptr;
  }

 private:
  explicit OpMessages(OpTable<std::optional<MessageKey>> table) : table_(std::move(table)) {}
  OpTable<std::optional<MessageKey>> table_;
};

/// A piece of a host program.
class ActionPiece {
 public:
  void clear() { size_ = 0; }
  void add(const Action& action) {
    expects(size_ < actions_.size(), "a group of passes has few actions");
    actions_[size_++] = action;
  }
  /// Adds the wait for each message that was posted from action number `begin` on. Precondition: all these are posts.
  void add_waits(std::size_t begin) {
    const std::size_t end = size_, waits = end - begin;
    expects(end + waits <= actions_.size(), "a group of passes has few actions");
    for (std::size_t at = begin; at < end; ++at) actions_[at + waits] = actions_[at].wait();
    size_ = end + waits;
  }
  [[nodiscard]] bool is_full() const { return size_ >= kFull; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const Action* begin() const { return actions_.data(); }
  [[nodiscard]] const Action* end() const { return actions_.data() + size_; }

 private:
  static constexpr std::size_t kFull = 64, kOfOneGroup = 32;
  std::array<Action, kFull + kOfOneGroup> actions_;
  std::size_t size_ = 0;
};

/// The host program of one stage, a piece at a time. All stages of a long pipeline at once have megabytes of actions.
class ActionSource {
 public:
  virtual ~ActionSource() = default;
  /// Writes the next piece. Returns false when there are no more actions.
  bool write_piece(ActionPiece& piece) {
    piece.clear();
    while (!piece.is_full() && write_next(piece)) {
    }
    return piece.size() > 0;
  }

 private:
  /// Appends the actions of the next group of passes. Returns false, and appends none, when there are no more.
  virtual bool write_next(ActionPiece& piece) = 0;
};

/// Returns the host program of `stage`. Megatron's policies need a program with a warm-up (schedule::Program::warm_up)
/// and looped placement. The others serve every program. `program` must outlive the result.
[[nodiscard]] std::unique_ptr<ActionSource> action_source(const schedule::Program& program, Stage stage,
                                                          MessagePolicy policy);
/// Returns all actions of it.
[[nodiscard]] std::vector<Action> stage_actions(const schedule::Program& program, Stage stage, MessagePolicy policy);

}  // namespace foretoken::step
