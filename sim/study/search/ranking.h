// Ranks outcomes: the best few by one objective, and the Pareto front of two.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/base/units.h"
#include "sim/des/time.h"
#include "sim/study/search/space.h"

namespace foretoken::search {

/// The quantities to minimise. Cost is GPUs x step time, because a GPU hour has one price.
enum class Objective : std::uint8_t { kStepTime, kCost, kGpus, kMemory };

/// Returns the name on the command line: "step-time".
[[nodiscard]] std::string_view name_of(Objective objective);

enum class Verdict : std::uint8_t {
  kInvalid,   ///< breaks a rule of scenarios
  kTooLarge,  ///< does not fit in memory
  kSlower,    ///< its lower bound rules it out of the answer
  kReplayed,
};

/// The outcome of one candidate.
struct Outcome {
  std::size_t candidate = 0;  ///< place in Space::candidates()
  Verdict verdict = Verdict::kInvalid;
  bool fits = true;
  Bytes peak;               ///< only of a valid candidate
  job::Overlap overlap;     ///< replayed: the fastest of the candidate
  des::Duration step_time;  ///< replayed: the step time; slower: its lower bound
};

[[nodiscard]] inline bool is_too_large(const Outcome& outcome) {
  return outcome.verdict != Verdict::kInvalid && !outcome.fits;
}

/// Collects the best outcomes. The order of adding does not matter.
class Ranking {
 public:
  /// The outcomes of one cluster size.
  struct OfSize {
    std::size_t possible = 0, too_large = 0;  ///< valid ones
    std::optional<Outcome> smallest = {};     ///< of those that are too large
  };

  Ranking(const Space& space, Objective objective, std::size_t top, std::array<Objective, 2> axes);

  void add(const Outcome& outcome);
  /// Returns true when an outcome at least as bad as this can neither rank nor be on the front.
  [[nodiscard]] bool is_hopeless(const Outcome& at_best) const;

  [[nodiscard]] const std::vector<Outcome>& top() const { return top_; }            ///< best first
  [[nodiscard]] const std::vector<Outcome>& front() const { return front_; }        ///< by the first axis
  [[nodiscard]] const std::vector<Outcome>& smallest() const { return smallest_; }  ///< the smallest that do not fit
  [[nodiscard]] std::size_t count(Verdict verdict) const { return counts_[static_cast<std::size_t>(verdict)]; }
  [[nodiscard]] std::size_t count() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }
  [[nodiscard]] std::size_t too_large() const {
    return too_large_;
  }  ///< valid but too large, also with require_fit off
  [[nodiscard]] std::array<Objective, 2> axes() const { return axes_; }

  [[nodiscard]] OfSize of_size(int gpus) const;

  [[nodiscard]] double value(Objective objective, const Outcome& outcome) const;

 private:
  using Key = std::tuple<double, std::int64_t, double, std::size_t>;
  [[nodiscard]] Key key(const Outcome& outcome) const;
  void insert(std::vector<Outcome>& best, std::size_t most, const Outcome& outcome) const;
  void count_size(const Outcome& outcome);
  void add_to_front(const Outcome& outcome);

  const Space* space_;
  Objective objective_;
  std::size_t most_;
  std::array<Objective, 2> axes_;
  std::vector<Outcome> top_, front_, smallest_;
  std::array<std::size_t, 4> counts_{};
  std::size_t too_large_ = 0;
  std::map<int, OfSize> sizes_;  // by GPUs
};

}  // namespace foretoken::search
