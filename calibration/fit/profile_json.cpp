// Keys carry units; sim/io/hardware/read_profile.cpp reads what this writes.
#include "calibration/fit/profile_json.h"

#include "calibration/fit/collective_json.h"
#include "calibration/fit/residuals.h"
#include "sim/base/check.h"
#include "sim/cost/parts.h"

namespace foretoken::fit {
namespace {

double tflops(FlopPerSecond r) { return rounded(r.value() / 1e12); }

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

Json gemm(const cost::Profile& profile) {
  Json all;
  for (const auto& [precision, gemm_law] : profile.gemm) {
    Json json = std::visit([](const auto& l) { return law(l); }, gemm_law.law);
    if (const Json grids = corrections(gemm_law); !grids.empty()) json["corrections"] = grids;
    json["weight_gradient_factor"] = gemm_law.weight_gradient_factor;
    json["evidence"] = json_of(gemm_law.evidence);
    all[std::string(foretoken::name_of(precision))] = std::move(json);
  }
  return all;
}

Json misaligned_rows(const cost::MisalignedRows& rows) {
  Json json{
      {"rows_16_bytes", rows.rows_16_bytes}, {"rows_4_bytes", rows.rows_4_bytes}, {"rows_2_bytes", rows.rows_2_bytes}};
  if (rows.batched_before_cuda_11_7) json["batched_before_cuda_11_7_tflops"] = tflops(*rows.batched_before_cuda_11_7);
  json["evidence"] = json_of(rows.evidence);
  return json;
}

Json rate(const cost::AttentionRate& r) {
  return {{"peak_tflops", tflops(r.peak)},
          {"half_length", rounded(r.half_length)},
          {"tail", rounded(r.tail)},
          {"sharpness", rounded(r.sharpness)}};
}

Json attention_laws(const std::vector<cost::AttentionLaw>& laws) {
  Json list = Json::array();
  for (const cost::AttentionLaw& l : laws)
    list.push_back({{"head_dim", l.head_dim},
                    {"causal", l.causal},
                    {"forward", rate(l.forward)},
                    {"backward", rate(l.backward)},
                    {"evidence", json_of(l.evidence)}});
  return list;
}

Json attention(const cost::AttentionLaws& laws) {
  Json json{{"multiprocessors", laws.multiprocessors},
            {"block_rows", laws.block_rows},
            {"launch_us", us(laws.launch)},
            {"sustained_factor", laws.sustained_factor},
            {"laws", attention_laws(laws.laws)}};
  if (laws.flash2.empty()) return json;
  Json flash2 = attention_laws(laws.flash2);
  json["flash_2"] = flash2 == json["laws"] ? Json("laws") : std::move(flash2);
  return json;
}

}  // namespace

std::string to_json_text(const cost::Profile& profile) {
  const cost::MemoryBoundLaw& memory = profile.memory_bound;
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
              {"evidence", json_of(memory.evidence)}}},
            {"nvlink", json_of(profile.nvlink)},
            {"pcie", json_of(profile.pcie)},
            {"network", json_of(profile.network)},
            {"point_to_point", json_of(profile.point_to_point)}};
  if (profile.host)
    json["host"] = {{"launch_us", us(profile.host->launch)}, {"evidence", json_of(profile.host->evidence)}};
  return json.dump(1) + "\n";
}

}  // namespace foretoken::fit
