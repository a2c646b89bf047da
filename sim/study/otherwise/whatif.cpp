// Predicts every combination of values, and finds the best one and the knees of the keys.
#include "sim/study/otherwise/whatif.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/report/text/number.h"
#include "sim/study/ordered_parallel.h"
#include "sim/study/predict/predict.h"
#include "sim/study/reason.h"

namespace foretoken::study {
namespace {

bool better(const WhatIfRow& a, const WhatIfRow& b) {
  if (a.metrics->memory.fits != b.metrics->memory.fits) return a.metrics->memory.fits;
  return a.metrics->tokens_per_s > b.metrics->tokens_per_s;  // rows may differ in the tokens of a step
}

// Returns the knee along one key, over the rows that agree with the best one in all other keys. Returns nothing when a
// value is no number.
std::optional<Knee> knee_along(const WhatIf& whatif, std::size_t key) {
  const std::vector<std::size_t>& best = whatif.rows[*whatif.best].choice;
  std::vector<Trial> trials;
  for (const WhatIfRow& row : whatif.rows) {
    bool on_line = true;
    for (std::size_t i = 0; i < best.size(); ++i) on_line = on_line && (i == key || row.choice[i] == best[i]);
    if (!on_line) continue;
    const std::optional<double> value = parse_positive(whatif.keys[key].values[row.choice[key]]);
    if (!value) return std::nullopt;
    if (row.metrics) trials.push_back({*value, row.metrics->step_time.value()});
  }
  return knee_of(std::move(trials));
}

// Returns the overrides of the rows. Another cluster brings its own profile, unless the scenario states a different
// one.
std::vector<std::string> sets_of_rows(const WhatIfQuestion& question, const job::Job& base) {
  std::vector<std::string> sets = question.sets;
  if (!is_varied(question.keys, "cluster")) return sets;
  sets.emplace_back("profile=null");
  try {
    if (question.scenario.read(sets).job.profile.name != base.profile.name) sets.pop_back();
  } catch (const ConfigError&) {  // the cluster has no profile
    sets.pop_back();
  }
  return sets;
}

// Returns `sets` with the values of a row. A stated price belongs to the cluster that it was stated with, so a row on
// another cluster leaves it.
std::vector<std::string> sets_of_row(const WhatIfQuestion& question, const job::Job& base,
                                     const std::vector<std::string>& sets, const std::vector<std::size_t>& choice) {
  std::vector<std::string> all = sets;
  append_choice(question.keys, choice, all);
  if (!base.run || !is_varied(question.keys, "cluster")) return all;
  if (question.scenario.read_open(all).asked().cluster.name == base.cluster.name) return all;
  all = sets;
  all.emplace_back("run.price_per_gpu_hour=null");
  append_choice(question.keys, choice, all);
  return all;
}

WhatIfRow try_row(const WhatIfQuestion& question, const job::Job& base, const std::vector<std::string>& sets,
                  const std::vector<std::size_t>& choice, const trust::Evidence& evidence) {
  WhatIfRow row{.choice = choice, .metrics = {}, .impossible = {}};
  try {
    row.metrics = predict(question.scenario.read(sets_of_row(question, base, sets, choice)),
                          {.keeps_tasks = false, .advice = true, .interval = IntervalQuestion{evidence}})
                      .metrics;
  } catch (const ConfigError& error) {
    row.impossible = error.complaints();
  }
  return row;
}

std::vector<WhatIfRow> try_all(const WhatIfQuestion& question, const job::Job& base, const trust::Evidence& evidence,
                               const Watch& watch) {
  std::vector<WhatIfRow> rows;
  if (question.keys.empty()) return rows;
  const std::vector<std::vector<std::size_t>> choices = combinations(question.keys);
  const std::vector<std::string> sets = sets_of_rows(question, base);
  std::size_t at = 0;
  watch.show(0, choices.size());
  ordered_parallel<std::size_t>(
      question.threads, [&] { return at < choices.size() && !watch.stopped() ? std::optional(at++) : std::nullopt; },
      [&](std::size_t item) { return try_row(question, base, sets, choices[item], evidence); },
      [&](WhatIfRow& row) {
        rows.push_back(std::move(row));
        watch.show(rows.size(), choices.size());
      });
  return rows;
}

// Finds the best row and the knees.
void conclude(WhatIf& whatif) {
  whatif.best.reset();
  for (std::size_t i = 0; i < whatif.rows.size(); ++i)
    if (whatif.rows[i].metrics && (!whatif.best || better(whatif.rows[i], whatif.rows[*whatif.best]))) whatif.best = i;
  whatif.knees.assign(whatif.keys.size(), std::nullopt);
  if (!whatif.best) return;
  for (std::size_t key = 0; key < whatif.keys.size(); ++key) whatif.knees[key] = knee_along(whatif, key);
}

// Returns the reasons of at most ten rows and the number of the others, or once the reasons that all rows share. Keys
// are written as on the command line. `scenario` is the name of its file.
std::vector<Complaint> why_all_are_impossible(const WhatIf& whatif, const std::string& scenario) {
  constexpr std::size_t kMostLines = 10;
  const auto line = [&](const Complaint& why, const std::string& prefix) {
    return Complaint{why.file.empty() ? scenario : why.file, "", prefix + reason(why)};
  };
  std::vector<Complaint> complaints;
  const std::vector<Complaint>& first = whatif.rows.front().impossible;
  const bool alike = std::all_of(whatif.rows.begin(), whatif.rows.end(),
                                 [&](const WhatIfRow& row) { return reasons(row.impossible) == reasons(first); });
  if (alike) {
    for (const Complaint& why : first) complaints.push_back(line(why, ""));
    return complaints;
  }
  std::size_t more = 0;
  for (const WhatIfRow& row : whatif.rows) {
    const std::string prefix = printable(choice_text(whatif, row)) + ": ";
    for (const Complaint& why : row.impossible)
      if (complaints.size() < kMostLines)
        complaints.push_back(line(why, prefix));
      else
        ++more;
  }
  if (more > 0)
    complaints.push_back(
        {complaints.back().file, "", fmt::format("and {} more", report::whole(static_cast<double>(more)))});
  return complaints;
}

}  // namespace

std::string choice_text(const WhatIf& whatif, const WhatIfRow& row) {
  std::string text;
  for (std::size_t k = 0; k < whatif.keys.size(); ++k)
    text += fmt::format("{}{} = {}", k == 0 ? "" : ", ", whatif.keys[k].key, whatif.keys[k].values[row.choice[k]]);
  return text;
}

WhatIf what_if(const WhatIfQuestion& question, const trust::Evidence& evidence, const Watch& watch) {
  const job::Made made = question.scenario.read(question.sets);
  const job::Job& base = made.job;
  WhatIf whatif{
      .base = predict(made, {.keeps_tasks = false, .advice = true, .interval = IntervalQuestion{evidence}}).metrics,
      .keys = question.keys,
      .rows = {},
      .best = {},
      .knees = {},
      .part = question.part,
      .tornado = {}};
  // Combinations and properties are counted together.
  const std::size_t combinations_asked = question.keys.empty() ? 0 : combinations(question.keys).size();
  const std::size_t total = combinations_asked + (question.tornado ? sensitivity_count(base) : 0);
  const auto after = [&](std::size_t before) {
    return Watch{
        .progress = [&watch, before, total](std::size_t done, std::size_t) { watch.show(before + done, total); },
        .stop = watch.stop};
  };
  whatif.rows = try_all(question, base, evidence, after(0));
  conclude(whatif);
  if (!whatif.rows.empty() && !whatif.best && !watch.stopped())
    throw ConfigError(why_all_are_impossible(whatif, printable(question.scenario.name())));
  if (question.tornado)
    whatif.tornado = sensitivities(base, question.part, whatif.base.bias_factor(), after(whatif.rows.size()));
  return whatif;
}

}  // namespace foretoken::study
