// Cases by place, and every two of a place.
#include "sim/trust/difference.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

namespace foretoken::trust {
namespace {

using Pairs = std::vector<std::pair<double, double>>;  // missed by, weight; ascending

// The least value below which `part` of the weight lies.
double quantile(const Pairs& pairs, double part) {
  double all = 0, below = 0;
  for (const auto& [missed, weight] : pairs) all += weight;
  for (const auto& [missed, weight] : pairs)
    if ((below += weight) >= part * all) return missed;
  return 0;
}

}  // namespace

Difference difference_of_pairs(const Evidence& evidence) {
  std::map<std::tuple<std::string, std::string, int, double, double>, std::vector<const Case*>> places;
  for (const Case& one : evidence.cases)
    places[{one.place.gpu, one.place.runtime, one.place.bits, one.place.gpus, one.place.parameters}].push_back(&one);
  Pairs pairs;
  for (const auto& [where, cases] : places)
    for (std::size_t a = 0; a < cases.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        pairs.emplace_back(std::abs(cases[a]->log_ratio - cases[b]->log_ratio),
                           cases[a]->weight / static_cast<double>(cases.size()));
  std::sort(pairs.begin(), pairs.end());
  return {
      .half = std::expm1(quantile(pairs, 0.5)), .nine_in_ten = std::expm1(quantile(pairs, 0.9)), .pairs = pairs.size()};
}

}  // namespace foretoken::trust
