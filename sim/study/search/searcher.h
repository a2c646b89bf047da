// The search: checks every candidate, its memory and a lower bound of its step time, and replays those that may be
// best.
//
// Candidates are replayed in rounds, the most promising bounds first. Between rounds the best found so far rules out
// candidates whose bound shows that they can neither rank nor be on the Pareto front. A round has a fixed number of
// candidates, and all work that depends on order is done between rounds. So neither the outcome of a candidate nor the
// order of reports depends on the threads.
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
  bool require_fit = true;  ///< leaves out candidates that do not fit in memory
  bool prune = true;        ///< false: replays every candidate that fits
  std::size_t threads = 1;
  fast::Replayer::Limits memory{};
};

struct Progress {
  std::size_t decided = 0, total = 0, replayed = 0;
};

/// The search reports to these while it runs. Every member may be empty.
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
