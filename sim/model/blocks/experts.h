// The rows that one rank's experts multiply, and that it exchanges.
#pragma once

#include <cstdint>

#include "sim/model/cut.h"
#include "sim/model/experts.h"

namespace foretoken::model {

/// Rows on one rank, for one micro-batch.
struct ExpertRows {
  double tokens = 0;           ///< N, tokens of the rank
  double copies = 0;           ///< N k; with a capacity factor the padded rows of all experts
  double sent = 0;             ///< rows that leave the rank with the most, itself included
  double local = 0;            ///< rows that the experts of this rank multiply
  std::int64_t of_expert = 1;  ///< of one expert, rounded up
};

[[nodiscard]] ExpertRows expert_rows(const Experts& experts, const Cut& cut);

/// Returns the mean number of ranks, of `ranks`, that have an expert of a token, when all choices are equally likely.
[[nodiscard]] double ranks_met(const Experts& experts, int ranks);

/// Returns the copies of a token that travel where each of `parts` equal parts of the ranks gets at most one, and the
/// hottest gets `imbalance` times the mean.
[[nodiscard]] double copies_over(const Experts& experts, int parts, double imbalance);

}  // namespace foretoken::model
