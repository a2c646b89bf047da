// Greedy orders under many rules, the best of them improved by exchanging neighbouring passes.
//
// A greedy order runs the pipeline once. Whenever a stage is free it takes, of the passes that may start:
//   1. a backward for input, because another stage waits for its gradient;
//   2. a forward, while its memory and its rule's warm-up allow one more micro-batch in flight;
//   3. a backward for weight, when the stage would otherwise wait for longer than a part of that pass.
// The rules differ in the warm-up, in that part, and in whether a forward may delay a backward for input.
#include "sim/schedule/made/make_schedule.h"

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <vector>

#include "sim/base/check.h"
#include "sim/schedule/catalogue.h"
#include "sim/schedule/flush/flush.h"
#include "sim/schedule/made/exact_order.h"

namespace foretoken::schedule {
namespace {

constexpr const char* kMade = "made";
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;

/// A rule of a greedy order.
struct GreedyRule {
  int warm_up = 1;             ///< micro-batches in flight on stage r: at most this times (p - r), and one
  double weight_gap = 1;       ///< a backward for weight fills a wait of at least this part of its time
  bool eager_forward = false;  ///< a forward starts although the next gradient arrives before it ends
};

/// One stage of a greedy run.
struct GreedyStage {
  StageProgram ops;
  int forwards = 0, inputs = 0, weights = 0;
  std::int64_t free = 0;
  std::deque<std::int64_t> forward_arrivals, gradient_arrivals;  // of micro-batches that have not run yet
  double held = 0;
};

/// Makes one order.
class Greedy {
 public:
  Greedy(const MakeQuestion& question, GreedyRule rule) : question_(question), rule_(rule) {
    for (const Stage stage : question.times.stages.ids()) {
      stages_.emplace_back();
      if (stage.number() == 0)
        stages_[stage].forward_arrivals.assign(static_cast<std::size_t>(question.microbatches), 0);
    }
  }

  /// Returns the program, or nothing when the rule gets stuck.
  std::optional<Program> run() {
    std::size_t left = 3 * static_cast<std::size_t>(question_.microbatches) * stages_.size();
    for (; left > 0; --left)
      if (!step()) return std::nullopt;
    Program program{.placement = Placement::looped(static_cast<int>(stages_.size()), 1), .stages = {}};
    for (GreedyStage& stage : stages_) program.stages.push_back(std::move(stage.ops));
    return program;
  }

 private:
  struct Choice {
    std::int64_t start = kNever;
    OpKind kind = OpKind::kForward;
  };

  /// Runs the pass that starts first; of several, the one of the first stage.
  bool step() {
    Choice best;
    Stage where{};
    for (const Stage stage : stages_.ids()) {
      const Choice choice = choose(stage);
      if (choice.start >= best.start) continue;
      best = choice;
      where = stage;
    }
    if (best.start == kNever) return false;
    start(where, best);
    return true;
  }

  [[nodiscard]] bool may_forward(Stage stage) const {
    const GreedyStage& at = stages_[stage];
    const int in_flight = at.forwards - at.inputs;
    const int after = static_cast<int>(stages_.size()) - stage.number();
    return at.forwards < question_.microbatches &&
           in_flight < std::max(rule_.warm_up * after - (rule_.warm_up - 1), 1) &&
           at.held + question_.limits[stage].largest() <= question_.limits[stage].limit;
  }
  [[nodiscard]] bool may_input(Stage stage) const {
    const StageLimit& limit = question_.limits[stage];
    return stages_[stage].held + limit.for_weights - limit.stash <= limit.limit;
  }

  [[nodiscard]] Choice choose(Stage stage) const {
    const GreedyStage& at = stages_[stage];
    const StageTimes& times = question_.times.stages[stage];
    const auto arrival = [&](const std::deque<std::int64_t>& of) {
      return of.empty() ? kNever : std::max(of.front(), at.free);
    };
    const std::int64_t gradient = may_input(stage) ? arrival(at.gradient_arrivals) : kNever;
    const std::int64_t forward = may_forward(stage) ? arrival(at.forward_arrivals) : kNever;
    const bool pending = at.weights < at.inputs;
    Choice choice{gradient, OpKind::kBackwardInput};
    const bool in_time = rule_.eager_forward || forward + times.forward <= gradient;
    if (forward < gradient && (in_time || at.inputs == 0)) choice = {forward, OpKind::kForward};
    if (!pending) return choice.start == kNever && forward < kNever ? Choice{forward, OpKind::kForward} : choice;
    const double wait = static_cast<double>(choice.start - at.free);
    const bool full = at.forwards < question_.microbatches && !may_forward(stage) && gradient > at.free;
    if (wait >= rule_.weight_gap * static_cast<double>(times.weight) || (full && wait > 0))
      return {at.free, OpKind::kBackwardWeight};
    return choice;
  }

  void start(Stage stage, const Choice& choice) {
    GreedyStage& at = stages_[stage];
    const StageLimit& limit = question_.limits[stage];
    const std::int64_t end = choice.start + question_.times.stages[stage].of(choice.kind);
    at.free = end;
    int& done = choice.kind == OpKind::kForward         ? at.forwards
                : choice.kind == OpKind::kBackwardInput ? at.inputs
                                                        : at.weights;
    at.ops.push_back({choice.kind, id_of<MicroBatch>(done++)});
    if (choice.kind == OpKind::kForward) {
      at.held += limit.stash;
      at.forward_arrivals.pop_front();
      const bool last = stage.index() + 1 == stages_.size();
      if (last) at.gradient_arrivals.push_back(end);
      if (!last) stages_[stage.next()].forward_arrivals.push_back(end + question_.times.message);
    } else if (choice.kind == OpKind::kBackwardInput) {
      at.held += limit.for_weights - limit.stash;
      at.gradient_arrivals.pop_front();
      if (stage.number() > 0)
        stages_[id_of<Stage>(stage.number() - 1)].gradient_arrivals.push_back(end + question_.times.message);
    } else {
      at.held -= limit.for_weights;
    }
  }

  const MakeQuestion& question_;
  const GreedyRule rule_;
  Table<Stage, GreedyStage> stages_;
};

bool keeps_limits(const Program& program, const MakeQuestion& question) {
  for (const Stage stage : program.stages.ids())
    if (most_held(program.stages[stage], question.limits[stage]) > question.limits[stage].limit) return false;
  return true;
}

/// What is shortened, and after it the other time.
std::pair<std::int64_t, std::int64_t> worth(const ProgramTimes& times, Shorten shorten) {
  if (shorten == Shorten::kMakespan) return {times.makespan, times.longest_span};
  return {times.longest_span, times.makespan};
}

/// Adds a program that runs and keeps the limits.
void consider(std::vector<MadeSchedule>& found, std::optional<Program> program, const std::string& origin,
              const MakeQuestion& question) {
  if (!program || !keeps_limits(*program, question)) return;
  const std::optional<ProgramTimes> times = times_of(*program, question.times);
  if (times) found.push_back({*std::move(program), *times, origin});
}

/// Moves one pass of a stage, and keeps that if the program gets shorter within its limits.
bool moved_is_better(MadeSchedule& made, const MakeQuestion& question, Stage stage, std::ptrdiff_t from,
                     std::ptrdiff_t to) {
  StageProgram& ops = made.program.stages[stage];
  const auto move = [&](std::ptrdiff_t out, std::ptrdiff_t in) {
    const auto at = ops.begin() + out;
    if (in > out) std::rotate(at, at + 1, ops.begin() + in + 1);
    if (in < out) std::rotate(ops.begin() + in, at, at + 1);
  };
  move(from, to);
  if (most_held(ops, question.limits[stage]) <= question.limits[stage].limit)
    if (const auto times = times_of(made.program, question.times);
        times && worth(*times, question.shorten) < worth(made.times, question.shorten)) {
      made.times = *times;
      made.origin = kMade;
      return true;
    }
  move(to, from);
  return false;
}

/// Returns the rules that are tried: 48, or 6 where a run takes long. Its work grows with passes times stages.
std::vector<GreedyRule> rules_for(PipelineShape shape) {
  constexpr std::int64_t kMostWork = 2'000'000;
  if (std::int64_t{3} * shape.stages * shape.stages * shape.microbatches > kMostWork)
    return {{1, 0.01}, {1, 0.5}, {2, 0.01}, {2, 0.5}, {2, 1.0}, {3, 0.25}};
  std::vector<GreedyRule> rules;
  for (const int warm_up : {1, 2, 3})
    for (const double gap : {0.0, 0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5})
      for (const bool eager : {false, true}) rules.push_back({warm_up, gap, eager});
  return rules;
}

std::size_t passes_of(const Program& program) {
  std::size_t passes = 0;
  for (const StageProgram& ops : program.stages) passes += ops.size();
  return passes;
}

/// Moves passes of a stage to other places while that shortens the pipeline, at most `reach` places far.
void improve(MadeSchedule& made, const MakeQuestion& question, std::ptrdiff_t reach) {
  constexpr int kMostRounds = 4;
  bool better = true;
  for (int round = 0; better && round < kMostRounds; ++round) {
    better = false;
    for (const Stage stage : made.program.stages.ids()) {
      const StageProgram& ops = made.program.stages[stage];
      const auto size = static_cast<std::ptrdiff_t>(ops.size());
      for (std::ptrdiff_t from = 0; from < size; ++from)
        for (std::ptrdiff_t to = std::max<std::ptrdiff_t>(from - reach, 0); to < std::min(from + reach + 1, size); ++to)
          if (to != from && moved_is_better(made, question, stage, from, to)) better = true;
    }
  }
}

/// Returns the shortest, the first one of several. Short programs are improved first, all of them where they are few
/// passes, for the work grows with the cube of the passes.
MadeSchedule best_of(std::vector<MadeSchedule> found, const MakeQuestion& question) {
  constexpr std::size_t kFewPasses = 40, kManyPasses = 600;
  constexpr std::int64_t kExactSteps = 200'000;
  const auto shorter = [&](const MadeSchedule& a, const MadeSchedule& b) {
    return worth(a.times, question.shorten) < worth(b.times, question.shorten);
  };
  const std::size_t passes = passes_of(found.front().program);
  if (passes <= kFewPasses)
    for (MadeSchedule& each : found) improve(each, question, kFewPasses);
  MadeSchedule best = std::move(*std::min_element(found.begin(), found.end(), shorter));
  if (passes > kFewPasses && passes <= kManyPasses) improve(best, question, 1);
  if (passes > kFewPasses || question.shorten != Shorten::kMakespan) return best;
  std::vector<MadeSchedule> exact;
  consider(exact, shorter_order(question, best.times.makespan, kExactSteps), kMade, question);
  return exact.empty() ? best : std::move(exact.front());
}

}  // namespace

Schedule schedule_to_make() {
  return {.name = "made",
          .description = "made for the times and the memory of the job",
          .splits_backward = true,
          .build = [](PipelineShape shape) { return zb_h1().build(shape); },  // until the times are known
          .made = true};
}

double most_held(const StageProgram& ops, const StageLimit& limit) {
  double held = 0, most = 0;
  for (const StageOp& op : ops) {
    if (op.kind == OpKind::kForward) held += limit.stash;
    most = std::max(most, held);
    if (op.kind == OpKind::kBackward) held -= limit.stash;
    if (op.kind == OpKind::kBackwardInput) held += limit.for_weights - limit.stash;
    most = std::max(most, held);
    if (op.kind == OpKind::kBackwardWeight) held -= limit.for_weights;
  }
  return most;
}

MadeSchedule make_schedule(const MakeQuestion& question) {
  const PipelineShape shape{.stages = static_cast<int>(question.times.stages.size()),
                            .microbatches = question.microbatches};
  expects(shape.stages >= 1 && shape.microbatches >= 1, "a pipeline has at least one stage and one micro-batch");
  std::vector<MadeSchedule> found;
  for (const Schedule& each : all_schedules())
    if (!each.interleaves && !each.moves_activations) consider(found, each.build(shape), each.name, question);
  for (const GreedyRule& rule : rules_for(shape)) consider(found, Greedy(question, rule).run(), kMade, question);
  expects(!found.empty(), "every stage can run one micro-batch at a time");
  return best_of(std::move(found), question);
}

}  // namespace foretoken::schedule
