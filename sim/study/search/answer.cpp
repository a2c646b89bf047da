// Predicts the best outcomes of a search in full.
#include "sim/study/search/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/noun.h"
#include "sim/base/text.h"
#include "sim/io/json/parse_json.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/job/make.h"
#include "sim/report/text/number.h"
#include "sim/report/text/time_parts.h"
#include "sim/step/memory/memory.h"
#include "sim/study/predict/interval.h"
#include "sim/study/predict/predict.h"
#include "sim/study/reason.h"
#include "sim/study/search/parallel.h"
#include "sim/study/search/why_none.h"

namespace foretoken::study {
namespace {

using search::Outcome;

std::vector<std::string> searched_keys(const search::Space& space) {
  std::vector<std::string> keys;
  for (const job::Key key : space.searched()) keys.emplace_back(job::name_of(key));
  return keys;
}

// Returns the configuration of an outcome, with its overlaps when they are known. Precondition: its candidate is valid.
FoundConfiguration found(const search::Space& space, const Outcome& outcome) {
  const search::Candidate& candidate = space.candidates()[outcome.candidate];
  const job::Overlap overlap =
      outcome.verdict == search::Verdict::kReplayed ? outcome.overlap : space.overlaps(candidate).front();
  job::Made made = job::make(job::with(space.question().asked(), space.patch_of(candidate, overlap)));
  return {.candidate = candidate,
          .outcome = outcome,
          .step_time = des::to_seconds(outcome.step_time),
          .scenario = std::move(made.job),
          .text = {},
          .metrics = {}};
}

std::vector<FoundConfiguration> all_found(const search::Space& space, const std::vector<Outcome>& outcomes) {
  std::vector<FoundConfiguration> all;
  for (const Outcome& outcome : outcomes) all.push_back(found(space, outcome));
  return all;
}

// Lists the sizes of which no configuration is valid, or none fits.
std::vector<SizeWithout> sizes_without(const SearchRequest& request, const search::Space& space,
                                       const search::Ranking& ranking) {
  std::vector<SizeWithout> sizes;
  for (const int gpus : request.space.gpus) {
    const search::Ranking::OfSize of_size = ranking.of_size(gpus);
    if (of_size.possible > 0) continue;
    sizes.push_back({gpus, of_size.too_large > 0
                               ? why_none_fits(of_size.too_large, found(space, *of_size.smallest))
                               : reason(why_none_is_valid(space.question(), request.space, gpus).front())});
  }
  return sizes;
}

// Refuses a file that has changed since the search began: it would answer another question.
void refuse_changed(const io::OpenScenario& question) {
  for (const io::ReadFile& file : question.files()) {
    io::Findings findings;
    const auto text = io::read_text_file(file.path, printable(file.path.string()), findings);
    if (!text || findings.files.front().digest != file.digest)
      throw ConfigError({{printable(file.path.string()), "", "has changed while the search ran; search again"}});
  }
}

// Writes a ranked configuration as a scenario, reads it again and simulates it, as a user would.
void predict_in_full(FoundConfiguration& best, const io::OpenScenario& question, const AnswerOptions& options) {
  best.text = question.text_of(best.scenario);
  if (best.candidate.gpus != question.asked().choices.gpus) rename(best, best.scenario.cluster.name);
  job::Made made = io::read_scenario_text(best.text, "the configuration found");
  best.scenario = made.job;
  best.metrics =
      predict(std::move(made), {.keeps_tasks = false, .interval = IntervalQuestion{options.evidence, options.level}})
          .metrics;
  const bool same = best.metrics->simulated_step_time == des::to_seconds(best.outcome.step_time) &&
                    best.metrics->step_time == best.step_time && best.metrics->memory.peak == best.outcome.peak;
  if (same) return;
  refuse_changed(question);
  if (options.resumed)
    throw ConfigError(
        {{question.asked().name, "",
          "the results that were taken up are not those of this search; search again into another file"}});
  expects(false, "a replay gives the step time of simulate");
}

// One bias holds for all: what a search changes takes no part in it.
void add_bias(SearchAnswer& answer, const trust::Evidence& evidence) {
  const std::array lists{&answer.ranked, &answer.front, &answer.smallest};
  const auto* const first =
      *std::find_if(lists.begin(), lists.end() - 1, [](const auto* list) { return !list->empty(); });
  if (first->empty()) return;
  answer.bias = bias_of(first->front().scenario, evidence);
  for (std::vector<FoundConfiguration>* list : lists)
    for (FoundConfiguration& found : *list) found.step_time = answer.bias.factor() * found.step_time;
}

}  // namespace

SearchAnswer answer_of(const SearchRequest& request, const search::Space& space, const search::Ranking& ranking,
                       bool complete, const AnswerOptions& options) {
  SearchAnswer answer{.name = space.question().asked().name,
                      .objective = request.objective,
                      .axes = request.axes,
                      .searched = searched_keys(space),
                      .several_sizes = request.space.gpus.size() > 1,
                      .complete = complete,
                      .considered = space.candidates().size(),
                      .decided = ranking.count(),
                      .invalid = ranking.count(search::Verdict::kInvalid),
                      .too_large = ranking.too_large(),
                      .bias = {},
                      .ranked = all_found(space, ranking.top()),
                      .front = all_found(space, ranking.front()),
                      .smallest = {},
                      .without = {},
                      .difference = {}};
  refuse_changed(space.question());
  if (answer.ranked.empty()) answer.smallest = all_found(space, ranking.smallest());
  if (answer.several_sizes && complete) answer.without = sizes_without(request, space, ranking);
  add_bias(answer, options.evidence);
  search::parallel_for(options.threads, answer.ranked.size(), [&](std::size_t, std::size_t rank) {
    predict_in_full(answer.ranked[rank], space.question(), options);
  });
  if (!answer.ranked.empty())
    answer.difference = trust::difference_at(place_of(answer.ranked.front().scenario), options.evidence);
  return answer;
}

void rename(FoundConfiguration& found, const std::string& cluster) {
  const std::string name =
      fmt::format("{} on {} of {}", found.scenario.model.name, with_noun(found.candidate.gpus, "GPU"), cluster);
  nlohmann::json scenario = nlohmann::json::parse(found.text);
  scenario["name"] = name;
  found.text = scenario.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  found.scenario.name = name;
  if (found.metrics) found.metrics->name = name;
}

Bytes needed(const FoundConfiguration& found) { return found.outcome.peak + step::outside_allocator(found.scenario); }

double filled(const FoundConfiguration& found) { return needed(found) / found.scenario.cluster.gpu.memory; }

std::string overlap_words(const job::Overlap& overlap) {
  std::vector<std::string_view> names;
  for (const auto& [name, member] : job::kOverlaps)
    if (overlap.*member) names.push_back(name);
  if (overlap.exchanges) names.emplace_back("exchanges");
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string configuration_words(const FoundConfiguration& found) {
  return configuration_words(found.candidate, found.scenario.overlap);
}

std::string layers_words(const std::vector<int>& layers) {
  std::vector<std::string> runs;
  for (auto from = layers.begin(); from != layers.end();) {
    const auto to = std::find_if(from, layers.end(), [&](int each) { return each != *from; });
    runs.push_back(to - from > 1 ? fmt::format("{}x{}", to - from, *from) : fmt::format("{}", *from));
    from = to;
  }
  return fmt::format("{}", fmt::join(runs, "-"));
}

std::string configuration_words(const search::Candidate& c, const job::Overlap& overlap) {
  constexpr AxisSet kAlwaysNamed = {Axis::kTensor, Axis::kPipeline, Axis::kData};
  std::vector<std::string> parts;
  for (const auto& [axis, member] : job::kDegrees) {
    if (kAlwaysNamed.contains(axis) || c.degrees[axis] > 1)
      parts.push_back(fmt::format("{}{}", short_name_of(axis), c.degrees[axis]));
    if (axis == Axis::kPipeline && c.virtual_pipeline > 1) parts.push_back(fmt::format("VPP{}", c.virtual_pipeline));
  }
  for (const auto& [axis, member] : job::kExpertDegrees)
    if (c.degrees[axis] > 1) parts.push_back(fmt::format("{}{}", short_name_of(axis), c.degrees[axis]));
  if (c.sequence_parallel) parts.emplace_back("SP");
  std::string words = fmt::format("{}", fmt::join(parts, " "));
  words += fmt::format(", micro-batch {}, recompute {}", c.micro, model::name_of(c.recompute));
  if (product(c.degrees, {Axis::kExpert, Axis::kExpertTensor}) > 1 && c.dispatcher)
    words += fmt::format(", {}", model::name_of(*c.dispatcher));
  if (c.encoder_pipeline > 0) words += fmt::format(", encoder on {}", with_noun(c.encoder_pipeline, "stage"));
  if (!c.layers_per_stage.empty()) words += fmt::format(", layers {}", layers_words(c.layers_per_stage));
  if (c.zero_stage > 0) words += fmt::format(", ZeRO-{}", c.zero_stage);
  if (c.microbatch_group > 0) words += fmt::format(", groups of {} micro-batches", c.microbatch_group);
  if (c.precision) words += fmt::format(", {}", name_of(*c.precision));
  if (c.short_gradients) words += ", 16-bit gradients";
  for (std::size_t part = 0; part < c.offloads.size(); ++part)
    if (c.offloads[part]) words += fmt::format(", {} on the host", job::kOffloadedParts[part].first);
  if (const std::string beside = overlap_words(overlap); !beside.empty()) words += fmt::format(", overlap {}", beside);
  return words;
}

std::string why_runner_up_loses(const SearchAnswer& answer) {
  if (answer.ranked.size() < 2) return "";
  const report::Metrics &first = *answer.ranked[0].metrics, &second = *answer.ranked[1].metrics;
  const auto step = [](const report::Metrics& m) { return m.step_time.value(); };
  struct Part {
    std::string_view words;
    double more;  // seconds
  };
  std::vector<Part> parts;
  for (const report::TimePart& part : report::time_parts())
    parts.push_back({part.change, (part.of(second.time) - part.of(first.time)).value()});
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& x, const Part& y) { return std::abs(x.more) > std::abs(y.more); });
  std::string changes;
  for (const Part& part : parts) {
    if (std::abs(part.more) < 5e-4 * step(first)) continue;
    changes += fmt::format("{}{} {}{}", changes.empty() ? "" : ", ", part.words, part.more > 0 ? "+" : "-",
                           report::time_text(Seconds(std::abs(part.more))));
  }
  const double slower = step(second) / step(first) - 1;
  const double memory = (second.memory.peak - first.memory.peak).value() / kGiB;
  std::string text = configuration_words(answer.ranked[1]);
  if (answer.several_sizes) text += " on " + report::counted(answer.ranked[1].candidate.gpus, "GPU");
  text += slower == 0 ? ": the same step time" : fmt::format(": step {:+.2f} %", 100 * slower);
  if (!changes.empty()) text += fmt::format(" ({})", changes);
  return text + fmt::format(", memory {:+.1f} GiB.", memory);
}

}  // namespace foretoken::study
