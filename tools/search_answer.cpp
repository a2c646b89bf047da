// From the best outcomes to full predictions of them.
#include "tools/search_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/simulate.h"
#include "sim/base/check.h"
#include "sim/io/read_scenario.h"
#include "sim/report/number.h"

namespace foretoken::tools {
namespace {

using search::Outcome;

std::vector<std::string> searched_keys(const io::OpenKeys& open) {
  std::vector<std::string> keys;
  const auto add = [&](bool is_open, const char* key) {
    if (is_open) keys.emplace_back(key);
  };
  add(open.tensor, "parallelism.tensor");
  add(open.pipeline, "parallelism.pipeline");
  add(open.virtual_pipeline, "parallelism.virtual_pipeline");
  add(open.context, "parallelism.context");
  add(open.sequence_parallel, "parallelism.sequence_parallel");
  add(open.schedule, "schedule");
  add(open.micro_batch, "batch.micro");
  add(open.recompute, "recompute");
  add(open.zero_stage, "optimizer.zero_stage");
  return keys;
}

FoundConfiguration found(const search::Space& space, const Outcome& outcome) {
  FoundConfiguration configuration{.candidate = space.candidates()[outcome.candidate],
                                   .outcome = outcome,
                                   .scenario = {},
                                   .text = {},
                                   .metrics = {}};
  lowering::Scenario scenario = space.question().base();
  space.apply(configuration.candidate, scenario);
  expects(space.question().complete(scenario).empty(), "what was found obeys the rules of scenarios");
  configuration.text = space.question().text_of(scenario);
  configuration.scenario = io::read_scenario_text(configuration.text, "the configuration found");
  return configuration;
}

}  // namespace

SearchAnswer answer_of(const SearchRequest& request, const search::Space& space, const search::Ranking& ranking,
                       bool complete) {
  SearchAnswer answer{.name = space.question().base().name,
                      .objective = request.objective,
                      .axes = request.axes,
                      .searched = searched_keys(space.question().open()),
                      .several_sizes = request.space.gpus.size() > 1,
                      .complete = complete,
                      .considered = space.candidates().size(),
                      .invalid = ranking.count(search::Verdict::kInvalid),
                      .too_large = ranking.count(search::Verdict::kTooLarge),
                      .ranked = {},
                      .front = {},
                      .smallest = {}};
  for (const Outcome& outcome : ranking.top()) {
    FoundConfiguration& best = answer.ranked.emplace_back(found(space, outcome));
    best.metrics = app::predict(best.scenario);
    expects(best.metrics->step_time == des::to_seconds(outcome.step_time) && best.metrics->memory.peak == outcome.peak,
            "a replay says what simulate says");
  }
  for (const Outcome& outcome : ranking.front()) answer.front.push_back(found(space, outcome));
  if (answer.ranked.empty())
    for (const Outcome& outcome : ranking.smallest()) answer.smallest.push_back(found(space, outcome));
  return answer;
}

std::string configuration_words(const search::Candidate& c) {
  std::string words = fmt::format("TP{} PP{}", c.tensor, c.pipeline);
  if (c.virtual_pipeline > 1) words += fmt::format(" VPP{}", c.virtual_pipeline);
  if (c.context > 1) words += fmt::format(" CP{}", c.context);
  words += fmt::format(" DP{}", c.gpus / (c.tensor * c.context * c.pipeline));
  if (c.sequence_parallel) words += " SP";
  words += fmt::format(", micro-batch {}, recompute {}", c.micro, model::name_of(c.recompute));
  if (c.zero_stage > 0) words += fmt::format(", ZeRO-{}", c.zero_stage);
  return words;
}

std::string why_runner_up_loses(const SearchAnswer& answer) {
  if (answer.ranked.size() < 2) return "";
  const report::Metrics &first = *answer.ranked[0].metrics, &second = *answer.ranked[1].metrics;
  const auto step = [](const report::Metrics& m) { return m.step_time.value(); };
  const report::TimeSplit &a = first.time, &b = second.time;
  struct Part {
    const char* words;
    double more;  // seconds
  };
  std::vector<Part> parts = {
      {"compute", (b.compute - a.compute).value()},
      {"tensor-parallel communication", (b.tensor_parallel_comm - a.tensor_parallel_comm).value()},
      {"context-parallel communication", (b.context_parallel_comm - a.context_parallel_comm).value()},
      {"pipeline messages", (b.pipeline_comm - a.pipeline_comm).value()},
      {"data-parallel communication", (b.data_parallel_comm - a.data_parallel_comm).value()},
      {"optimizer", (b.optimizer - a.optimizer).value()},
      {"pipeline bubble", (b.bubble - a.bubble).value()},
      {"host", (b.host - a.host).value()},
      {"other", (b.other - a.other).value()}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& x, const Part& y) { return std::abs(x.more) > std::abs(y.more); });
  std::string changes;
  for (const Part& part : parts) {
    if (std::abs(part.more) < 5e-4 * step(first)) continue;
    changes += fmt::format("{}{} {}{}", changes.empty() ? "" : ", ", part.words, part.more > 0 ? "+" : "-",
                           report::time_text(Seconds(std::abs(part.more))));
  }
  const double slower = step(second) / step(first) - 1;
  const double memory = (second.memory.peak - first.memory.peak).value() / (1024.0 * 1024 * 1024);
  std::string text = configuration_words(answer.ranked[1].candidate);
  if (answer.several_sizes) text += fmt::format(" on {} GPUs", answer.ranked[1].candidate.gpus);
  text += slower == 0 ? ": the same step time" : fmt::format(": step {:+.2f} %", 100 * slower);
  if (!changes.empty()) text += fmt::format(" ({})", changes);
  return text + fmt::format(", memory {:+.1f} GiB.", memory);
}

}  // namespace foretoken::tools
