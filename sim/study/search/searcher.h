// The search: every candidate is checked, measured for memory and bounded; what may be best is replayed.
//
// Candidates are replayed in rounds, the most promising bounds first. Between rounds the best found so far rules out
// those whose bound shows that they can neither rank nor stand on the Pareto front. A round is a fixed number of
// candidates and everything that depends on order is done between rounds, so that the outcome of every candidate, and
// the order in which they are told, do not depend on the threads.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "sim/fast/replay.h"
#include "sim/study/search/ranking.h"
#include "sim/study/search/space.h"

namespace foretoken::search {

struct SearchOptions {
  Objective objective = Objective::kStepTime;
  std::size_t top = 10;
  std::array<Objective, 2> axes{Objective::kStepTime, Objective::kMemory};
  bool require_fit = true;  ///< what does not fit in memory is left out
  bool prune = true;        ///< false: everything that fits is replayed
  std::size_t threads = 1;
};

struct Progress {
  std::size_t decided = 0, total = 0, replayed = 0;
};

/// What the search tells while it runs; every member may be empty.
struct SearchHooks {
  std::function<void(std::span<const Outcome>)> decided;  ///< outcomes in their fixed order, between rounds
  std::function<void(const Progress&)> progress;          ///< often, from any thread
  const std::atomic<bool>* stop = nullptr;                ///< set: the search ends after the candidates at work
  std::map<std::size_t, Outcome> known = {};              ///< outcomes of an earlier search, by candidate
};

struct SearchResult {
  Ranking ranking;
  bool complete = true;  ///< false: stopped
};

/// Decides every candidate once, and returns the best of them.
[[nodiscard]] SearchResult run_search(const Space& space, const SearchOptions& options, const SearchHooks& hooks = {});

}  // namespace foretoken::search
