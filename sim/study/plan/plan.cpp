// Makes a capacity plan: one search for each row, then days, failures, cost and energy of its best configuration.
#include "sim/study/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/base/error.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/model/counts/parameters.h"
#include "sim/report/text/number.h"
#include "sim/step/memory/memory.h"
#include "sim/study/plan/outlook.h"
#include "sim/study/reason.h"
#include "sim/study/scenario_source.h"
#include "sim/study/search/searcher.h"
#include "sim/study/search/why_none.h"
#include "sim/trust/interval.h"

namespace foretoken::study {
namespace {

// Returns the size of a checkpoint: weights in the training precision, master weights and Adam's moments. Frozen
// weights are never written.
double checkpoint_bytes(const job::Job& scenario) {
  const job::PrecisionRecipe& recipe = scenario.recipe;
  return model::trained_parameters(scenario.model) * (recipe.weight_bytes + recipe.master_bytes + recipe.moment_bytes);
}

// Searches one size, and returns whether it came to an end. When no valid configuration fits, `row` holds the reason.
bool search_row(const io::OpenScenario& question, const PlanQuestion& asked, const trust::Evidence& evidence,
                const Watch& watch, PlanRow& row) {
  SearchRequest request{.question = question.question(), .space = asked.space};
  request.space.gpus = {row.gpus};
  request.top = 1;
  const search::Space space(question, request.space);
  const search::SearchResult found =
      run_search(space, {.top = 1, .threads = asked.threads}, {.decided = {}, .progress = {}, .stop = watch.stop});
  if (!found.complete) return false;
  const SearchAnswer answer = answer_of(request, space, found.ranking, true, {evidence, asked.level, asked.threads});
  if (!answer.ranked.empty()) {
    row.best = answer.ranked.front();
  } else if (answer.too_large > 0) {
    row.impossible = why_none_fits(answer.too_large, answer.smallest.front());
  } else {
    row.impossible = reason(why_none_is_valid(question, request.space, row.gpus).front());
  }
  return true;
}

search::FailureModel failures_of(const PlanAssumptions& assumed, const PlanRow& row) {
  return {.mtbf_hours_per_gpu = assumed.mtbf_hours_per_gpu,
          .checkpoint_write_s = row.checkpoint_write_s,
          .restart_s = assumed.restart_s};
}

// Counts what the GPUs of a row take in so many days.
void spend(const PlanAssumptions& assumed, const PlanRow& row, double days, PlannedRun& run) {
  run.gpu_hours = days * 24 * row.gpus;
  if (row.price_per_gpu_hour) run.cost = run.gpu_hours * *row.price_per_gpu_hour;
  const net::Cluster& cluster = row.best.scenario.cluster;
  const auto& watts = cluster.power_limit_watts ? cluster.power_limit_watts : cluster.gpu.tdp_watts;
  if (watts) run.energy_mwh = run.gpu_hours * *watts * assumed.pue / 1e6;
}

PlannedRun planned_run(const PlanAssumptions& assumed, const PlanRow& row, Seconds step) {
  const job::Job& scenario = row.best.scenario;
  const double steps = assumed.tokens / static_cast<double>(scenario.batch.global * scenario.batch.sequence_length);
  PlannedRun run;
  run.training_days = steps * step.value() / 86400;
  run.failures = search::run_with_failures(run.training_days, row.gpus, failures_of(assumed, row));
  spend(assumed, row, run.failures.expected_days, run);
  return run;
}

// Returns true when the scenario itself is about the cluster `name`.
bool is_own_cluster(const PlanQuestion& asked, const std::string& name) {
  try {
    return asked.scenario.read_open(asked.sets).asked().cluster.name == name;
  } catch (const ConfigError&) {  // the plan names other clusters, and the scenario's own is wrong or left out
    return false;
  }
}

// Returns the price of --price, else the scenario's price for its own cluster, else the cluster's list price in USD.
std::optional<double> price_of(const PlanAssumptions& assumed, const job::Question& scenario, bool own_cluster) {
  if (assumed.price_per_gpu_hour) return assumed.price_per_gpu_hour;
  if (own_cluster && job::price_of(scenario)) return job::price_of(scenario);
  return assumed.currency == "USD" ? scenario.cluster.price_per_gpu_hour : std::nullopt;
}

// Returns the scenario on one cluster (empty: its own), with the tokens and the price of the plan. Notes tokens and
// name that the plan lacks.
io::OpenScenario question_on(const PlanQuestion& asked, const std::string& cluster, Plan& plan) {
  std::vector<std::string> sets = asked.sets;
  if (!cluster.empty()) sets.insert(sets.end(), {"cluster=" + cluster, "profile=null"});
  if (asked.assumptions.tokens > 0)
    sets.insert(sets.end(),
                {"run.epochs=null", "run.examples=null", fmt::format("run.tokens={}", asked.assumptions.tokens)});
  const job::Question scenario = asked.scenario.read_open(sets).asked();
  if (!scenario.run)
    throw ConfigError(
        {{"foretoken plan", "", "expected --tokens N, for instance 300B; the scenario has no run.tokens"}});
  plan.name = scenario.name;
  plan.assumptions.tokens = scenario.run->tokens;
  plan.assumptions.currency = scenario.run->currency;
  const std::optional<double> price =
      price_of(plan.assumptions, scenario, cluster.empty() || is_own_cluster(asked, scenario.cluster.name));
  sets.push_back("run.price_per_gpu_hour=" + (price ? fmt::format("{}", *price) : "null"));
  return asked.scenario.read_open(sets);
}

RunChances chances_of(const PlanQuestion& asked, const PlanAssumptions& assumed, const PlanRow& row,
                      const trust::Evidence& evidence) {
  const double distance = row.best.metrics->interval->distance;
  const Outlook outlook(row.run.training_days, row.gpus, failures_of(assumed, row),
                        [&](double part) { return trust::error_quantile(evidence, distance, part); });
  RunChances chances{.p50_days = outlook.days_by(0.5),
                     .p90_days = outlook.days_by(0.9),
                     .low_days = std::min(outlook.days_by((1 - asked.level) / 2), row.fast.failures.expected_days),
                     .high_days = std::max(outlook.days_by((1 + asked.level) / 2), row.slow.failures.expected_days)};
  if (asked.deadline_days) chances.deadline = outlook.chance_within(*asked.deadline_days);
  if (asked.budget) {
    chances.budget.reset();
    const auto& price = row.price_per_gpu_hour;
    if (price) chances.budget = *price > 0 ? outlook.chance_within(*asked.budget / (24 * row.gpus * *price)) : 1;
  }
  return chances;
}

void add_runs(const PlanAssumptions& assumed, PlanRow& row) {
  const job::Job& scenario = row.best.scenario;
  row.checkpoint_bytes = checkpoint_bytes(scenario);
  row.checkpoint_write_s = assumed.checkpoint_write_s.value_or(row.checkpoint_bytes /
                                                               (assumed.checkpoint_gb_per_s_per_gpu * 1e9 * row.gpus));
  const report::Metrics& metrics = *row.best.metrics;
  row.run = planned_run(assumed, row, metrics.step_time);
  row.fast = planned_run(assumed, row, metrics.interval->low);
  row.slow = planned_run(assumed, row, metrics.interval->high);
}

void choose(Plan& plan) {
  bool priced = false;
  std::vector<std::size_t> good;
  for (std::size_t at = 0; at < plan.rows.size(); ++at) {
    const PlanRow& row = plan.rows[at];
    if (!row.impossible.empty() || !row.chances.enough()) continue;
    good.push_back(at);
    priced = priced || row.run.cost;
  }
  const auto size = [](const PlanRow& row) { return std::pair(row.gpus, row.run.failures.expected_days); };
  const auto spent = [&](const PlanRow& row) { return priced ? *row.run.cost : row.run.gpu_hours; };
  for (const std::size_t at : good) {
    const PlanRow& row = plan.rows[at];
    if (!plan.smallest || size(row) < size(plan.rows[*plan.smallest])) plan.smallest = at;
    if (priced && !row.run.cost) continue;
    if (!plan.cheapest || spent(row) < spent(plan.rows[*plan.cheapest])) plan.cheapest = at;
  }
}

// Returns the reason why a run is refused when it would take more than 100 years.
std::string why_endless(const PlanRow& row) {
  constexpr double kLongestDays = 100 * 365.25;
  if (row.slow.failures.p90_days < kLongestDays) return "";
  return fmt::format("it would take more than 100 years: {} of training, an interruption every {}",
                     report::days_text(row.run.training_days), report::days_text(row.run.failures.job_mtbf_hours / 24));
}

// Adds time and cost to a row with a configuration. `base_rate` is the tokens/s per GPU of the cluster's first such
// row.
void complete_row(const PlanQuestion& asked, const Plan& plan, const trust::Evidence& evidence, double& base_rate,
                  PlanRow& row) {
  add_runs(plan.assumptions, row);
  row.impossible = why_endless(row);
  if (!row.impossible.empty()) return;
  row.chances = chances_of(asked, plan.assumptions, row, evidence);
  spend(plan.assumptions, row, row.chances.low_days, row.fast);
  spend(plan.assumptions, row, row.chances.high_days, row.slow);
  const double rate = row.best.metrics->tokens_per_s_per_gpu;
  if (base_rate == 0) base_rate = rate;
  row.scaling_efficiency = rate / base_rate;
}

// Adds all sizes of one cluster; an empty name means the scenario's own. Counts each row in `watch`.
void add_rows(const PlanQuestion& asked, const std::string& cluster, const trust::Evidence& evidence,
              const Watch& watch, Plan& plan) {
  const io::OpenScenario question = question_on(asked, cluster, plan);
  double base_rate = 0;
  for (const int gpus : asked.space.gpus.empty() ? std::vector<int>{question.asked().choices.gpus} : asked.space.gpus) {
    if (watch.stopped()) return;
    PlanRow row;
    row.cluster = question.asked().cluster.name;
    row.gpus = gpus;
    try {
      if (!search_row(question, asked, evidence, watch, row)) return;
    } catch (const ConfigError& error) {
      row.impossible = reason(error.complaints().front());
    }
    if (row.impossible.empty()) {
      row.price_per_gpu_hour = job::price_of(question.asked());
      if (!cluster.empty() || !asked.space.gpus.empty()) rename(row.best, row.cluster);
      complete_row(asked, plan, evidence, base_rate, row);
    }
    plan.rows.push_back(std::move(row));
    watch.show(plan.rows.size(), plan.asked);
  }
}

}  // namespace

Plan make_plan(const PlanQuestion& asked, const Watch& watch) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  Plan plan{.name = {},
            .command = {},
            .version = {},
            .assumptions = asked.assumptions,
            .deadline_days = asked.deadline_days,
            .budget = asked.budget,
            .level = asked.level,
            .rows = {},
            .asked = 0,
            .smallest = {},
            .cheapest = {}};
  const std::vector<std::string> clusters = asked.clusters.empty() ? std::vector<std::string>{""} : asked.clusters;
  plan.asked = clusters.size() * std::max<std::size_t>(1, asked.space.gpus.size());
  watch.show(0, plan.asked);
  for (const std::string& cluster : clusters) add_rows(asked, cluster, evidence, watch, plan);
  choose(plan);
  return plan;
}

}  // namespace foretoken::study
