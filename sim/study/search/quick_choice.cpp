// Chooses the open keys by a search for the single best configuration.
#include "sim/study/search/quick_choice.h"

#include <fmt/format.h>

#include "sim/base/error.h"
#include "sim/study/search/answer.h"
#include "sim/study/search/why_none.h"

namespace foretoken::study {

QuickChoice choose_quickly(const io::OpenScenario& question, const trust::Evidence& evidence, std::size_t threads,
                           const Watch& watch) {
  const SearchRequest request{.question = question.question(), .inputs = {}, .space = {}, .top = 1};
  const search::Space space(question, request.space);
  if (space.candidates().empty()) throw ConfigError(why_none_is_valid(question, request.space));
  search::SearchHooks hooks{.decided = {}, .progress = {}, .stop = nullptr};
  hooks.progress = [&](const search::Progress& progress) { watch.show(progress.decided, progress.total); };
  const search::SearchResult result = run_search(
      space, {.objective = request.objective, .top = 1, .axes = request.axes, .require_fit = true, .threads = threads},
      hooks);
  if (result.ranking.count(search::Verdict::kInvalid) == space.candidates().size())
    throw ConfigError(why_none_is_valid(question, request.space));
  const SearchAnswer answer =
      answer_of(request, space, result.ranking, true, {.evidence = evidence, .threads = threads});
  if (answer.ranked.empty())
    throw ConfigError({{question.asked().name, "",
                        fmt::format("none of {} configurations fits in memory; try more GPUs, or foretoken search "
                                    "for the ones that come nearest",
                                    answer.considered)}});
  const FoundConfiguration& best = answer.ranked.front();
  return {.scenario = best.text, .words = configuration_words(best), .considered = answer.considered};
}

}  // namespace foretoken::study
