// Lets the stages of a pipeline take turns: each follows its host program (step/pipeline/host_programs.h) until it
// waits for a message whose end is not known.
//
// The clock decides what a moment is: an instant (pipeline_walk), or the number of a step of a plan (pipeline_plan).
// The order of turns never depends on moments.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::fast {

/// The messages of a kind: from one virtual stage in one direction.
struct MessageKind {
  std::uint32_t link = 0;  ///< by sender and neighbour, as link_at() numbers them
  Stage from, to;
  schedule::Neighbour neighbour{}, carries_to{};
};

[[nodiscard]] inline std::size_t link_at(Stage stage, schedule::Neighbour neighbour) {
  return stage.index() * 2 + (neighbour == schedule::Neighbour::kNext ? 0 : 1);
}

/// A pass of a stage.
template <class Moment>
struct StagePass {
  Stage stage;
  schedule::StageOp op;
  bool is_first = false;             ///< of its chunk: it waits for parameters that are gathered beside it
  bool completes_gradients = false;  ///< of its chunk
  Moment last;                       ///< the end of the pass before
};

/// A walk needs these members of its clock.
template <class Clock>
concept StageClock = requires(Clock clock, typename Clock::Moment moment, typename Clock::Moments moments,
                              MessageKind kind, StagePass<typename Clock::Moment> pass, Stage stage) {
  /// A stage lets the others go on after each pass, in rounds.
  { Clock::kTakesTurns } -> std::convertible_to<bool>;
  /// Adds a moment to several, of which there are none at first.
  clock.add(moments, moment);
  /// Returns one moment as several.
  { clock.only(moment) } -> std::same_as<typename Clock::Moments>;
  /// Returns the last of them, which then stands for all. Without any it is the start of the pipeline.
  { clock.latest(moments) } -> std::same_as<typename Clock::Moment>;
  /// Returns the end of a message that was posted at `moments`, on a link that is free at `moment`.
  { clock.message(kind, moments, moment) } -> std::same_as<typename Clock::Moment>;
  /// Returns the end of a pass, after the stage's last pass and after `moments`.
  { clock.pass(pass, moments) } -> std::same_as<typename Clock::Moment>;
  /// Returns true when moves of activations take time.
  { clock.moves() } -> std::same_as<bool>;
  /// Returns the end of a move, after its pass and after the moves before it on the stage.
  { clock.move(stage, moment, moment) } -> std::same_as<typename Clock::Moment>;
  /// Takes the end of a stage, and the number of messages that it sent.
  clock.finish(stage, moments, std::int64_t{});
};

/// The stages that can go on, each of them once at most. In a round all of them go on in their order. Stages that
/// others let go on wait for the next round, so that a steady pipeline comes to the same rounds again and again.
class Rounds {
 public:
  explicit Rounds(std::size_t stages) : now_(stages, 0), next_(stages, 0) {}

  [[nodiscard]] bool any() const { return count_ > 0; }
  /// Precondition: the stage is not among them.
  void add(Stage stage) {
    expects(next_[stage.index()] == 0, "a stage has one turn at most");
    next_[stage.index()] = 1;
    ++count_;
  }
  /// Precondition: any().
  Stage take() {
    while (at_ < now_.size() && now_[at_] == 0) ++at_;
    if (at_ == now_.size()) {
      std::swap(now_, next_);
      for (at_ = 0; now_[at_] == 0;) ++at_;
    }
    now_[at_] = 0;
    --count_;
    return Stage{static_cast<std::uint32_t>(at_++)};
  }

 private:
  std::vector<char> now_, next_;  // by stage
  std::size_t at_ = 0, count_ = 0;
};

/// The same, but the stage that was added last goes on first.
class LatestFirst {
 public:
  explicit LatestFirst(std::size_t stages) { stages_.reserve(stages); }

  [[nodiscard]] bool any() const { return !stages_.empty(); }
  void add(Stage stage) { stages_.push_back(stage); }
  Stage take() {
    const Stage stage = stages_.back();
    stages_.pop_back();
    return stage;
  }

 private:
  std::vector<Stage> stages_;
};

/// All messages of a program. A message starts when all sides have posted it and those before it on its link have
/// ended.
template <StageClock Clock>
class Mailbox {
 public:
  using Moment = typename Clock::Moment;
  using Moments = typename Clock::Moments;
  /// A message, and its kind: messages of one kind differ in the micro-batch.
  struct Message {
    std::uint32_t number = 0, kind = 0;
  };

  Mailbox(const schedule::Program& program, step::MessagePolicy policy)
      : chunks_(static_cast<std::uint32_t>(program.placement.chunks())),
        microbatches_(static_cast<std::uint32_t>(schedule::microbatches_of(program))) {
    const std::uint8_t sides = policy == step::MessagePolicy::kAsProduced ? 1 : 2;
    kinds_.resize(program.stages.size() * chunks_ * 2);
    const std::size_t all = kinds_.size() * microbatches_;
    expects(all < kNoMessage, "a pipeline has fewer than 2^32 - 1 messages");
    links_.resize(program.stages.size() * 2);
    at_.resize(all);
    unposted_.assign(at_.size(), kUnsent);
    for (const Stage stage : program.stages.ids()) {
      const step::OpTable<Sent> sent(program.placement,
                                     [&](const schedule::StageOp& op) { return sent_by(program, stage, op); });
      for (const schedule::StageOp& op : program.stages[stage]) {
        const Sent& messages = sent.of(op);
        if (messages.first == kNoMessage) continue;
        const std::uint32_t number = messages.first + op.microbatch.value;
        std::vector<Message>& on_link = links_[messages.link].messages;
        if (on_link.empty()) on_link.reserve(std::size_t{chunks_} * microbatches_);
        on_link.push_back({number, messages.kind});
        unposted_[number] = sides;
      }
    }
  }

  [[nodiscard]] Message find(const step::MessageKey& key) const {
    const std::uint32_t place = key.sender.stage.value * chunks_ + key.sender.chunk.value;
    const std::uint32_t kind = place * 2 + (key.to == schedule::Neighbour::kNext ? 0 : 1);
    return {kind * microbatches_ + key.microbatch.value, kind};
  }
  [[nodiscard]] bool is_known(std::uint32_t message) const { return unposted_[message] == kKnown; }
  /// Precondition: is_known().
  [[nodiscard]] Moment end_of(std::uint32_t message, Clock& clock) { return clock.latest(at_[message]); }
  /// Returns the number of messages by link.
  [[nodiscard]] std::vector<std::size_t> on_links() const {
    std::vector<std::size_t> counts;
    for (const Link& link : links_) counts.push_back(link.messages.size());
    return counts;
  }

  /// One side posts a message. Calls known(number, kind) for every message whose end follows.
  template <class Known>
  void post(Message message, Moment at, Clock& clock, Known known) {
    expects(unposted_[message.number] < kUnsent, "every posted message has a sender");
    clock.add(at_[message.number], at);
    if (--unposted_[message.number] > 0) return;
    Link& link = links_[kinds_[message.kind].link];
    for (; link.next < link.messages.size(); ++link.next) {
      const Message first = link.messages[link.next];
      if (unposted_[first.number] > 0) return;
      const MessageKind& kind = kinds_[first.kind];
      link.free = clock.message(kind, at_[first.number], link.free);
      at_[first.number] = clock.only(link.free);
      unposted_[first.number] = kKnown;
      known(first.number, kind);
    }
  }

  static constexpr std::uint32_t kNoMessage = UINT32_MAX;

 private:
  static constexpr std::uint8_t kKnown = 0xff, kUnsent = 0xfe;

  // A stage's link to a neighbour. Its messages follow each other in the order of the sender's program.
  struct Link {
    std::vector<Message> messages;
    std::size_t next = 0;  // the first without a known end
    Moment free{};
  };
  // The messages with the results of a kind of op: that of the first micro-batch, and the link that they take.
  struct Sent {
    std::uint32_t first = kNoMessage, kind = 0;
    std::size_t link = 0;
  };
  Sent sent_by(const schedule::Program& program, Stage stage, const schedule::StageOp& op) {
    if (!step::is_sent(program.placement, stage, op)) return {};
    const step::MessageKey key = step::sent_by(stage, op);
    const schedule::Neighbour neighbour = step::link_of(program.placement, key);
    const Message first = find(key);
    const std::size_t link = link_at(stage, neighbour);
    kinds_[first.kind] = {.link = static_cast<std::uint32_t>(link),
                          .from = stage,
                          .to = program.placement.neighbour_elsewhere(key.sender, key.to)->stage,
                          .neighbour = neighbour,
                          .carries_to = key.to};
    return {first.number, first.kind, link};
  }

  std::uint32_t chunks_, microbatches_;
  std::vector<Moments> at_;             // by message: its posts so far, then its end
  std::vector<std::uint8_t> unposted_;  // by message: the sides that have not posted it, or a mark
  std::vector<MessageKind> kinds_;      // by message, without the micro-batch
  std::vector<Link> links_;             // [sender][neighbour]
};

/// Walks all stages of a program, which has a flush. `program` and `clock` must outlive the object.
template <StageClock Clock>
class StageWalk {
 public:
  using Moment = typename Clock::Moment;
  using Moments = typename Clock::Moments;

  /// Precondition: `policy` is not kLatency.
  StageWalk(const schedule::Program& program, step::MessagePolicy policy, Clock& clock)
      : policy_(policy), clock_(clock), mailbox_(program, policy), turns_(program.stages.size()) {
    hosts_.reserve(program.stages.size());
    for (const Stage stage : program.stages.ids()) hosts_.emplace_back(program, policy, stage);
  }

  void to_the_end() {
    for (std::size_t stage = hosts_.size(); stage > 0; --stage) turns_.add(hosts_[stage - 1].stage);
    std::size_t finished = 0;
    while (turns_.any())
      if (go_on(hosts_[turns_.take().index()])) ++finished;
    expects(finished == hosts_.size(), "a checked schedule does not deadlock");
  }
  [[nodiscard]] const Mailbox<Clock>& mailbox() const { return mailbox_; }

 private:
  // The way of one stage through its host program.
  struct Host {
    Host(const schedule::Program& program, step::MessagePolicy policy, Stage at)
        : stage(at),
          source(action_source(program, at, policy)),
          chunk_ends(program.stages[at], program.placement.chunks()) {}

    Stage stage;
    std::unique_ptr<step::ActionSource> source;
    step::ActionPiece piece;                             // the one at work
    const step::Action *next = nullptr, *end = nullptr;  // the rest of it
    step::ChunkEnds chunk_ends;
    std::size_t computed = 0;               // ops so far
    Moment last{}, before_last{}, moves{};  // ends of passes, and of the stage's moves
    bool has_waited = false;                // since its last pass
    Moments frontier{};                     // the ends of what it waited for since
    std::uint32_t waits_for = Mailbox<Clock>::kNoMessage;
    std::int64_t sends = 0;
  };

  // Takes the next piece of a host program. Returns false at its end.
  static bool take_piece(Host& host) {
    if (!host.source->write_piece(host.piece)) return false;
    host.next = host.piece.begin();
    host.end = host.piece.end();
    return true;
  }

  // Goes on until the stage has to wait, or lets others go on. Returns true when it has come to its end.
  bool go_on(Host& host) {
    for (;;) {
      if (host.next == host.end && !take_piece(host)) {
        finish(host);
        return true;
      }
      const step::Action& action = *host.next;
      if (action.kind() == step::ActionKind::kWait) {
        const std::uint32_t message = mailbox_.find(action.message()).number;
        if (!mailbox_.is_known(message)) {
          host.waits_for = message;
          return false;
        }
        wait_until(host, mailbox_.end_of(message, clock_));
        ++host.next;
        continue;
      }
      ++host.next;
      if (action.kind() == step::ActionKind::kPost) {
        post(host, action.message());
        continue;
      }
      compute(host, action.op());
      if (!Clock::kTakesTurns) continue;
      turns_.add(host.stage);
      return false;
    }
  }

  void wait_until(Host& host, Moment end) {
    clock_.add(host.frontier, end);
    host.has_waited = true;
  }

  void finish(Host& host) {
    clock_.add(host.frontier, host.last);
    clock_.finish(host.stage, host.frontier, host.sends);
  }

  // The messages that a blocking stage has waited for were posted after its last pass.
  Moment post_time(Host& host) {
    if (policy_ == step::MessagePolicy::kAsProduced || !host.has_waited) return host.last;
    if (policy_ == step::MessagePolicy::kBlocking) return clock_.latest(host.frontier);
    Moments both = host.frontier;
    clock_.add(both, host.last);
    return clock_.latest(both);
  }

  void post(Host& host, const step::MessageKey& key) {
    if (key.sender.stage == host.stage) ++host.sends;
    mailbox_.post(mailbox_.find(key), post_time(host), clock_, [&](std::uint32_t message, const MessageKind& kind) {
      for (const Stage stage : {kind.from, kind.to}) {
        Host& waiting = hosts_[stage.index()];
        if (waiting.waits_for != message) continue;
        waiting.waits_for = Mailbox<Clock>::kNoMessage;
        turns_.add(stage);
      }
    });
  }

  void compute(Host& host, const schedule::StageOp& op) {
    if (!traits(op.kind).is_pass) return move(host, op);
    const StagePass<Moment> pass{.stage = host.stage,
                                 .op = op,
                                 .is_first = host.chunk_ends.is_first(op.chunk, host.computed),
                                 .completes_gradients = host.chunk_ends.completes_gradients(op.chunk, host.computed),
                                 .last = host.last};
    ++host.computed;
    host.before_last = std::exchange(host.last, clock_.pass(pass, host.frontier));
    host.frontier = {};
    host.has_waited = false;
  }

  // Activations leave after the last pass, and come back beside it.
  void move(Host& host, const schedule::StageOp& op) {
    ++host.computed;
    if (!clock_.moves()) return;
    const Moment after = op.kind == schedule::OpKind::kSendAway ? host.last : host.before_last;
    host.moves = clock_.move(host.stage, after, host.moves);
    wait_until(host, host.moves);
  }

  step::MessagePolicy policy_;
  Clock& clock_;
  Mailbox<Clock> mailbox_;
  std::vector<Host> hosts_;
  std::conditional_t<Clock::kTakesTurns, Rounds, LatestFirst> turns_;
};

}  // namespace foretoken::fast
