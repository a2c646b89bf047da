// Searches configurations for the scenario of a report.
#include <fmt/format.h>

#include <utility>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/otherwise/variants.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/request.h"
#include "sim/study/search/searcher.h"

namespace foretoken::study {

std::vector<Variant> found_by_search(const ScenarioSource& source, std::span<const std::string> sets,
                                     const job::Job& base, std::size_t count, const trust::Evidence& evidence,
                                     const Watch& watch) {
  if (base.imperfections.any() || base.stragglers.on || !base.groups.empty())
    return {};  // a search needs equal hardware
  // Searches all keys, except a degree that shares sequences: the user chose it for their length.
  std::vector<std::string> open = all_keys_free(base.model, base.runtime);
  const PerAxis<int> degrees = job::degrees_of(base.parallelism);
  for (const auto& [axis, member] : job::kDegrees)
    if (net::kLayerAxes.contains(axis) && axis != Axis::kTensor)
      open.push_back(job::as_set({job::key_of(axis), std::int64_t{degrees[axis]}}));
  const io::OpenScenario question = io::read_open_scenario_text(source.merged(sets), base.name, open);
  SearchRequest request;
  request.question = question.question();
  request.top = count;
  const search::Space space(question, request.space);
  search::SearchOptions options;
  options.top = count;
  const search::SearchResult result =
      search::run_search(space, options, {.decided = {}, .progress = {}, .stop = watch.stop});
  SearchAnswer answer = answer_of(request, space, result.ranking, result.complete, {evidence});
  std::vector<Variant> found;
  for (FoundConfiguration& each : answer.ranked)
    found.push_back({.label = configuration_words(each),
                     .is_base = false,
                     .metrics = std::move(each.metrics),
                     .why_not = {},
                     .gpus = each.candidate.gpus,
                     .chart = {}});
  return found;
}

}  // namespace foretoken::study
