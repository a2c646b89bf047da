// Fits by downhill simplex. It works on the logits of each number's place between its bounds, so no step leaves them.
#include "calibration/fit_runtime/runtime_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit_runtime/runtime_number.h"
#include "sim/base/check.h"
#include "sim/study/predict/predict.h"

namespace foretoken::fit {
namespace {

constexpr int kEvaluations = 250;  // for all steps of a fit; the simplex collapses earlier
constexpr double kFirstStep = 0.6;

std::vector<double> values_at(const std::vector<Movable>& numbers, const Arguments& at) {
  std::vector<double> values;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    values.push_back(numbers[i].low + (numbers[i].high - numbers[i].low) / (1 + std::exp(-at[i])));
  return values;
}

double predicted(const MeasuredStep& step, const std::vector<Movable>& numbers, const std::vector<double>& values) {
  job::Job scenario = step.scenario;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    find_runtime_number(numbers[i].name)->set(scenario.runtime, values[i]);
  return study::predict(scenario, {.keeps_tasks = false}).metrics.step_time.value();
}

std::vector<double> fit_on(const RuntimeFitRequest& request, const std::vector<const MeasuredStep*>& steps) {
  const Objective objective = [&](const Arguments& at) {
    const std::vector<double> values = values_at(request.numbers, at);
    double sum = 0;
    for (const MeasuredStep* step : steps)
      sum += std::abs(std::log(predicted(*step, request.numbers, values) / step->seconds));
    return sum / static_cast<double>(steps.size());
  };
  const Arguments middle(request.numbers.size(), 0.0);
  return values_at(request.numbers, minimise(objective, middle, kFirstStep, kEvaluations));
}

/// Returns the fold of every step. Groups are dealt out in turn, in the order of their names.
std::vector<int> folds_of(const RuntimeFitRequest& request) {
  std::set<std::string> groups;
  for (const MeasuredStep& step : request.steps) groups.insert(step.group);
  expects(static_cast<int>(groups.size()) >= request.folds, "every fold holds a group");
  std::vector<int> folds;
  for (const MeasuredStep& step : request.steps)
    folds.push_back(static_cast<int>(std::distance(groups.begin(), groups.find(step.group))) % request.folds);
  return folds;
}

}  // namespace

RuntimeFit fit_runtime(const RuntimeFitRequest& request) {
  const std::vector<int> folds = folds_of(request);
  // The steps that a fit without `fold` uses; -1 means all.
  const auto without = [&](int fold) {
    std::vector<const MeasuredStep*> steps;
    std::size_t used = 0;
    for (std::size_t i = 0; i < request.steps.size(); ++i)
      if (folds[i] != fold && used++ % static_cast<std::size_t>(request.stride) == 0)
        steps.push_back(&request.steps[i]);
    return steps;
  };
  const auto error = [&](const MeasuredStep& step, const std::vector<double>& values) {
    return predicted(step, request.numbers, values) / step.seconds - 1;
  };
  RuntimeFit fit{.values = fit_on(request, without(-1)), .in_sample = {}, .held_out = {}, .fold_values = {}};
  for (int fold = 0; fold < request.folds; ++fold) fit.fold_values.push_back(fit_on(request, without(fold)));
  for (std::size_t i = 0; i < request.steps.size(); ++i) {
    fit.in_sample.push_back(error(request.steps[i], fit.values));
    fit.held_out.push_back(error(request.steps[i], fit.fold_values[static_cast<std::size_t>(folds[i])]));
  }
  return fit;
}

}  // namespace foretoken::fit
