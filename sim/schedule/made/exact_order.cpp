// Branch and bound over active orders: decides one pass after another, and takes decisions back.
#include "sim/schedule/made/exact_order.h"

#include <algorithm>
#include <vector>

namespace foretoken::schedule {
namespace {

class OrderSearch {
 public:
  OrderSearch(const MakeQuestion& question, std::int64_t bound, std::int64_t steps)
      : question_(question), best_(bound), steps_(steps), stages_(question.times.stages.size()) {}

  std::optional<Program> run() {
    decide();
    return std::move(found_);
  }

 private:
  struct State {
    int forwards = 0, inputs = 0, weights = 0;
    std::int64_t free = 0;
    double held = 0;
  };
  struct Working {
    State state;
    std::vector<std::int64_t> forward_ends, input_ends;
    StageProgram ops;
  };
  struct Choice {
    Stage stage;
    OpKind kind;
    std::int64_t start, end;
  };

  /// Returns the end of the pass that another stage did for this one, plus the message; nothing if it is not done.
  static std::optional<std::int64_t> arrival(const std::vector<std::int64_t>& ends, int done, std::int64_t message) {
    if (static_cast<std::size_t>(done) >= ends.size()) return std::nullopt;
    return ends[static_cast<std::size_t>(done)] + message;
  }

  void add(std::vector<Choice>& choices, Stage stage, OpKind kind, std::optional<std::int64_t> ready) const {
    if (!ready) return;
    const std::int64_t start = std::max(*ready, stages_[stage].state.free);
    choices.push_back({stage, kind, start, start + question_.times.stages[stage].of(kind)});
  }

  [[nodiscard]] std::vector<Choice> choices() const {
    std::vector<Choice> all;
    for (const Stage stage : stages_.ids()) {
      const State& at = stages_[stage].state;
      const StageLimit& limit = question_.limits[stage];
      const std::int64_t message = question_.times.message;
      const bool first = stage.number() == 0, last = stage.index() + 1 == stages_.size();
      if (at.forwards < question_.microbatches && at.held + limit.stash <= limit.limit)
        add(all, stage, OpKind::kForward,
            first ? 0 : arrival(stages_[id_of<Stage>(stage.number() - 1)].forward_ends, at.forwards, message));
      if (at.inputs < at.forwards)
        add(all, stage, OpKind::kBackwardInput,
            last ? at.free : arrival(stages_[stage.next()].input_ends, at.inputs, message));
      if (at.weights < at.inputs) add(all, stage, OpKind::kBackwardWeight, at.free);
    }
    return all;
  }

  /// Returns true when every pass is done, and keeps the order if it is the shortest.
  bool finished() {
    std::int64_t end = 0;
    for (const Working& stage : stages_) {
      if (stage.state.weights < question_.microbatches) return false;
      end = std::max(end, stage.state.free);
    }
    if (end >= best_) return true;
    best_ = end;
    found_ = Program{.placement = Placement::looped(static_cast<int>(stages_.size()), 1), .stages = {}};
    for (const Working& stage : stages_) found_->stages.push_back(stage.ops);
    return true;
  }

  [[nodiscard]] bool hopeless() const {
    for (const Stage stage : stages_.ids()) {
      const State& at = stages_[stage].state;
      const StageTimes& times = question_.times.stages[stage];
      const int all = question_.microbatches;
      const std::int64_t left =
          (all - at.forwards) * times.forward + (all - at.inputs) * times.input + (all - at.weights) * times.weight;
      if (at.free + left >= best_) return true;
    }
    return false;
  }

  void decide() {
    if (steps_-- <= 0 || finished() || hopeless()) return;
    const std::vector<Choice> all = choices();
    if (all.empty()) return;
    const Choice first =
        *std::min_element(all.begin(), all.end(), [](const Choice& a, const Choice& b) { return a.end < b.end; });
    for (const Choice& choice : all)
      if (choice.stage == first.stage) take(choice);
  }

  void take(const Choice& choice) {
    Working& at = stages_[choice.stage];
    const State before = at.state;
    const StageLimit& limit = question_.limits[choice.stage];
    int& done = choice.kind == OpKind::kForward         ? at.state.forwards
                : choice.kind == OpKind::kBackwardInput ? at.state.inputs
                                                        : at.state.weights;
    at.ops.push_back({choice.kind, id_of<MicroBatch>(done++)});
    at.state.free = choice.end;
    std::vector<std::int64_t>* const ends = choice.kind == OpKind::kForward         ? &at.forward_ends
                                            : choice.kind == OpKind::kBackwardInput ? &at.input_ends
                                                                                    : nullptr;
    if (choice.kind == OpKind::kForward) at.state.held += limit.stash;
    if (choice.kind == OpKind::kBackwardInput) at.state.held += limit.for_weights - limit.stash;
    if (choice.kind == OpKind::kBackwardWeight) at.state.held -= limit.for_weights;
    if (ends != nullptr) ends->push_back(choice.end);
    if (at.state.held <= limit.limit) decide();
    if (ends != nullptr) ends->pop_back();
    at.ops.pop_back();
    at.state = before;
  }

  const MakeQuestion& question_;
  std::int64_t best_, steps_;
  Table<Stage, Working> stages_;
  std::optional<Program> found_;
};

}  // namespace

std::optional<Program> shorter_order(const MakeQuestion& question, std::int64_t bound, std::int64_t steps) {
  return OrderSearch(question, bound, steps).run();
}

}  // namespace foretoken::schedule
