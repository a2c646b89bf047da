// Simulates a job without each of its overlaps. An overlap slows the work beside it, and smaller pieces of a transfer
// are slower, so one that hides little lengthens the step.
#include "sim/study/otherwise/overlaps.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/job/make.h"
#include "sim/report/text/number.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Key;
using job::Overlap;

constexpr std::pair<Key, bool Overlap::*> kSwitches[] = {{Key::kGradReduce, &Overlap::grad_reduce},
                                                         {Key::kParamGather, &Overlap::param_gather},
                                                         {Key::kP2pOverlap, &Overlap::p2p},
                                                         {Key::kTensorOverlap, &Overlap::tensor_parallel},
                                                         {Key::kExchangeOverlap, &Overlap::exchanges}};
constexpr double kLeastGain = 0.001;  // less shows as 0.0 % in tables

}  // namespace

std::vector<CostlyOverlap> costly_overlaps(const job::Job& job, Seconds step, double bias_factor, const Watch& watch) {
  const job::Question question = job::question_of(job);
  std::vector<CostlyOverlap> costly;
  for (const auto& [key, member] : kSwitches) {
    if (!(job.overlap.*member) || watch.stopped()) continue;
    try {
      const job::Made without = job::make(job::with(question, {{key, false}}));
      const Seconds time = bias_factor * predict(without, {.keeps_tasks = false}).metrics.step_time;
      if (time / step <= 1 - kLeastGain) costly.push_back({key, time});
    } catch (const ConfigError&) {
      continue;  // this job cannot do without it
    }
  }
  std::ranges::stable_sort(costly, [](const auto& a, const auto& b) { return a.without < b.without; });
  return costly;
}

std::string costly_words(const CostlyOverlap& overlap, Seconds step) {
  return fmt::format("{} costs more than it hides: without it the step takes {}, {:.1f} % less; try --set {}",
                     job::name_of(overlap.key), report::time_text(overlap.without), 100 * (1 - overlap.without / step),
                     job::as_set({overlap.key, false}));
}

}  // namespace foretoken::study
