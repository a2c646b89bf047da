// Sorts measurements by the work that they measure.
#include "calibration/fit/profiles/own_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "calibration/fit/laws/fit_quantisation.h"
#include "calibration/fit/numerics/residuals.h"
#include "sim/base/parse_number.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

std::optional<CollectiveKind> kind_of(measured::Collective kind) {
  switch (kind) {
    case measured::Collective::kAllReduce:
      return CollectiveKind::kAllReduce;
    case measured::Collective::kAllGather:
      return CollectiveKind::kAllGather;
    case measured::Collective::kReduceScatter:
      return CollectiveKind::kReduceScatter;
    case measured::Collective::kAllToAll:
      return CollectiveKind::kAllToAll;
    case measured::Collective::kBroadcast:
      return CollectiveKind::kBroadcast;
    case measured::Collective::kReduce:
      return CollectiveKind::kReduce;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::map<Precision, std::vector<measured::GemmSample>> gemm_samples(const measured::Samples& samples,
                                                                    const cost::Profile& quantiser) {
  constexpr double kLeastPart = 0.3;
  std::set<Precision> accumulated;
  for (const auto& sample : samples.gemms)
    if (sample.adds_to_fp32 && sample.shape.pass == GemmPass::kWeightGradient)
      accumulated.insert(sample.shape.precision);
  std::map<Precision, std::vector<measured::GemmSample>> sorted;
  for (const auto& sample : samples.gemms) {
    const bool weight = sample.shape.pass == GemmPass::kWeightGradient;
    if (sample.adds_to_fp32 != (weight && accumulated.count(sample.shape.precision) > 0)) continue;
    const double time = sample.time.median.value(), product = time - quantisation_of(sample, quantiser).value();
    if (product < kLeastPart * time) continue;
    sorted[sample.shape.precision].push_back(sample);
    sorted[sample.shape.precision].back().time.median = Seconds(product);
  }
  return sorted;
}

std::vector<CollectiveTable> collective_tables(const measured::Samples& samples) {
  using Key = std::tuple<CollectiveKind, bool, int, int, int, bool>;
  std::map<Key, std::vector<CollectiveTable::Row>> rows;
  for (const auto& sample : samples.collectives) {
    const auto kind = kind_of(sample.kind);
    const bool message = sample.kind == measured::Collective::kSendRecv;
    if ((!kind && !message) || sample.group.ranks < 2 || sample.bytes.value() <= 0) continue;
    rows[{kind.value_or(CollectiveKind::kAllReduce), message, sample.group.ranks, sample.group.nodes,
          sample.group.ranks_per_node, sample.in_place}]
        .push_back({sample.bytes.value(), sample.time.median.value()});
  }
  std::vector<CollectiveTable> tables;
  for (auto& [key, list] : rows) {
    const auto [kind, message, ranks, nodes, ranks_per_node, in_place] = key;
    if (in_place && rows.count({kind, message, ranks, nodes, ranks_per_node, false}) > 0) continue;
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
    tables.push_back(
        {.id = fmt::format("{} {} {} {} {}", static_cast<int>(kind), message, ranks, nodes, ranks_per_node),
         .system = "",
         .gpu = "",
         .network = "",
         .source = "",
         .kind = kind,
         .message = message,
         .ranks = ranks,
         .nodes = nodes,
         .ranks_per_node = ranks_per_node,
         .rows = list});
  }
  return tables;
}

std::optional<int> counted_multiprocessors(const measured::Samples& samples) {
  std::set<std::string> counts;
  for (const measured::Provenance& origin : samples.origins)
    for (const auto& [key, text] : origin.facts)
      if (key == "multiprocessors") counts.insert(text);
  return counts.size() == 1 ? parse_number<int>(*counts.begin(), 1) : std::nullopt;
}

std::optional<double> sustained_factor(const measured::Samples& samples, Precision precision,
                                       const cost::GemmLaw& law) {
  const std::string prefix = measured::product_work(precision);
  std::vector<double> rates;  // rates of the run's second half, where clocks have settled
  std::int64_t side = 0;
  double length = 0;
  for (const auto& sample : samples.clocks)
    if (sample.work.starts_with(prefix)) length = std::max(length, sample.at.value());
  for (const auto& sample : samples.clocks) {
    if (!sample.work.starts_with(prefix) || sample.at.value() < length / 2) continue;
    rates.push_back(sample.rate.value());
    side = std::atoll(sample.work.c_str() + prefix.size());
  }
  if (rates.empty() || side < 1) return std::nullopt;
  const GemmShape shape{.m = side, .n = side, .k = side, .precision = precision};
  Seconds brief = cost::gemm_time(shape, {.gemm = {{precision, law}}});
  for (const auto& sample : samples.gemms)
    if (sample.shape == shape) brief = sample.time.median;
  const auto middle = rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2);
  std::nth_element(rates.begin(), middle, rates.end());
  return std::max(1.0, rounded(shape.flop() / FlopPerSecond(*middle) / brief, 3));
}

}  // namespace foretoken::fit
