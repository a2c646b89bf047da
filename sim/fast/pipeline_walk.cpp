// Lets the stages of a pipeline take turns: each goes on until it waits for a message whose end is not known.
#include "sim/fast/pipeline_walk.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "sim/base/check.h"
#include "sim/step/pipeline/host_programs.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using des::Instant;
using schedule::Neighbour;
using schedule::StageOp;
using step::Action;
using step::ActionKind;
using step::MessageKey;

constexpr std::uint32_t kNoMessage = UINT32_MAX;
constexpr std::size_t kPiece = 64;  // actions of a stage that are written at once

// A message, and its kind: messages of one kind differ in the micro-batch.
struct Message {
  std::uint32_t number = 0, kind = 0;
};

// A stage's link to a neighbour. Its messages follow each other in the order of the sender's program.
struct Link {
  std::vector<Message> messages;
  std::size_t next = 0;  // the first without a known end
  Instant free;
  Duration duration;
};

// The messages of a kind: from one virtual stage in one direction.
struct MessageKind {
  std::uint32_t link = 0;  // by sender and neighbour
  Stage from, to;
  Neighbour neighbour{}, carries_to{};
};

// All messages of a program. A message starts when all sides have posted it and those before it on its link have ended.
class Mailbox {
 public:
  explicit Mailbox(const WalkedPipeline& pipeline);

  [[nodiscard]] Message find(const MessageKey& key) const {
    const std::uint32_t place = key.sender.stage.value * chunks_ + key.sender.chunk.value;
    const std::uint32_t kind = place * 2 + (key.to == Neighbour::kNext ? 0 : 1);
    return {kind * microbatches_ + key.microbatch.value, kind};
  }
  [[nodiscard]] bool is_known(std::uint32_t message) const { return unposted_[message] == kKnown; }
  [[nodiscard]] Instant end_of(std::uint32_t message) const { return at_[message]; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] double total_ps() const;

  // One side posts a message at an instant. Calls known(number, kind, span) for every message whose end follows.
  template <class Known>
  void post(Message message, Instant at, Known known);

 private:
  static constexpr std::uint8_t kKnown = 0xff, kUnsent = 0xfe;

  // The messages with the results of a kind of op: that of the first micro-batch, and the link that they take.
  struct Sent {
    std::uint32_t first = kNoMessage, kind = 0;
    std::size_t link = 0;
  };
  Sent sent_by(const schedule::Program& program, Stage stage, const StageOp& op);
  static std::size_t link_at(Stage stage, Neighbour neighbour) {
    return stage.index() * 2 + (neighbour == Neighbour::kNext ? 0 : 1);
  }

  std::uint32_t chunks_, microbatches_;
  std::size_t size_ = 0;
  std::vector<Instant> at_;             // by message: the latest post so far, then its end
  std::vector<std::uint8_t> unposted_;  // by message: the sides that have not posted it, or a mark
  std::vector<MessageKind> kinds_;      // by message, without the micro-batch
  std::vector<Link> links_;             // [sender][neighbour]
};

Mailbox::Mailbox(const WalkedPipeline& pipeline)
    : chunks_(static_cast<std::uint32_t>(pipeline.program.placement.chunks())),
      microbatches_(static_cast<std::uint32_t>(microbatches_of(pipeline.program))) {
  const schedule::Program& program = pipeline.program;
  const std::uint8_t sides = pipeline.policy == step::MessagePolicy::kAsProduced ? 1 : 2;
  kinds_.resize(program.stages.size() * chunks_ * 2);
  const std::size_t all = kinds_.size() * microbatches_;
  expects(all < kNoMessage, "a pipeline has fewer than 2^32 - 1 messages");
  links_.resize(program.stages.size() * 2);
  at_.resize(all);
  unposted_.assign(at_.size(), kUnsent);
  for (const Stage stage : program.stages.ids()) {
    for (const Neighbour neighbour : {Neighbour::kNext, Neighbour::kPrevious})
      links_[link_at(stage, neighbour)].duration = pipeline.messages.of(stage, neighbour);
    const step::OpTable<Sent> sent(program.placement, [&](const StageOp& op) { return sent_by(program, stage, op); });
    for (const StageOp& op : program.stages[stage]) {
      const Sent& messages = sent.of(op);
      if (messages.first == kNoMessage) continue;
      const std::uint32_t number = messages.first + op.microbatch.value;
      links_[messages.link].messages.push_back({number, messages.kind});
      unposted_[number] = sides;
      ++size_;
    }
  }
}

Mailbox::Sent Mailbox::sent_by(const schedule::Program& program, Stage stage, const StageOp& op) {
  if (!step::is_sent(program.placement, stage, op)) return {};
  const MessageKey key = step::sent_by(stage, op);
  const Neighbour neighbour = step::link_of(program.placement, key);
  const Message first = find(key);
  const std::size_t link = link_at(stage, neighbour);
  kinds_[first.kind] = {.link = static_cast<std::uint32_t>(link),
                        .from = stage,
                        .to = program.placement.neighbour_elsewhere(key.sender, key.to)->stage,
                        .neighbour = neighbour,
                        .carries_to = key.to};
  return {first.number, first.kind, link};
}

double Mailbox::total_ps() const {
  double total = 0;
  for (const Link& link : links_)
    total += static_cast<double>(link.messages.size()) * static_cast<double>(link.duration.ps);
  return total;
}

template <class Known>
void Mailbox::post(Message message, Instant at, Known known) {
  expects(unposted_[message.number] < kUnsent, "every posted message has a sender");
  at_[message.number] = std::max(at_[message.number], at);
  if (--unposted_[message.number] > 0) return;
  Link& link = links_[kinds_[message.kind].link];
  for (; link.next < link.messages.size(); ++link.next) {
    const Message first = link.messages[link.next];
    if (unposted_[first.number] > 0) return;
    const Instant start = std::max(at_[first.number], link.free);
    at_[first.number] = link.free = later(start, link.duration);
    unposted_[first.number] = kKnown;
    known(first.number, kinds_[first.kind], Interval{start.ps, link.free.ps});
  }
}

// The way of one stage through its host program (step/pipeline/host_programs.h).
struct Host {
  Host(const WalkedPipeline& pipeline, Stage at)
      : stage(at),
        source(action_source(pipeline.program, at, pipeline.policy)),
        chunk_ends(pipeline.program.stages[at], pipeline.program.placement.chunks()) {}

  Stage stage;
  std::unique_ptr<step::ActionSource> source;
  std::vector<Action> actions;  // the piece at work
  std::size_t next = 0;         // of them
  step::ChunkEnds chunk_ends;
  std::size_t computed = 0;          // ops so far
  Instant last, before_last, moves;  // ends of passes, and of the stage's moves
  std::optional<Instant> frontier;   // the latest end of what it waited for since its last pass
  std::uint32_t waits_for = kNoMessage;
  std::int64_t sends = 0;
  bool seen_forward = false;
};

class Walker {
 public:
  explicit Walker(const WalkedPipeline& pipeline)
      : pipeline_(pipeline), stages_(pipeline.program.stages.size()), mailbox_(pipeline) {
    hosts_.reserve(stages_);
    for (const Stage stage : ids<Stage>(stages_)) hosts_.emplace_back(pipeline, stage);
    walk_.ends.finished.resize(stages_);
    walk_.first_forward_start.resize(stages_);
    walk_.last_backward_end.resize(stages_);
    if (pipeline.gradient_blocks)
      walk_.ends.gradient_blocks = BlockEnds(
          stages_, Table<Chunk, std::vector<Instant>>(static_cast<std::size_t>(pipeline.program.placement.chunks())));
  }

  Walk to_the_end() && {
    for (std::size_t stage = stages_; stage > 0; --stage) can_go_on_.push_back(stage - 1);
    std::size_t finished = 0;
    while (!can_go_on_.empty()) {
      Host& host = hosts_[can_go_on_.back()];
      can_go_on_.pop_back();
      if (go_on(host)) ++finished;
    }
    expects(finished == stages_, "a checked schedule does not deadlock");
    walk_.tasks += mailbox_.size();
    walk_.total_ps += mailbox_.total_ps();
    return std::move(walk_);
  }

 private:
  // Goes on until the stage has to wait. Returns true when it has come to its end.
  bool go_on(Host& host) {
    for (;; ++host.next) {
      if (host.next == host.actions.size()) {
        host.actions.clear();
        host.next = 0;
        while (host.actions.size() < kPiece && host.source->write_next(host.actions)) {
        }
        if (host.actions.empty()) return finish(host);
      }
      const Action& action = host.actions[host.next];
      if (action.kind() == ActionKind::kPost) {
        post(host, action.message());
      } else if (action.kind() == ActionKind::kCompute) {
        compute(host, action.op());
      } else {
        const std::uint32_t message = mailbox_.find(action.message()).number;
        if (!mailbox_.is_known(message)) {
          host.waits_for = message;
          return false;
        }
        wait_until(host, mailbox_.end_of(message));
      }
    }
  }

  static void wait_until(Host& host, Instant end) {
    host.frontier = host.frontier ? std::max(*host.frontier, end) : end;
  }

  bool finish(const Host& host) {
    const Instant end = std::max(host.last, host.frontier.value_or(Instant{}));
    walk_.ends.finished[host.stage] = end;
    walk_.most_sends = std::max(walk_.most_sends, host.sends);
    walk_.ends.last = std::max(walk_.ends.last, end);
    return true;
  }

  void post(Host& host, const MessageKey& key) {
    if (key.sender.stage == host.stage) ++host.sends;
    Instant at = host.last;
    if (pipeline_.policy != step::MessagePolicy::kAsProduced && host.frontier) at = std::max(at, *host.frontier);
    mailbox_.post(mailbox_.find(key), at,
                  [&](std::uint32_t message, const MessageKind& kind, Interval span) { ended(message, kind, span); });
  }

  void ended(std::uint32_t message, const MessageKind& kind, Interval span) {
    walk_.ends.last = std::max(walk_.ends.last, Instant{span.end});
    if (kind.from == pipeline_.shown || kind.to == pipeline_.shown)
      walk_.shown.messages.push_back({kind.from, kind.neighbour, kind.carries_to, span});
    for (const Stage stage : {kind.from, kind.to}) {
      Host& host = hosts_[stage.index()];
      if (host.waits_for != message) continue;
      host.waits_for = kNoMessage;
      can_go_on_.push_back(stage.index());
    }
  }

  void compute(Host& host, const StageOp& op) {
    const schedule::OpTraits& kind = traits(op.kind);
    if (!kind.is_pass) return move(host, op);
    const bool shown = host.stage == pipeline_.shown;
    const Instant ready = stand_still(host, shown);
    const Interval span = pass(host, op, std::max(ready, host.frontier.value_or(Instant{})), shown);
    if (shown) walk_.shown.passes.push_back(span);
    ++host.computed;
    host.before_last = std::exchange(host.last, Instant{span.end});
    host.frontier.reset();
    if (kind.makes.has(schedule::Result::kOutput) && !std::exchange(host.seen_forward, true))
      walk_.first_forward_start[host.stage] = {span.begin};
    if (kind.makes.has(schedule::Result::kInputGradient) || kind.makes.has(schedule::Result::kWeightGradient))
      walk_.last_backward_end[host.stage] = {span.end};
  }

  // Returns the instant at which the GPU may start its next pass.
  Instant stand_still(const Host& host, bool shown) {
    const Duration overhead = pipeline_.pass_overhead;
    if (overhead.ps == 0) return host.last;
    const Instant end = later(host.last, overhead);
    count(overhead);
    if (shown) walk_.shown.between.push_back({host.last.ps, end.ps});
    return end;
  }

  Interval pass(Host& host, const StageOp& op, Instant start, bool shown) {
    const step::PassTiming& timing = pipeline_.passes.timing(host.stage, op.chunk, op.kind);
    const bool gated = !pipeline_.gates.empty() && host.chunk_ends.is_first(op.chunk, host.computed);
    const bool cut = pipeline_.gradient_blocks && host.chunk_ends.completes_gradients(op.chunk, host.computed);
    if (!gated && !cut) {
      const Instant end = later(start, timing.total);
      count(timing.total);
      if (shown) walk_.shown.parts.push_back({start.ps, end.ps});
      return {start.ps, end.ps};
    }
    static const std::vector<Instant> kNoGates;
    const std::vector<Instant>& gates = gated ? pipeline_.gates[host.stage][op.chunk] : kNoGates;
    std::vector<Instant>* const ends = cut ? &walk_.ends.gradient_blocks[host.stage][op.chunk] : nullptr;
    return blocks(timing, start, gates, ends, shown);
  }

  Interval blocks(const step::PassTiming& timing, Instant start, const std::vector<Instant>& gates,
                  std::vector<Instant>* ends, bool shown) {
    std::optional<Instant> first;
    Instant at = start;
    Duration before;
    for (std::size_t block = 0; block < timing.block_ends.size(); ++block) {
      if (block < gates.size()) at = std::max(at, gates[block]);
      if (!first) first = at;
      const Instant end = later(at, timing.block_ends[block] - before);
      count(timing.block_ends[block] - before);
      before = timing.block_ends[block];
      if (shown) walk_.shown.parts.push_back({at.ps, end.ps});
      if (ends != nullptr) ends->push_back(end);
      at = end;
    }
    return {first.value_or(start).ps, at.ps};
  }

  // Activations leave after the last pass, and come back beside it.
  void move(Host& host, const StageOp& op) {
    ++host.computed;
    if (pipeline_.moves.empty()) return;
    const Instant after = op.kind == schedule::OpKind::kSendAway ? host.last : host.before_last;
    const Instant start = std::max(after, host.moves);
    host.moves = later(start, pipeline_.moves[host.stage]);
    count(pipeline_.moves[host.stage]);
    walk_.moves.push_back({host.stage, {start.ps, host.moves.ps}});
    walk_.ends.last = std::max(walk_.ends.last, host.moves);
    wait_until(host, host.moves);
  }

  void count(Duration duration) {
    ++walk_.tasks;
    walk_.total_ps += static_cast<double>(duration.ps);
  }

  const WalkedPipeline& pipeline_;
  std::size_t stages_;
  Mailbox mailbox_;
  std::vector<Host> hosts_;
  std::vector<std::size_t> can_go_on_;
  Walk walk_;
};

}  // namespace

Walk walk_pipeline(const WalkedPipeline& pipeline) { return Walker(pipeline).to_the_end(); }

}  // namespace foretoken::fast
