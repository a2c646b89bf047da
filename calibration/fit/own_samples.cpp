// Sorting measurements by what they are of.
#include "calibration/fit/own_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

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

std::map<Precision, std::vector<GemmSample>> gemm_samples(const measured::Samples& samples) {
  std::set<Precision> accumulated;
  for (const auto& sample : samples.gemms)
    if (sample.adds_to_fp32 && sample.shape.pass == GemmPass::kWeightGradient)
      accumulated.insert(sample.shape.precision);
  std::map<Precision, std::vector<GemmSample>> sorted;
  for (const auto& sample : samples.gemms) {
    const bool weight = sample.shape.pass == GemmPass::kWeightGradient;
    if (sample.adds_to_fp32 != (weight && accumulated.count(sample.shape.precision) > 0)) continue;
    sorted[sample.shape.precision].push_back({sample.shape, sample.time.median.value()});
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

}  // namespace foretoken::fit
