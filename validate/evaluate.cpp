// Simulates each case, and makes the statistics of a set.
#include "validate/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/interval.h"
#include "sim/study/predict/predict.h"

namespace foretoken::validate {
namespace {

std::string shape_of(const job::Job& scenario) {
  const model::Transformer& m = scenario.model;
  return fmt::format("{} layers x {}, {} heads, vocabulary {}, sequence {}", m.layers, m.hidden, m.heads, m.vocabulary,
                     scenario.batch.sequence_length);
}

std::string configuration_of(const job::Job& s) {
  const job::Parallelism& p = s.parallelism;
  return fmt::format("{} {} GPUs t{} p{} v{} d{} c{} sp{} b{} B{} {} recompute {} {} {} zero {}", shape_of(s), s.gpus,
                     p.tensor, p.pipeline, p.virtual_pipeline, p.data, p.context, p.sequence_parallel, s.batch.micro,
                     s.batch.global, s.schedule.name, static_cast<int>(s.recompute.granularity), s.recompute.block,
                     s.recompute.layers, s.optimizer.zero_stage);
}

void compare(CaseResult& result, const report::Metrics& metrics) {
  const Measured& measured = result.row.measured;
  const auto add = [&](Quantity quantity, const auto& published, double predicted) {
    if (published) result.comparisons.push_back({quantity, published->value(), predicted});
  };
  add(Quantity::kStepTime, measured.step_time, metrics.step_time.value());
  add(Quantity::kPeakMemory, measured.peak_memory, metrics.memory.peak.value());
  add(Quantity::kPeakMemory, measured.last_stage_peak, metrics.memory.per_stage.back().peak.value());
  add(Quantity::kLayerForward, measured.layer_forward, metrics.layer_forward.value());
  add(Quantity::kLayerBackward, measured.layer_backward, metrics.layer_backward.value());
}

// Returns false for a measurement of one layer, which does not show that the whole model fits.
bool whole_model_ran(const Measured& measured) {
  return measured.step_time || measured.peak_memory || measured.last_stage_peak;
}

void summarise(SetResult& result) {
  for (const Quantity quantity : kQuantities) {
    std::vector<double> all, untouched;
    for (const CaseResult& one : result.cases)
      if (const Comparison* comparison = one.find(quantity)) {
        all.push_back(comparison->error());
        if (!one.row.fitted) untouched.push_back(comparison->error());
      }
    if (!all.empty()) result.errors.push_back({quantity, spread_of(all), spread_of(untouched)});
  }
  std::vector<Ranked> ranked;
  for (const CaseResult& one : result.cases) {
    if (one.row.measured.out_of_memory && one.fits) ++result.missed_out_of_memory;
    if (whole_model_ran(one.row.measured) && !one.fits) ++result.false_out_of_memory;
    if (const Comparison* step = one.find(Quantity::kStepTime)) {
      const double per_token = one.gpus / one.tokens;
      ranked.push_back({one.model, step->measured * per_token, step->predicted * per_token});
    }
  }
  result.ranking = rank(ranked);
}

}  // namespace

std::string_view words_of(Quantity quantity) {
  constexpr std::array<std::string_view, 4> kWords{"step time", "peak memory", "layer forward", "layer backward"};
  return kWords.at(static_cast<std::size_t>(quantity));
}

std::string_view key_of(Quantity quantity) {
  constexpr std::array<std::string_view, 4> kKeys{"step_time", "peak_memory", "layer_forward", "layer_backward"};
  return kKeys.at(static_cast<std::size_t>(quantity));
}

const Comparison* CaseResult::find(Quantity quantity) const {
  for (const Comparison& comparison : comparisons)
    if (comparison.quantity == quantity) return &comparison;
  return nullptr;
}

CaseResult evaluate(Case row) {
  const study::Prediction run = study::predict(io::read_scenario_text(row.scenario, row.id), {.keeps_tasks = false});
  const report::Metrics& metrics = run.metrics;
  CaseResult result;
  result.row = std::move(row);
  result.model = shape_of(run.job);
  result.configuration = configuration_of(run.job);
  result.place = study::place_of(run.job);
  result.gpus = run.job.gpus;
  result.tokens = static_cast<double>(run.job.batch.global * run.job.batch.sequence_length);
  result.step_time = metrics.step_time;
  result.split = metrics.time;
  result.peak_memory = metrics.memory.peak;
  result.fits = metrics.memory.fits;
  compare(result, metrics);
  return result;
}

SetResult evaluate(CaseSet set, std::size_t stride, const Watch& watch) {
  SetResult result;
  const std::vector<Case> cases = std::exchange(set.cases, {});
  result.set = std::move(set);
  const std::size_t total = (cases.size() + stride - 1) / stride;
  for (std::size_t c = 0; c < cases.size() && !watch.stopped(); c += stride) {
    result.cases.push_back(evaluate(cases[c]));
    watch.show(result.cases.size(), total);
  }
  summarise(result);
  return result;
}

std::vector<std::size_t> worst_cases(const SetResult& result, std::size_t count) {
  std::vector<std::size_t> order;
  for (std::size_t c = 0; c < result.cases.size(); ++c)
    if (!result.cases[c].comparisons.empty()) order.push_back(c);
  const auto size = [&](std::size_t c) { return std::abs(result.cases[c].comparisons.front().error()); };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  order.resize(std::min(order.size(), count));
  return order;
}

}  // namespace foretoken::validate
