// What a search finds for the scenario of a report.
#include <fmt/format.h>

#include <utility>

#include "sim/io/read_scenario.h"
#include "sim/search/searcher.h"
#include "tools/search_answer.h"
#include "tools/search_request.h"
#include "tools/variants.h"

namespace foretoken::tools {
namespace {

// What a search may choose anew; the context-parallel degree stays as the scenario states it.
constexpr const char* kFree[] = {"parallelism.tensor",
                                 "parallelism.pipeline",
                                 "parallelism.virtual_pipeline",
                                 "parallelism.data",
                                 "parallelism.sequence_parallel",
                                 "parallelism.layers_per_stage",
                                 "schedule",
                                 "batch.micro",
                                 "batch.microbatch_group",
                                 "recompute",
                                 "optimizer.zero_stage"};

}  // namespace

std::vector<html::Variant> found_by_search(const ScenarioSource& source, std::span<const std::string> sets,
                                           const lowering::Scenario& base, std::size_t count) {
  std::vector<std::string> free;
  for (const char* key : kFree) free.push_back(fmt::format("{}=null", key));
  const std::string context = fmt::format("parallelism.context={}", base.parallelism.context);
  free.push_back(context);
  const io::OpenScenario question = io::read_open_scenario_text(source.merged(sets), base.name, free);
  SearchRequest request;
  request.question = question.question();
  request.space.schedules = search::default_schedules();
  request.top = count;
  const search::Space space(question, request.space);
  search::SearchOptions options;
  options.top = count;
  const search::SearchResult result = search::run_search(space, options);
  SearchAnswer answer = answer_of(request, space, result.ranking, true);
  std::vector<html::Variant> found;
  for (FoundConfiguration& each : answer.ranked)
    found.push_back({.label = configuration_words(each.candidate),
                     .is_base = false,
                     .metrics = std::move(each.metrics),
                     .why_not = {},
                     .gpus = each.candidate.gpus,
                     .chart = {}});
  return found;
}

}  // namespace foretoken::tools
