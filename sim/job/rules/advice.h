// Advice on a complaint: changes of the question that the rules accept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/job/question.h"

namespace foretoken::job {

/// A change that may mend a complaint.
struct Remedy {
  std::string words;  ///< the value as a user states it: "16"
  std::function<void(Question&)> apply;
};

/// Changes of one key, the best first. The first `most` that the rules accept are shown.
struct Choice {
  std::string key;  ///< "parallelism.pipeline"; empty: the key of the complaint
  std::vector<Remedy> tries;
  std::size_t most = 1;
};

/// The choices that mend one complaint, in the order in which they are shown.
using Advice = std::vector<Choice>;

/// Returns the multiples of `unit` below and above `value`, nearest first, up to `highest`. `set` states one.
[[nodiscard]] Advice multiples_near(std::int64_t value, std::int64_t unit, std::int64_t highest,
                                    const std::function<void(Question&, std::int64_t)>& set);

/// Returns the numbers from 1 to `highest` for which `works`, the largest first. Three of them are shown.
[[nodiscard]] Choice numbers_that_work(std::string key, std::int64_t highest,
                                       const std::function<bool(std::int64_t)>& works,
                                       const std::function<void(Question&, std::int64_t)>& set);

/// States the degree of an axis.
[[nodiscard]] std::function<void(Question&, std::int64_t)> set_degree(Axis axis);

/// Returns "; try 960 or 1024", or nothing when the rules accept no remedy. `complaints_of` asks all rules. A remedy is
/// accepted when its question breaks no rule at the pointer of `about`, and no rule that `question` does not break.
/// Where a stated data-parallel degree no longer fits, the remedy names the one that does.
[[nodiscard]] std::string advice_words(const Advice& advice, const Complaint& about, const Question& question,
                                       const std::vector<Complaint>& complaints,
                                       const std::function<std::vector<Complaint>(const Question&)>& complaints_of);

}  // namespace foretoken::job
