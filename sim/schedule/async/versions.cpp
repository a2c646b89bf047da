// Follows the weights of a program without a flush.
#include "sim/schedule/async/versions.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "sim/base/check.h"

namespace foretoken::schedule {
namespace {

/// Follows the weights of one stage from pass to pass.
class StageWeights {
 public:
  StageWeights(const WithoutFlush& rule, int an_update) : rule_(rule), an_update_(an_update) {}

  /// Returns the version that `op` uses.
  int run(const StageOp& op) {
    if (op.kind == OpKind::kForward) return forward(op);
    const int version = rule_.uses == WeightUse::kNewest ? updates_ : in_flight_.front();
    const int of_forward = in_flight_.front();
    in_flight_.pop_front();
    const int update = backwards_++ / an_update_;  // that its gradient counts for
    staleness_ = std::max(staleness_, update - of_forward);
    updates_ = backwards_ / an_update_;
    return version;
  }
  [[nodiscard]] int kept() const { return kept_; }
  [[nodiscard]] int staleness() const { return staleness_; }

 private:
  int forward(const StageOp& op) {
    const int counts_for = op.microbatch.number() / an_update_;
    const int version = rule_.uses == WeightUse::kOneStepOld ? std::max(0, counts_for - 1) : updates_;
    expects(version <= updates_, "a pass uses weights that exist");
    in_flight_.push_back(version);
    const int oldest = rule_.uses == WeightUse::kNewest ? updates_ : *std::ranges::min_element(in_flight_);
    kept_ = std::max(kept_, kept_from(oldest));
    return version;
  }
  // Returns the versions between the oldest one in use and the newest one. Passes of the same version share it.
  [[nodiscard]] int kept_from(int oldest) const {
    if (rule_.uses != WeightUse::kOfTheForward) return updates_ - oldest + 1;
    int versions = 0, last = -1;
    for (const int version : in_flight_) {
      versions += version != last ? 1 : 0;
      last = version;
    }
    return last == updates_ ? versions : versions + 1;
  }

  WithoutFlush rule_;
  int an_update_;
  int backwards_ = 0, updates_ = 0, kept_ = 1, staleness_ = 0;
  std::deque<int> in_flight_;  // versions of forward passes whose backward passes have not run
};

}  // namespace

int microbatches_an_update(const WithoutFlush& rule, PipelineShape shape) {
  return rule.updates_every_microbatch ? 1 : shape.microbatches;
}

WeightVersions weight_versions(const Program& program, const WithoutFlush& rule, PipelineShape shape) {
  WeightVersions versions;
  for (const StageProgram& ops : program.stages) {
    StageWeights weights(rule, microbatches_an_update(rule, shape));
    std::vector<int>& used = versions.used.emplace_back();
    for (const StageOp& op : ops) used.push_back(weights.run(op));
    versions.kept.push_back(weights.kept());
    versions.staleness.push_back(weights.staleness());
  }
  return versions;
}

Program with_updates(Program program, const WithoutFlush& rule, PipelineShape shape) {
  const WeightVersions versions = weight_versions(program, rule, shape);
  const int an_update = microbatches_an_update(rule, shape);
  for (const Stage stage : program.stages.ids()) {
    const StageProgram passes = std::exchange(program.stages[stage], {});
    StageProgram& ops = program.stages[stage];
    int backwards = 0, updates = 0;
    const auto update = [&] { ops.push_back({OpKind::kUpdate, id_of<MicroBatch>(++updates * an_update - 1), {}}); };
    for (std::size_t at = 0; at < passes.size(); ++at) {
      while (updates < versions.used[stage][at]) update();
      ops.push_back(passes[at]);
      if (passes[at].kind != OpKind::kForward) ++backwards;
    }
    while (updates < backwards / an_update) update();
  }
  return program;
}

SteadyRun steady_run(PipelineShape shape) {
  const auto steps_of = [&](int microbatches) { return (microbatches + shape.microbatches - 1) / shape.microbatches; };
  return {.before = 1 + steps_of(6 * shape.stages), .measured = steps_of(2 * shape.stages)};
}

Program repeated(const Program& a_step, PipelineShape shape, bool updates) {
  Program program = a_step;
  for (const Stage stage : program.stages.ids()) {
    StageProgram& ops = program.stages[stage];
    const StageProgram once = std::exchange(ops, {});
    for (int step = 0; step < steady_run(shape).steps(); ++step) {
      const int first = step * shape.microbatches;
      for (StageOp op : once) {
        op.microbatch = id_of<MicroBatch>(first + op.microbatch.number());
        ops.push_back(op);
      }
      if (updates) ops.push_back({OpKind::kUpdate, id_of<MicroBatch>(first + shape.microbatches - 1), {}});
    }
  }
  return program;
}

Program steady_program(const Schedule& schedule, PipelineShape shape) {
  shape.microbatches *= steady_run(shape).steps();
  return schedule.build(shape);
}

}  // namespace foretoken::schedule
