// Which outcomes are best: a total order, the few first of it, and the Pareto front.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/base/units.h"
#include "sim/des/time.h"
#include "sim/study/search/space.h"

namespace foretoken::search {

/// What can be made small. Cost is GPUs x step time: the price of a GPU hour is the same for all.
enum class Objective : std::uint8_t { kStepTime, kCost, kGpus, kMemory };

/// "step-time": its name on the command line.
[[nodiscard]] std::string_view name_of(Objective objective);

enum class Verdict : std::uint8_t {
  kInvalid,   ///< breaks a rule of scenarios
  kTooLarge,  ///< does not fit in memory
  kSlower,    ///< its lower bound shows that it can be in no answer
  kReplayed,
};

/// What became of one candidate.
struct Outcome {
  std::size_t candidate = 0;  ///< place in Space::candidates()
  Verdict verdict = Verdict::kInvalid;
  bool fits = true;
  Bytes peak;               ///< of a valid one
  des::Duration step_time;  ///< replayed: the step time; slower: its lower bound
};

[[nodiscard]] inline bool is_too_large(const Outcome& outcome) {
  return outcome.verdict != Verdict::kInvalid && !outcome.fits;
}

/// Keeps the best of the outcomes added, in any order of adding.
class Ranking {
 public:
  Ranking(const Space& space, Objective objective, std::size_t top, std::array<Objective, 2> axes);

  void add(const Outcome& outcome);
  /// Whether an outcome that is at least this bad can neither rank nor stand on the front.
  [[nodiscard]] bool is_hopeless(const Outcome& at_best) const;

  [[nodiscard]] const std::vector<Outcome>& top() const { return top_; }            ///< best first
  [[nodiscard]] const std::vector<Outcome>& front() const { return front_; }        ///< by the first axis
  [[nodiscard]] const std::vector<Outcome>& smallest() const { return smallest_; }  ///< of those too large
  [[nodiscard]] std::size_t count(Verdict verdict) const { return counts_[static_cast<std::size_t>(verdict)]; }
  [[nodiscard]] std::size_t count() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t{0}); }
  [[nodiscard]] std::size_t too_large() const { return too_large_; }  ///< valid and do not fit, left out for it or not
  [[nodiscard]] std::array<Objective, 2> axes() const { return axes_; }

  [[nodiscard]] double value(Objective objective, const Outcome& outcome) const;

 private:
  using Key = std::tuple<double, std::int64_t, double, std::size_t>;
  [[nodiscard]] Key key(const Outcome& outcome) const;
  void insert(std::vector<Outcome>& best, std::size_t most, const Outcome& outcome) const;
  void add_to_front(const Outcome& outcome);

  const Space* space_;
  Objective objective_;
  std::size_t most_;
  std::array<Objective, 2> axes_;
  std::vector<Outcome> top_, front_, smallest_;
  std::array<std::size_t, 4> counts_{};
  std::size_t too_large_ = 0;
};

}  // namespace foretoken::search
