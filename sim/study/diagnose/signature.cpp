// Simulates a step and reads its timers on every rank that differs.
#include "sim/study/diagnose/signature.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/observe/rank_timers.h"
#include "sim/ranks/unfold.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using observe::RankTimers;
using Timers = std::array<Spread, kTimerKinds>;

std::array<Seconds, kTimerKinds> in_order(const RankTimers& t) {
  return {t.forward_backward, t.forward, t.backward, t.gradients, t.parameters, t.optimizer};
}

// Collects the spread over ranks. The rank that was added last is the last one.
class Spreads {
 public:
  void add(const RankTimers& rank) {
    const auto values = in_order(rank);
    for (std::size_t kind = 0; kind < kTimerKinds; ++kind) {
      Spread& spread = timers_[kind];
      spread.least = any_ ? std::min(spread.least, values[kind]) : values[kind];
      spread.most = any_ ? std::max(spread.most, values[kind]) : values[kind];
      spread.last = values[kind];
    }
    any_ = true;
  }
  [[nodiscard]] const Timers& timers() const { return timers_; }

 private:
  Timers timers_{};
  bool any_ = false;
};

void add_stages(Spreads& spreads, const step::LoweredStep& step, const des::RunResult& run) {
  for (const Stage stage : step.program.stages.ids()) spreads.add(observe::rank_timers(step, run, stage));
}

// Returns the stage ranks whose runs can differ: the first of each replica, as the ranks of a replica wait for each
// other in every layer.
std::vector<StageRank> different_ranks(const ranks::UnfoldedStep& unfolded) {
  const ranks::Teams& replicas = unfolded.ranks.teams(net::kLayerAxes);
  std::vector<StageRank> ranks;
  for (const ranks::Team team : replicas.all()) ranks.push_back(replicas.members(team).front());
  return ranks;
}

Signature scaled(Signature signature, double factor) {
  signature.step = factor * signature.step;
  if (signature.timers)
    for (Spread& spread : *signature.timers)
      spread = {factor * spread.least, factor * spread.most, factor * spread.last};
  return signature;
}

Seconds mix(Seconds a, Seconds b, double part) { return std::max(Seconds(0), (1 - part) * a + part * b); }

double middle_of_all(std::vector<double> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

// Returns the median of the least and of the most over the steady entries.
std::optional<std::pair<Seconds, Seconds>> steady_reading(const io::log::Timer& timer, const Steady& steady) {
  std::vector<double> least, most;
  for (const io::log::TimerReading& reading : timer.readings) {
    if (steady.reasons[reading.entry] != Unsteady::kNone) continue;
    least.push_back(reading.least_s);
    most.push_back(reading.most_s);
  }
  if (least.empty()) return std::nullopt;
  return std::pair{Seconds(middle_of_all(std::move(least))), Seconds(middle_of_all(std::move(most)))};
}

// The names that versions gave a timer.
constexpr std::pair<std::string_view, TimerKind> kTimerNames[] = {
    {"forward-backward", TimerKind::kForwardBackward}, {"forward-compute", TimerKind::kForward},
    {"backward-compute", TimerKind::kBackward},        {"all-grads-sync", TimerKind::kGradients},
    {"grads-all-reduce", TimerKind::kGradients},       {"backward-params-all-reduce", TimerKind::kGradients},
    {"params-all-gather", TimerKind::kParameters},     {"optimizer", TimerKind::kOptimizer},
};

}  // namespace

std::string_view name_of(TimerKind kind) {
  constexpr std::array<std::string_view, kTimerKinds> kNames{
      "forward-backward", "forward-compute", "backward-compute", "all-grads-sync", "params-all-gather", "optimizer"};
  return kNames[static_cast<std::size_t>(kind)];
}

Signature signature_of(const job::Job& job, double factor, const step::LoweredStep* lowered) {
  const How how = resolved({}, job);
  const bool flows = how.traffic == ranks::Traffic::kFlows;
  std::optional<step::LoweredStep> own;
  if (lowered == nullptr) own = flows ? step::lower_for_flows(job, how.fidelity) : step::lower(job, how.fidelity);
  const step::LoweredStep& step = lowered != nullptr ? *lowered : *own;
  if (step.steady) return {factor * step_time(step, job, how), std::nullopt};
  Spreads spreads;
  des::Instant end;
  if (how.unfolded) {
    const ranks::UnfoldedStep unfolded = ranks::unfold(step, job, *how.traffic);
    const des::RunResult run = des::run(unfolded.graph, {}, des::Kept::kStarts);
    for (const StageRank rank : different_ranks(unfolded))
      add_stages(spreads, step, ranks::seen_by(rank, unfolded, run));
    end = run.makespan;
  } else {
    const des::RunResult run = des::run(step.workload.graph);
    add_stages(spreads, step, run);
    end = run.makespan;
  }
  return scaled({des::to_seconds(end - des::Instant{}), spreads.timers()}, factor);
}

Signature between(const Signature& a, const Signature& b, double part) {
  Signature result{mix(a.step, b.step, part), std::nullopt};
  if (!a.timers || !b.timers) return result;
  result.timers.emplace();
  for (std::size_t kind = 0; kind < kTimerKinds; ++kind) {
    const Spread &from = (*a.timers)[kind], &to = (*b.timers)[kind];
    (*result.timers)[kind] = {mix(from.least, to.least, part), mix(from.most, to.most, part),
                              mix(from.last, to.last, part)};
  }
  return result;
}

ObservedStep observed_step(const io::log::TrainingLog& log, const Steady& steady) {
  ObservedStep observed{.step = Seconds(steady.median), .jitter = steady.jitter, .entries = steady.entries};
  observed.scope = log.timer_scope;
  for (const io::log::Timer& timer : log.timers) {
    const auto reading = steady_reading(timer, steady);
    if (!reading) continue;
    if (timer.name == "batch-generator" || timer.name == "batch generator") observed.data = reading->second;
    for (const auto& [name, kind] : kTimerNames)
      if (timer.name == name) observed.timers.push_back({kind, reading->first, reading->second});
  }
  return observed;
}

}  // namespace foretoken::study
