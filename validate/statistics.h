// Statistics of errors: spread, bias, and the agreement of predicted and measured ranks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace foretoken::validate {

/// The spread of absolute relative errors, as fractions. The bias is the mean of the signed errors, the middle their
/// median.
struct Spread {
  std::size_t count = 0;
  double mean = 0, median = 0, p90 = 0, worst = 0, bias = 0, middle = 0;
};

/// Returns the spread of signed relative errors, predicted / measured - 1. The median of an even number of errors is
/// the mean of those in the middle. The p90 is the smallest error that at least nine in ten do not exceed.
[[nodiscard]] Spread spread_of(const std::vector<double>& errors);

/// One configuration of a model, with its GPU seconds for a token.
struct Ranked {
  std::string model;
  double measured = 0, predicted = 0;
};

/// The ranking of one model's configurations.
struct ModelRanking {
  std::string model;
  std::size_t pairs = 0;
  double tau = 0;  ///< (concordant - discordant) / pairs
};

struct Ranking {
  std::size_t pairs = 0;
  double tau = 0;                    ///< over all models
  std::vector<ModelRanking> models;  ///< those with at least one pair, by name
  std::string lowest_model;          ///< among models with at least ten pairs; empty if there is none
  double lowest_tau = 0;
};

/// Returns Kendall's tau over pairs of one model. Pairs whose measured times differ by less than 1 % are left out:
/// repeating a run changes its step by more.
[[nodiscard]] Ranking rank(const std::vector<Ranked>& configurations);

}  // namespace foretoken::validate
