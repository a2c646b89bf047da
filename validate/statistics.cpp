// Computes the spread of errors, and Kendall's tau.
#include "validate/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace foretoken::validate {
namespace {

constexpr double kRepeatability = 0.01;
constexpr std::size_t kEnoughPairs = 10;

struct Pairs {
  std::size_t count = 0;
  double score = 0;  // concordant - discordant

  void add(const Ranked& a, const Ranked& b) {
    if (std::abs(a.measured - b.measured) <= kRepeatability * std::min(a.measured, b.measured)) return;
    ++count;
    const double product = (a.measured - b.measured) * (a.predicted - b.predicted);
    score += product > 0 ? 1.0 : product < 0 ? -1.0 : 0.0;
  }
  [[nodiscard]] double tau() const { return count == 0 ? 0 : score / static_cast<double>(count); }
};

// Returns the median of sorted values, of which there is at least one.
double median_of(const std::vector<double>& sorted) {
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

}  // namespace

Spread spread_of(const std::vector<double>& errors) {
  Spread spread;
  spread.count = errors.size();
  if (errors.empty()) return spread;
  const auto n = static_cast<double>(errors.size());
  std::vector<double> sizes, sorted = errors;
  for (const double error : errors) {
    sizes.push_back(std::abs(error));
    spread.mean += std::abs(error) / n;
    spread.bias += error / n;
  }
  std::sort(sizes.begin(), sizes.end());
  std::sort(sorted.begin(), sorted.end());
  spread.median = median_of(sizes);
  spread.middle = median_of(sorted);
  spread.p90 = sizes[static_cast<std::size_t>(std::ceil(0.9 * n)) - 1];
  spread.worst = sizes.back();
  return spread;
}

Ranking rank(const std::vector<Ranked>& configurations) {
  std::map<std::string, Pairs> models;
  Pairs all;
  for (std::size_t a = 0; a < configurations.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      if (configurations[a].model != configurations[b].model) continue;
      models[configurations[a].model].add(configurations[a], configurations[b]);
      all.add(configurations[a], configurations[b]);
    }
  Ranking ranking{.pairs = all.count, .tau = all.tau(), .models = {}, .lowest_model = {}, .lowest_tau = 0};
  for (const auto& [model, pairs] : models) {
    if (pairs.count > 0) ranking.models.push_back({model, pairs.count, pairs.tau()});
    if (pairs.count < kEnoughPairs) continue;
    if (!ranking.lowest_model.empty() && pairs.tau() >= ranking.lowest_tau) continue;
    ranking.lowest_model = model;
    ranking.lowest_tau = pairs.tau();
  }
  return ranking;
}

}  // namespace foretoken::validate
