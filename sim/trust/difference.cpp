// Compares every two published runs of one job.
#include "sim/trust/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace foretoken::trust {
namespace {

using Pairs = std::vector<std::pair<double, double>>;  // missed by, weight; ascending

// Returns the least value below which `part` of the weight lies.
double quantile(const Pairs& pairs, double part) {
  double all = 0, below = 0;
  for (const auto& [missed, weight] : pairs) all += weight;
  for (const auto& [missed, weight] : pairs)
    if ((below += weight) >= part * all) return missed;
  return 0;
}

using Takes = std::function<bool(const Place&)>;

Difference difference_among(const Evidence& evidence, const Takes& takes, std::string where) {
  std::map<std::tuple<std::string, std::string, double, double, double>, std::vector<const Case*>> jobs;
  for (const Case& one : evidence.cases)
    if (takes(one.place))
      jobs[{one.place.gpu, one.place.runtime, one.place.bits, one.place.gpus, one.place.parameters}].push_back(&one);
  Difference found{.where = std::move(where)};
  Pairs pairs;
  for (const auto& [job, cases] : jobs) {
    if (cases.size() < 2) continue;
    ++found.jobs;
    found.runs += static_cast<int>(cases.size());
    for (std::size_t a = 0; a < cases.size(); ++a)
      for (std::size_t b = 0; b < a; ++b) {
        const double weight = std::min(cases[a]->weight, cases[b]->weight) / static_cast<double>(cases.size());
        pairs.emplace_back(std::abs(cases[a]->log_ratio - cases[b]->log_ratio), weight);
        found.comparisons += 2 * weight;  // n (n - 1) / 2 pairs of weight 1 / n
      }
  }
  std::sort(pairs.begin(), pairs.end());
  found.half = std::expm1(quantile(pairs, 0.5));
  found.nine_in_ten = std::expm1(quantile(pairs, 0.9));
  return found;
}

}  // namespace

Difference difference_at(const Place& place, const Evidence& evidence) {
  constexpr double kFewest = 5 - 1e-9;  // sums of fifths and thirds
  const std::string kind = shown_kind(place), bits = shown_bits(place);
  const auto same = [&](const Place& other) { return same_kind(place, other); };
  const auto same_gpu = [&](const Place& other) { return place.gpu == other.gpu; };
  Difference found = difference_among(evidence, same, fmt::format("on {} with this runtime{}", kind, bits));
  if (found.comparisons < kFewest)
    found = difference_among(evidence, same_gpu, fmt::format("on {} (too few with this runtime){}", kind, bits));
  if (found.comparisons < kFewest)
    found = difference_among(
        evidence, [](const Place&) { return true; }, fmt::format("on all GPUs (too few on {})", kind));
  return found;
}

}  // namespace foretoken::trust
