// One entry for each curve; a curve that serves several kinds names them all.
#include "sim/io/hardware/read_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/io/hardware/profile_fields.h"

namespace foretoken::io {
namespace {

constexpr Range kSpread{.low = 0, .high = 1e3};
constexpr Range kPartOfRate{.low = 0, .high = 4, .above_low = true};  // a part of a rate; trees may beat the line rate
constexpr WholeRange kRanks{.low = 1, .high = 1'000'000};

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 6> kKinds{
    {{"all_reduce", CollectiveKind::kAllReduce},
     {"all_gather", CollectiveKind::kAllGather},
     {"reduce_scatter", CollectiveKind::kReduceScatter},
     {"all_to_all", CollectiveKind::kAllToAll},
     {"broadcast", CollectiveKind::kBroadcast},
     {"reduce", CollectiveKind::kReduce}}};

std::vector<CollectiveKind> read_kinds(const Node& curve) {
  std::vector<CollectiveKind> kinds;
  for (const Node& kind : curve.array("kinds"))
    kinds.push_back(kind.as_one_of<CollectiveKind>({{kKinds[0].first, kKinds[0].second},
                                                    {kKinds[1].first, kKinds[1].second},
                                                    {kKinds[2].first, kKinds[2].second},
                                                    {kKinds[3].first, kKinds[3].second},
                                                    {kKinds[4].first, kKinds[4].second},
                                                    {kKinds[5].first, kKinds[5].second}}));
  return kinds;
}

template <class Curves>
void want_every_kind(const Node& node, const Curves& curves) {
  for (const auto& known : kKinds)
    if (std::none_of(curves.begin(), curves.end(), [&](const auto& curve) { return curve.kind == known.second; }))
      node.complain("curves", fmt::format("expected at least one curve of kind {}, found none", known.first));
}

cost::SizeCorrection read_size_correction(const Node& parent) {
  const auto node = parent.find_object("correction");
  if (!node) return {};
  node->allow_only({"first_log2", "last_log2", "log_ratio_1e4"});
  cost::SizeCorrection correction{.first_log2 = node->number("first_log2", kOctaves),
                                  .last_log2 = node->number("last_log2", kOctaves),
                                  .log_ratio = node->numbers("log_ratio_1e4", kLogRatio)};
  if (correction.last_log2 <= correction.first_log2) node->complain("last_log2", "expected more than first_log2");
  if (correction.log_ratio.size() < 2) node->complain("log_ratio_1e4", "expected at least two values");
  for (double& value : correction.log_ratio) value *= 1e-4;
  return correction;
}

cost::InsideNodeLaw inside_node(const Node& node) {
  node.allow_only({"reference_gb_per_s", "curves"});
  cost::InsideNodeLaw law{.reference = gb(node, "reference_gb_per_s"), .curves = {}};
  for (const Node& curve : node.array("curves")) {
    curve.allow_only(
        {"kinds", "ranks", "latency_us", "gb_per_s", "spread_sqrt_s", "plateau_gb_per_s", "correction", "evidence"});
    cost::CollectiveCurve one;
    one.ranks = static_cast<int>(curve.whole("ranks", {.low = 2, .high = kRanks.high}));
    one.latency = us(curve, "latency_us");
    one.bandwidth = gb(curve, "gb_per_s");
    one.spread = curve.number("spread_sqrt_s", kSpread);
    one.plateau = gb(curve, "plateau_gb_per_s");
    one.correction = read_size_correction(curve);
    one.evidence = read_evidence(curve);
    for (const CollectiveKind kind : read_kinds(curve)) {
      one.kind = kind;
      law.curves.push_back(one);
    }
  }
  std::stable_sort(law.curves.begin(), law.curves.end(),
                   [](const auto& a, const auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; });
  return law;
}

std::vector<cost::MeasuredShape> read_measured(const Node& curve) {
  std::vector<cost::MeasuredShape> shapes;
  if (const auto measured = curve.find_array("measured"))
    for (const Node& shape : *measured) {
      shape.allow_only({"nodes", "ranks_per_node", "correction", "evidence"});
      shapes.push_back({.nodes = static_cast<int>(shape.whole("nodes", {.low = 2, .high = kRanks.high})),
                        .ranks_per_node = static_cast<int>(shape.whole("ranks_per_node", kRanks)),
                        .correction = read_size_correction(shape),
                        .evidence = read_evidence(shape)});
    }
  std::stable_sort(shapes.begin(), shapes.end(), [](const auto& a, const auto& b) { return a.nodes < b.nodes; });
  return shapes;
}

cost::AcrossNodesLaw across_nodes(const Node& node) {
  node.allow_only({"lone_rank_factor", "curves"});
  cost::AcrossNodesLaw law{.curves = {}, .lone_rank_factor = node.number("lone_rank_factor", kEfficiency)};
  for (const Node& curve : node.array("curves")) {
    curve.allow_only({"kinds", "latency_us", "latency_per_doubling_us", "efficiency", "spread_sqrt_s",
                      "plateau_efficiency", "two_node_gain", "evidence", "measured"});
    cost::AcrossNodesCurve one{.latency = us(curve, "latency_us"),
                               .latency_per_doubling = us(curve, "latency_per_doubling_us"),
                               .efficiency = curve.number("efficiency", kPartOfRate),
                               .spread = curve.number("spread_sqrt_s", kSpread),
                               .plateau_efficiency = curve.number("plateau_efficiency", kPartOfRate),
                               .two_node_gain = curve.number("two_node_gain", {.low = 1, .high = 2}),
                               .evidence = read_evidence(curve),
                               .measured = read_measured(curve)};
    for (const CollectiveKind kind : read_kinds(curve)) {
      one.kind = kind;
      law.curves.push_back(one);
    }
  }
  std::stable_sort(law.curves.begin(), law.curves.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  return law;
}

cost::PointToPointLaw::Path read_path(const Node& node) {
  node.allow_only({"latency_us", "efficiency", "spread_sqrt_s", "correction", "evidence"});
  return {.latency = us(node, "latency_us"),
          .efficiency = node.number("efficiency", kEfficiency),
          .spread = node.number_or("spread_sqrt_s", 0, kSpread),
          .correction = read_size_correction(node),
          .evidence = node.has("evidence") ? read_evidence(node) : cost::Evidence{}};
}

}  // namespace

cost::InsideNodeLaw read_inside_node(const Node& node) {
  cost::InsideNodeLaw law = inside_node(node);
  want_every_kind(node, law.curves);
  return law;
}

cost::AcrossNodesLaw read_across_nodes(const Node& node) {
  cost::AcrossNodesLaw law = across_nodes(node);
  want_every_kind(node, law.curves);
  return law;
}

cost::PointToPointLaw read_messages(const Node& node) {
  node.allow_only({"nvlink", "pcie", "network"});
  return {.nvlink = read_path(node.object("nvlink")),
          .pcie = read_path(node.object("pcie")),
          .network = read_path(node.object("network"))};
}

cost::MeasuredCollectives read_measured_collectives(const Node& node) {
  node.allow_only({"name", "architecture", "source", "nvlink", "pcie", "network", "nvlink_message", "network_message"});
  cost::MeasuredCollectives measured{
      .name = node.text("name"), .architecture = node.text("architecture"), .source = node.text("source")};
  if (const auto part = node.find_object("nvlink")) measured.nvlink = inside_node(*part);
  if (const auto part = node.find_object("pcie")) measured.pcie = inside_node(*part);
  if (const auto part = node.find_object("network")) measured.network = across_nodes(*part);
  if (const auto part = node.find_object("nvlink_message")) measured.nvlink_message = read_path(*part);
  if (const auto part = node.find_object("network_message")) measured.network_message = read_path(*part);
  return measured;
}

}  // namespace foretoken::io
