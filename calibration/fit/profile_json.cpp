// Keys carry units; sim/io/read_profile.cpp reads what this writes.
#include "calibration/fit/profile_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "calibration/fit/residuals.h"
#include "sim/base/check.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

using Json = nlohmann::ordered_json;

double us(Seconds t) { return rounded(t.value() * 1e6); }
double gb(BytesPerSecond r) { return rounded(r.value() / 1e9); }
double tflops(FlopPerSecond r) { return rounded(r.value() / 1e12); }

Json evidence(const cost::Evidence& e) {
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

Json law(const cost::TileWaveLaw& l) {
  return {{"law", "tile-wave"},
          {"peak_tflops", tflops(l.peak)},
          {"multiprocessors", l.multiprocessors},
          {"efficiency", l.efficiency},
          {"prologue_k", l.prologue_k},
          {"small_tile_loss", l.small_tile_loss},
          {"memory_gb_per_s", gb(l.memory_bandwidth)},
          {"launch_us", us(l.launch)},
          {"sustained_factor", l.sustained_factor}};
}

Json law(const cost::RooflineLaw& l) {
  return {{"law", "roofline"},
          {"compute_tflops", tflops(l.compute_rate)},
          {"memory_gb_per_s", gb(l.memory_bandwidth)},
          {"sharpness", l.sharpness},
          {"launch_us", us(l.launch)},
          {"sustained_factor", l.sustained_factor}};
}

Json axis(const cost::GemmCorrection::Axis& a) {
  return {{"first_log2", a.first}, {"last_log2", a.last}, {"knots", a.knots}};
}

/// Short to read, and far finer than any measurement.
Json ten_thousandths(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(std::lround(1e4 * value));
  return list;
}

Json correction(const cost::GemmCorrection& grid) {
  return {{"m", axis(grid.m)},
          {"n", axis(grid.n)},
          {"k", axis(grid.k)},
          {"log_ratio_1e4", ten_thousandths(grid.log_ratio)}};
}

Json corrections(const cost::GemmLaw& gemm) {
  constexpr const char* kPasses[] = {"forward", "input_gradient", "weight_gradient"};  // as GemmPass
  Json json = Json::object();
  for (std::size_t pass = 0; pass < gemm.corrections.size(); ++pass)
    if (!gemm.corrections[pass].log_ratio.empty()) json[kPasses[pass]] = correction(gemm.corrections[pass]);
  return json;
}

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
  }
  contract_broken("every kind of collective has a name", __FILE__, __LINE__);
}

Json gemm(const cost::Profile& profile) {
  Json all;
  for (const auto& [precision, gemm_law] : profile.gemm) {
    Json json = std::visit([](const auto& l) { return law(l); }, gemm_law.law);
    if (const Json grids = corrections(gemm_law); !grids.empty()) json["corrections"] = grids;
    json["weight_gradient_factor"] = gemm_law.weight_gradient_factor;
    json["evidence"] = evidence(gemm_law.evidence);
    all[std::string(foretoken::name_of(precision))] = std::move(json);
  }
  return all;
}

Json misaligned_rows(const cost::MisalignedRows& rows) {
  Json json{
      {"rows_16_bytes", rows.rows_16_bytes}, {"rows_4_bytes", rows.rows_4_bytes}, {"rows_2_bytes", rows.rows_2_bytes}};
  if (rows.batched_before_cuda_11_7) json["batched_before_cuda_11_7_tflops"] = tflops(*rows.batched_before_cuda_11_7);
  json["evidence"] = evidence(rows.evidence);
  return json;
}

Json rate(const cost::AttentionRate& r) {
  return {{"peak_tflops", tflops(r.peak)},
          {"half_length", rounded(r.half_length)},
          {"tail", rounded(r.tail)},
          {"sharpness", rounded(r.sharpness)}};
}

Json attention(const cost::AttentionLaws& laws) {
  Json list = Json::array();
  for (const cost::AttentionLaw& l : laws.laws)
    list.push_back({{"head_dim", l.head_dim},
                    {"causal", l.causal},
                    {"forward", rate(l.forward)},
                    {"backward", rate(l.backward)},
                    {"evidence", evidence(l.evidence)}});
  return {{"multiprocessors", laws.multiprocessors},
          {"block_rows", laws.block_rows},
          {"launch_us", us(laws.launch)},
          {"laws", std::move(list)}};
}

Json values(const cost::CollectiveCurve& c) {
  Json json{{"ranks", c.ranks},
            {"latency_us", us(c.latency)},
            {"gb_per_s", gb(c.bandwidth)},
            {"spread_sqrt_s", c.spread},
            {"plateau_gb_per_s", gb(c.plateau)}};
  if (!c.correction.log_ratio.empty())
    json["correction"] = {{"first_log2", c.correction.first_log2},
                          {"last_log2", c.correction.last_log2},
                          {"log_ratio_1e4", ten_thousandths(c.correction.log_ratio)}};
  json["evidence"] = evidence(c.evidence);
  return json;
}

Json values(const cost::AcrossNodesCurve& c) {
  return {{"latency_us", us(c.latency)},
          {"latency_per_doubling_us", us(c.latency_per_doubling)},
          {"efficiency", c.efficiency},
          {"spread_sqrt_s", c.spread},
          {"plateau_efficiency", c.plateau_efficiency},
          {"two_node_gain", c.two_node_gain},
          {"evidence", evidence(c.evidence)}};
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

Json inside(const cost::InsideNodeLaw& l) {
  return {{"reference_gb_per_s", gb(l.reference)}, {"curves", curves(l.curves)}};
}

Json network(const cost::AcrossNodesLaw& l) {
  return {{"lone_rank_factor", l.lone_rank_factor}, {"curves", curves(l.curves)}};
}

Json path(const cost::PointToPointLaw::Path& p) {
  return {{"latency_us", us(p.latency)}, {"efficiency", p.efficiency}, {"evidence", evidence(p.evidence)}};
}

}  // namespace

std::string to_json_text(const cost::Profile& profile) {
  const cost::MemoryBoundLaw& memory = profile.memory_bound;
  const cost::PointToPointLaw& message = profile.point_to_point;
  Json json{{"name", profile.name},
            {"gpu", profile.gpu},
            {"notes", profile.notes},
            {"gemm", gemm(profile)},
            {"misaligned_rows", misaligned_rows(profile.misaligned_rows)},
            {"attention", attention(profile.attention)},
            {"memory_bound",
             {{"gb_per_s", gb(memory.bandwidth)},
              {"efficiency", memory.efficiency},
              {"launch_us", us(memory.launch)},
              {"evidence", evidence(memory.evidence)}}},
            {"nvlink", inside(profile.nvlink)},
            {"pcie", inside(profile.pcie)},
            {"network", network(profile.network)},
            {"point_to_point",
             {{"nvlink", path(message.nvlink)}, {"pcie", path(message.pcie)}, {"network", path(message.network)}}}};
  if (profile.host)
    json["host"] = {{"launch_us", us(profile.host->launch)}, {"evidence", evidence(profile.host->evidence)}};
  return json.dump(1) + "\n";
}

}  // namespace foretoken::fit
