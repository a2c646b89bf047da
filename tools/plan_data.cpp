// The plan's numbers: one search a row, then days, failures, cost and energy from its best configuration.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/error.h"
#include "sim/io/read_scenario.h"
#include "sim/lowering/memory.h"
#include "sim/model/transformer.h"
#include "sim/search/searcher.h"
#include "tools/plan.h"
#include "tools/scenario_text.h"

namespace foretoken::tools {
namespace {

// Weights in the training precision, master weights and Adam's moments: what a checkpoint must hold.
double checkpoint_bytes(const lowering::Scenario& scenario) {
  const lowering::PrecisionRecipe& recipe = scenario.recipe;
  return model::total_parameters(scenario.model) * (recipe.weight_bytes + recipe.master_bytes + recipe.moment_bytes);
}

std::string first_message(const ConfigError& error) {
  const Complaint& complaint = error.complaints().front();
  return complaint.pointer.empty() ? complaint.message : complaint.pointer + ": " + complaint.message;
}

// Searches one size; empty: nothing valid fits, and `row` says why.
void search_row(const io::OpenScenario& question, const PlanQuestion& asked, PlanRow& row) {
  SearchRequest request{.question = question.question(), .space = asked.space};
  request.space.gpus = {row.gpus};
  request.top = 1;
  const search::Space space(question, request.space);
  const search::SearchResult found = run_search(space, {.top = 1, .threads = asked.threads});
  const SearchAnswer answer = answer_of(request, space, found.ranking, true);
  if (!answer.ranked.empty()) {
    row.best = answer.ranked.front();
  } else if (answer.too_large > 0) {
    row.impossible = fmt::format("nothing fits in memory; the smallest of {} configurations needs {:.1f} GiB of {:.1f}",
                                 answer.too_large, answer.smallest.front().outcome.peak.value() / (1 << 30),
                                 question.base().cluster.gpu.memory.value() / (1 << 30));
  } else {
    row.impossible = "no valid configuration: the batch or the layers do not divide over these GPUs";
  }
}

void add_run(const PlanQuestion& asked, PlanRow& row) {
  const PlanAssumptions& assumed = asked.assumptions;
  const lowering::Scenario& scenario = row.best.scenario;
  row.training_days = assumed.tokens / row.best.metrics->tokens_per_s / 86400;
  row.checkpoint_bytes = checkpoint_bytes(scenario);
  row.checkpoint_write_s = assumed.checkpoint_write_s.value_or(row.checkpoint_bytes /
                                                               (assumed.checkpoint_gb_per_s_per_gpu * 1e9 * row.gpus));
  row.run = search::run_with_failures(row.training_days, row.gpus,
                                      {.mtbf_hours_per_gpu = assumed.mtbf_hours_per_gpu,
                                       .checkpoint_write_s = row.checkpoint_write_s,
                                       .restart_s = assumed.restart_s});
  row.gpu_hours = row.run.expected_days * 24 * row.gpus;
  row.price_per_gpu_hour = assumed.price_per_gpu_hour;
  if (!row.price_per_gpu_hour) row.price_per_gpu_hour = scenario.cluster.price_per_gpu_hour;
  if (!row.price_per_gpu_hour && scenario.run) row.price_per_gpu_hour = scenario.run->price_per_gpu_hour;
  if (row.price_per_gpu_hour) row.cost = row.gpu_hours * *row.price_per_gpu_hour;
  if (const auto watts = scenario.cluster.gpu.tdp_watts) row.energy_mwh = row.gpu_hours * *watts * assumed.pue / 1e6;
  row.meets_deadline = !asked.deadline_days || row.run.p90_days <= *asked.deadline_days;
  row.within_budget = !asked.budget || (row.cost && *row.cost <= *asked.budget);
}

void choose(Plan& plan) {
  const auto spent = [](const PlanRow& row) { return row.cost.value_or(row.gpu_hours); };
  for (std::size_t at = 0; at < plan.rows.size(); ++at) {
    const PlanRow& row = plan.rows[at];
    if (!row.impossible.empty() || !row.meets_deadline || !row.within_budget) continue;
    if (!plan.smallest || row.gpus < plan.rows[*plan.smallest].gpus ||
        (row.gpus == plan.rows[*plan.smallest].gpus &&
         row.run.expected_days < plan.rows[*plan.smallest].run.expected_days))
      plan.smallest = at;
    if (!plan.cheapest || spent(row) < spent(plan.rows[*plan.cheapest])) plan.cheapest = at;
  }
}

}  // namespace

Plan make_plan(const PlanQuestion& asked) {
  const ScenarioSource source(asked.scenario);
  Plan plan{.name = {},
            .assumptions = asked.assumptions,
            .deadline_days = asked.deadline_days,
            .budget = asked.budget,
            .rows = {},
            .smallest = {},
            .cheapest = {}};
  const std::vector<std::string> clusters = asked.clusters.empty() ? std::vector<std::string>{""} : asked.clusters;
  for (const std::string& cluster : clusters) {
    std::vector<std::string> sets = asked.sets;
    if (!cluster.empty()) sets.insert(sets.end(), {"cluster=" + cluster, "profile=null"});
    double base_rate = 0;
    const io::OpenScenario question = source.read_open(sets);
    plan.name = question.base().name;
    if (plan.assumptions.tokens == 0 && question.base().run) plan.assumptions.tokens = question.base().run->tokens;
    if (plan.assumptions.tokens == 0)
      throw ConfigError(
          {{"foretoken plan", "", "expected --tokens N, for instance 300B; the scenario has no run.tokens"}});
    PlanQuestion row_question = asked;
    row_question.assumptions = plan.assumptions;
    for (const int gpus : asked.space.gpus.empty() ? std::vector<int>{question.base().gpus} : asked.space.gpus) {
      PlanRow& row = plan.rows.emplace_back();
      row.cluster = question.base().cluster.name;
      row.gpus = gpus;
      try {
        search_row(question, asked, row);
      } catch (const ConfigError& error) {
        row.impossible = first_message(error);
      }
      if (!row.impossible.empty()) continue;
      add_run(row_question, row);
      const double rate = row.best.metrics->tokens_per_s_per_gpu;
      if (base_rate == 0) base_rate = rate;
      row.scaling_efficiency = rate / base_rate;
    }
  }
  choose(plan);
  return plan;
}

}  // namespace foretoken::tools
