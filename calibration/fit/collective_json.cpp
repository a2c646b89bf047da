// Keys carry units; sim/io/hardware/read_collectives.cpp reads what this writes.
#include "calibration/fit/collective_json.h"

#include <algorithm>
#include <cmath>

#include "calibration/fit/residuals.h"
#include "sim/base/check.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

const char* name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return "all_reduce";
    case CollectiveKind::kAllGather:
      return "all_gather";
    case CollectiveKind::kReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::kAllToAll:
      return "all_to_all";
    case CollectiveKind::kBroadcast:
      return "broadcast";
    case CollectiveKind::kReduce:
      return "reduce";
  }
  contract_broken("every kind of collective has a name", __FILE__, __LINE__);
}

Json line_of(const cost::SizeCorrection& c) {
  return {{"first_log2", c.first_log2}, {"last_log2", c.last_log2}, {"log_ratio_1e4", ten_thousandths(c.log_ratio)}};
}

Json values(const cost::CollectiveCurve& c) {
  Json json{{"ranks", c.ranks},
            {"latency_us", us(c.latency)},
            {"gb_per_s", gb(c.bandwidth)},
            {"spread_sqrt_s", c.spread},
            {"plateau_gb_per_s", gb(c.plateau)}};
  if (!c.correction.log_ratio.empty()) json["correction"] = line_of(c.correction);
  json["evidence"] = json_of(c.evidence);
  return json;
}

Json values(const cost::AcrossNodesCurve& c) {
  Json json{{"latency_us", us(c.latency)},
            {"latency_per_doubling_us", us(c.latency_per_doubling)},
            {"efficiency", c.efficiency},
            {"spread_sqrt_s", c.spread},
            {"plateau_efficiency", c.plateau_efficiency},
            {"two_node_gain", c.two_node_gain},
            {"evidence", json_of(c.evidence)}};
  Json shapes = Json::array();
  for (const cost::MeasuredShape& shape : c.measured)
    shapes.push_back({{"nodes", shape.nodes},
                      {"ranks_per_node", shape.ranks_per_node},
                      {"correction", line_of(shape.correction)},
                      {"evidence", json_of(shape.evidence)}});
  if (!shapes.empty()) json["measured"] = std::move(shapes);
  return json;
}

/// Curves with the same values stand once, with all kinds that they are for: half the text to load.
template <class Curves>
Json curves(const Curves& all) {
  std::vector<Json> distinct;
  std::vector<Json> kinds;
  for (const auto& curve : all) {
    const Json json = values(curve);
    const auto at = static_cast<std::size_t>(std::find(distinct.begin(), distinct.end(), json) - distinct.begin());
    if (at == distinct.size()) {
      distinct.push_back(json);
      kinds.push_back(Json::array());
    }
    kinds[at].push_back(name_of(curve.kind));
  }
  Json list = Json::array();
  for (std::size_t i = 0; i < distinct.size(); ++i) {
    Json entry{{"kinds", kinds[i]}};
    entry.update(distinct[i]);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

double us(Seconds t) { return rounded(t.value() * 1e6); }
double gb(BytesPerSecond r) { return rounded(r.value() / 1e9); }

Json ten_thousandths(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::lround(1e4 * value));
  return list;
}

Json json_of(const cost::Evidence& e) {
  Json json{{"provenance", cost::name_of(e.provenance)}};
  if (e.provenance == cost::Provenance::kScaled) json["scaled_from"] = e.scaled_from;
  json["source"] = e.source;
  if (e.samples > 0) json["samples"] = e.samples;
  if (e.held_out > 0) {
    json["held_out"] = e.held_out;
    json["median_error"] = e.median_error;
    json["p90_error"] = e.p90_error;
    json["worst_error"] = e.worst_error;
  }
  return json;
}

Json json_of(const cost::InsideNodeLaw& law) {
  return {{"reference_gb_per_s", gb(law.reference)}, {"curves", curves(law.curves)}};
}

Json json_of(const cost::AcrossNodesLaw& law) {
  return {{"lone_rank_factor", law.lone_rank_factor}, {"curves", curves(law.curves)}};
}

Json json_of(const cost::PointToPointLaw::Path& path) {
  Json json{{"latency_us", us(path.latency)}, {"efficiency", path.efficiency}};
  if (path.spread > 0) json["spread_sqrt_s"] = path.spread;
  if (!path.correction.log_ratio.empty()) json["correction"] = line_of(path.correction);
  if (!path.evidence.source.empty()) json["evidence"] = json_of(path.evidence);
  return json;
}

Json json_of(const cost::PointToPointLaw& law) {
  return {{"nvlink", json_of(law.nvlink)}, {"pcie", json_of(law.pcie)}, {"network", json_of(law.network)}};
}

}  // namespace foretoken::fit
