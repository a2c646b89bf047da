// Lists the fields of collective laws: one entry for each curve, with all kinds of collectives that share it.
#include "sim/io/hardware/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/fields.h"

namespace foretoken::io {
namespace {

using cost::AcrossNodesCurve;
using cost::CollectiveCurve;

constexpr Range kSpread{.low = 0, .high = 1e3};
constexpr Range kPartOfRate{.low = 0, .high = 4, .above_low = true};  // a part of a rate; trees may beat the line rate
constexpr WholeRange kRanks{.low = 1, .high = 1'000'000};

const std::initializer_list<Node::Choice<CollectiveKind>> kKinds{
    {"all_reduce", CollectiveKind::kAllReduce},         {"all_gather", CollectiveKind::kAllGather},
    {"reduce_scatter", CollectiveKind::kReduceScatter}, {"all_to_all", CollectiveKind::kAllToAll},
    {"broadcast", CollectiveKind::kBroadcast},          {"reduce", CollectiveKind::kReduce}};

/// A curve and the kinds of collectives that share it. Writing a shared curve once halves the text to load.
template <class Curve>
struct Entry {
  std::vector<CollectiveKind> kinds{};
  Curve curve{};
};

Json written_kinds(const std::vector<CollectiveKind>& kinds) {
  Json names = Json::array();
  for (const CollectiveKind kind : kinds)
    for (const auto& choice : kKinds)
      if (choice.value == kind) names.push_back(choice.name);
  return names;
}

void kinds_field(Fields& f, std::vector<CollectiveKind>& kinds) {
  const auto read = [&](const Node& node) {
    for (const Node& kind : node.array("kinds")) kinds.push_back(kind.as_one_of<CollectiveKind>(kKinds));
  };
  f.custom("kinds", read, [&] { return written_kinds(kinds); });
}

void size_correction_field(Fields& f, cost::SizeCorrection& correction) {
  f.object_where(!correction.log_ratio.empty(), "correction", correction, size_correction_fields);
}

void curve_fields(Fields& f, CollectiveCurve& curve) {
  f.whole("ranks", curve.ranks, {.low = 2, .high = kRanks.high});
  f.microseconds("latency_us", curve.latency, kMicroseconds);
  f.gigabytes("gb_per_s", curve.bandwidth, kRate);
  f.number("spread_sqrt_s", curve.spread, kSpread);
  f.gigabytes("plateau_gb_per_s", curve.plateau, kRate);
  size_correction_field(f, curve.correction);
  f.object("evidence", curve.evidence, evidence_fields);
}

void measured_shape_fields(Fields& f, cost::MeasuredShape& shape) {
  f.whole("nodes", shape.nodes, {.low = 2, .high = kRanks.high});
  f.whole("ranks_per_node", shape.ranks_per_node, kRanks);
  f.object_where(true, "correction", shape.correction, size_correction_fields);
  f.object("evidence", shape.evidence, evidence_fields);
}

void curve_fields(Fields& f, AcrossNodesCurve& curve) {
  f.microseconds("latency_us", curve.latency, kMicroseconds);
  f.microseconds("latency_per_doubling_us", curve.latency_per_doubling, kMicroseconds);
  f.number("efficiency", curve.efficiency, kPartOfRate);
  f.number("spread_sqrt_s", curve.spread, kSpread);
  f.number("plateau_efficiency", curve.plateau_efficiency, kPartOfRate);
  f.number("two_node_gain", curve.two_node_gain, {.low = 1, .high = 2});
  f.object("evidence", curve.evidence, evidence_fields);
  f.list_where(!curve.measured.empty(), "measured", curve.measured, measured_shape_fields);
  f.check([&](const Node&) {
    std::stable_sort(curve.measured.begin(), curve.measured.end(),
                     [](const auto& a, const auto& b) { return a.nodes < b.nodes; });
  });
}

template <class Curve>
void entry_fields(Fields& f, Entry<Curve>& entry) {
  kinds_field(f, entry.kinds);
  curve_fields(f, entry.curve);
}

template <class Curve>
Json written_curve(const Curve& curve) {
  return Fields::written_fields<Curve>(curve, [](Fields& f, Curve& c) { curve_fields(f, c); });
}

/// Joins curves with equal values.
template <class Curve>
std::vector<Entry<Curve>> entries_of(const std::vector<Curve>& curves) {
  std::vector<Entry<Curve>> entries;
  std::vector<Json> values;
  for (const Curve& curve : curves) {
    Json value = written_curve(curve);
    const auto at = static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
    if (at == values.size()) {
      values.push_back(std::move(value));
      entries.push_back({.curve = curve});
    }
    entries[at].kinds.push_back(curve.kind);
  }
  return entries;
}

int ranks_of(const CollectiveCurve& curve) { return curve.ranks; }
int ranks_of(const AcrossNodesCurve&) { return 0; }  // one curve serves groups of any size

/// Returns one curve for each kind of each entry, sorted by kind, then by ranks.
template <class Curve>
std::vector<Curve> curves_of(const std::vector<Entry<Curve>>& entries) {
  std::vector<Curve> curves;
  for (const Entry<Curve>& entry : entries)
    for (const CollectiveKind kind : entry.kinds) {
      curves.push_back(entry.curve);
      curves.back().kind = kind;
    }
  std::stable_sort(curves.begin(), curves.end(), [](const Curve& a, const Curve& b) {
    return a.kind != b.kind ? a.kind < b.kind : ranks_of(a) < ranks_of(b);
  });
  return curves;
}

template <class Curve>
void curves_field(Fields& f, std::vector<Curve>& curves) {
  std::vector<Entry<Curve>> entries;
  if (f.writes()) entries = entries_of(curves);
  f.list("curves", entries, entry_fields<Curve>);
  if (f.reads()) curves = curves_of(entries);
}

void want_every_kind(const Node& node, const auto& curves) {
  for (const auto& known : kKinds)
    if (std::none_of(curves.begin(), curves.end(), [&](const auto& curve) { return curve.kind == known.value; }))
      node.complain("curves", fmt::format("expected at least one curve of kind {}, found none", known.name));
}

void some_inside_node_fields(Fields& f, cost::InsideNodeLaw& law) {
  f.gigabytes("reference_gb_per_s", law.reference, kRate);
  curves_field(f, law.curves);
}

void some_across_nodes_fields(Fields& f, cost::AcrossNodesLaw& law) {
  f.number("lone_rank_factor", law.lone_rank_factor, kEfficiency);
  curves_field(f, law.curves);
}

void path_fields(Fields& f, cost::PointToPointLaw::Path& path) {
  f.microseconds("latency_us", path.latency, kMicroseconds);
  f.number("efficiency", path.efficiency, kEfficiency);
  f.number_or("spread_sqrt_s", path.spread, 0, kSpread);
  size_correction_field(f, path.correction);
  f.object_where(!path.evidence.source.empty(), "evidence", path.evidence, evidence_fields);
}

void measured_fields(Fields& f, cost::MeasuredCollectives& measured) {
  f.text("name", measured.name);
  f.text("architecture", measured.architecture);
  f.text("source", measured.source);
  f.optional_object("nvlink", measured.nvlink, some_inside_node_fields);
  f.optional_object("pcie", measured.pcie, some_inside_node_fields);
  f.optional_object("network", measured.network, some_across_nodes_fields);
  f.optional_object("nvlink_message", measured.nvlink_message, path_fields);
  f.optional_object("network_message", measured.network_message, path_fields);
}

/// Writes a law with one line for each curve.
std::string lines_of(Json law) {
  const Json curves = law.at("curves");
  law.erase("curves");
  std::string head = law.dump();
  head.pop_back();
  std::string text = head + ", \"curves\": [";
  for (std::size_t i = 0; i < curves.size(); ++i) text += (i == 0 ? "\n  " : ",\n  ") + curves[i].dump();
  return text + "\n ]}";
}

}  // namespace

void inside_node_fields(Fields& f, cost::InsideNodeLaw& law) {
  some_inside_node_fields(f, law);
  f.check([&](const Node& node) { want_every_kind(node, law.curves); });
}

void across_nodes_fields(Fields& f, cost::AcrossNodesLaw& law) {
  some_across_nodes_fields(f, law);
  f.check([&](const Node& node) { want_every_kind(node, law.curves); });
}

void message_fields(Fields& f, cost::PointToPointLaw& law) {
  f.object("nvlink", law.nvlink, path_fields);
  f.object("pcie", law.pcie, path_fields);
  f.object("network", law.network, path_fields);
}

cost::MeasuredCollectives read_measured_collectives(const Node& node) {
  return Fields::read_fields(node, measured_fields);
}

std::string to_json_text(const cost::MeasuredCollectives& measured) {
  const Json json = Fields::written_fields(measured, measured_fields);
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += text.empty() ? "{\n " : ",\n ";
    text += Json(key).dump() + ": " + (value.contains("curves") ? lines_of(value) : value.dump());
  }
  return text + "\n}\n";
}

}  // namespace foretoken::io
