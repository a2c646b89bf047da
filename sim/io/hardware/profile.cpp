// Lists the fields of a profile: one law for each part, with its evidence.
#include "sim/io/hardware/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/hardware/collectives.h"
#include "sim/io/hardware/exchange_fields.h"
#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/fields.h"

namespace foretoken::io {
namespace {

constexpr Range kRowSlowdown{.low = 1, .high = 100};
constexpr Range kTail{.low = 0, .high = 1e3};
constexpr Range kTokens{.low = 0, .high = 1e9};
constexpr Range kTileLoss{.low = 0, .high = 0.3};  // keeps the rate positive after three halvings
constexpr WholeRange kProcessors{.low = 1, .high = 1'000'000};

using Corrections = std::array<cost::GemmCorrection, 3>;

/// Returns true when the axis lists its knots one by one.
bool read_places(const Node& node, cost::GemmCorrection::Axis& axis) {
  const auto listed = node.find_array("knots_log2");
  if (!listed) return false;
  axis.places.clear();
  for (const Node& place : *listed) axis.places.push_back(place.as_number(kOctaves));
  axis.knots = static_cast<int>(axis.places.size());
  if (axis.knots < 2 ||
      std::adjacent_find(axis.places.begin(), axis.places.end(), std::greater_equal<>()) != axis.places.end()) {
    node.complain("knots_log2", "expected two or more numbers, each above the one before");
    return true;
  }
  axis.first = axis.places.front();
  axis.last = axis.places.back();
  return true;
}

/// Lists the fields of an axis: {"first_log2": 0, "last_log2": 15, "knots": 7}, or uneven {"knots_log2": [0, 3, 5,
/// 7, 8.5, 10]}
void axis_fields(Fields& f, cost::GemmCorrection::Axis& axis) {
  bool even = axis.places.empty();
  f.custom(
      "knots_log2", [&](const Node& node) { even = !read_places(node, axis); },
      [&] { return axis.places.empty() ? Json() : Json(axis.places); });
  f.number_where(even, "first_log2", axis.first, kOctaves);
  f.number_where(even, "last_log2", axis.last, kOctaves);
  f.whole_where(even, "knots", axis.knots, {.low = 2, .high = 20});
  f.check([&](const Node& node) {
    for (const char* key : {"first_log2", "last_log2", "knots"})
      if (even != node.has(key)) node.complain(key, "expected either knots_log2 alone or these three");
    if (axis.last <= axis.first) node.complain("last_log2", "expected more than first_log2");
  });
}

void correction_fields(Fields& f, cost::GemmCorrection& grid) {
  f.object("m", grid.m, axis_fields);
  f.object("n", grid.n, axis_fields);
  f.object("k", grid.k, axis_fields);
  f.ten_thousandths("log_ratio_1e4", grid.log_ratio, kLogRatio);
  f.ten_thousandths_where(!grid.wave_log_ratio.empty(), "waves_1e4", grid.wave_log_ratio, kLogRatio);
  f.check([&](const Node& node) {
    const std::size_t knots = static_cast<std::size_t>(grid.m.knots * grid.n.knots * grid.k.knots);
    if (grid.log_ratio.size() != knots)
      node.complain("log_ratio_1e4",
                    fmt::format("expected {} values (the knots of m x n x k), found {}", knots, grid.log_ratio.size()));
    constexpr std::size_t kLines = cost::kWaveTiles.size() * cost::kWaveKnots;
    if (node.has("waves_1e4") && grid.wave_log_ratio.size() != kLines)
      node.complain("waves_1e4", fmt::format("expected {} values ({} for each of {} tiles), found {}", kLines,
                                             cost::kWaveKnots, cost::kWaveTiles.size(), grid.wave_log_ratio.size()));
  });
}

/// Lists the corrections by layout, in the order of GemmPass. A layout without measurements is absent.
void corrections_fields(Fields& f, Corrections& grids) {
  constexpr std::string_view kPasses[] = {"forward", "input_gradient", "weight_gradient"};
  for (std::size_t pass = 0; pass < grids.size(); ++pass)
    f.object_where(!grids[pass].log_ratio.empty(), kPasses[pass], grids[pass], correction_fields);
}

void tile_wave_fields(Fields& f, cost::TileWaveLaw& law) {
  f.known_word("law", "tile-wave");
  f.teraflops("peak_tflops", law.peak, kRate);
  f.whole("multiprocessors", law.multiprocessors, kProcessors);
  f.number("efficiency", law.efficiency, kEfficiency);
  f.number("prologue_k", law.prologue_k, kTokens);
  f.number("small_tile_loss", law.small_tile_loss, kTileLoss);
  f.gigabytes("memory_gb_per_s", law.memory_bandwidth, kRate);
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.number("sustained_factor", law.sustained_factor, kFactor);
  f.custom(
      "tiles",
      [&](const Node& node) {
        law.tiles = node.one_of_or("tiles", cost::TileSet::kDoubling,
                                   {{"doubling", cost::TileSet::kDoubling}, {"fine", cost::TileSet::kFine}});
      },
      [&] { return law.tiles == cost::TileSet::kFine ? Json("fine") : Json(); });
  f.number_or("wave_softness", law.wave_softness, 0, {.low = 0, .high = 1});
}

void grouped_fields(Fields& f, cost::GroupedLaw& law) {
  f.number("efficiency", law.efficiency, kEfficiency);
  f.number("prologue_k", law.prologue_k, kTokens);
  f.number("small_tile_loss", law.small_tile_loss, kTileLoss);
  f.gigabytes("memory_gb_per_s", law.memory_bandwidth, kRate);
  f.number_or("wave_softness", law.wave_softness, 0, {.low = 0, .high = 1});
  f.object("evidence", law.evidence, evidence_fields);
}

void roofline_fields(Fields& f, cost::RooflineLaw& law) {
  f.known_word("law", "roofline");
  f.teraflops("compute_tflops", law.compute_rate, kRate);
  f.gigabytes("memory_gb_per_s", law.memory_bandwidth, kRate);
  f.number("sharpness", law.sharpness, {.low = 1, .high = 100});
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.number("sustained_factor", law.sustained_factor, kFactor);
}

/// Lists the fields of a GEMM law. Precondition: `gemm` holds the law that the word under "law" names.
void gemm_law_fields(Fields& f, cost::GemmLaw& gemm) {
  const bool corrected = std::any_of(gemm.corrections.begin(), gemm.corrections.end(),
                                     [](const cost::GemmCorrection& grid) { return !grid.log_ratio.empty(); });
  if (auto* tiles = std::get_if<cost::TileWaveLaw>(&gemm.law)) tile_wave_fields(f, *tiles);
  if (auto* roofline = std::get_if<cost::RooflineLaw>(&gemm.law)) roofline_fields(f, *roofline);
  f.object_where(corrected, "corrections", gemm.corrections, corrections_fields);
  f.number("weight_gradient_factor", gemm.weight_gradient_factor, kFactor);
  f.optional_object("grouped", gemm.grouped, grouped_fields);
  f.object("evidence", gemm.evidence, evidence_fields);
  f.check([&](const Node& node) {
    const bool lines = std::any_of(gemm.corrections.begin(), gemm.corrections.end(),
                                   [](const cost::GemmCorrection& grid) { return !grid.wave_log_ratio.empty(); });
    if (lines && std::holds_alternative<cost::RooflineLaw>(gemm.law))
      node.complain("corrections", "expected no waves_1e4 beside a roofline, which has no waves");
  });
}

cost::GemmLaw read_gemm_law(const Node& node) {
  cost::GemmLaw gemm;
  if (!node.one_of<bool>("law", {{"tile-wave", true}, {"roofline", false}})) gemm.law = cost::RooflineLaw{};
  return Fields::read_fields(node, gemm_law_fields, std::move(gemm));
}

std::map<Precision, cost::GemmLaw> read_gemm(const Node& node) {
  node.allow_only({"fp32", "fp16", "bf16", "fp8", "fp8_block", "nvfp4", "int8"});
  std::map<Precision, cost::GemmLaw> laws;
  for (const auto& [precision, name] : kPrecisionNames)
    if (const auto law = node.find_object(name)) laws[precision] = read_gemm_law(*law);
  if (laws.empty()) node.complain("expected a GEMM law for at least one of fp16, bf16, fp8, fp32");
  return laws;
}

Json written_gemm(const std::map<Precision, cost::GemmLaw>& laws) {
  Json all;
  for (const auto& [precision, law] : laws)
    all[std::string(name_of(precision))] = Fields::written_fields(law, gemm_law_fields);
  return all;
}

void attention_wave_fields(Fields& f, cost::AttentionWaves& waves) {
  f.whole("block_rows", waves.block_rows, {.low = 1, .high = 65536});
  f.rounded("softness", waves.softness, {.low = 0, .high = 1});
  f.rounded("knee", waves.knee, {.low = 1, .high = 100});
}

void attention_rate_fields(Fields& f, cost::AttentionRate& rate) {
  f.teraflops("peak_tflops", rate.peak, kRate);
  f.rounded("half_length", rate.half_length, kTokens);
  f.rounded("tail", rate.tail, kTail);
  f.rounded("sharpness", rate.sharpness, {.low = 0.1, .high = 100});
  f.optional_object("waves", rate.waves, attention_wave_fields);
}

void cache_write_fields(Fields& f, cost::CacheWrite& write) {
  f.microseconds("launch_us", write.launch, kMicroseconds);
  f.gigabytes("gb_per_s", write.bandwidth, kRate);
  f.nanoseconds_where(write.token > Seconds(0), "token_ns", write.token, kMicroseconds);
  f.gigabytes_where(write.queries.value() > 0, "query_gb_per_s", write.queries, kRate);
}

void engine_attention_fields(Fields& f, cost::EngineAttention& engine) {
  using enum cost::InferenceEngine;
  f.one_of<cost::InferenceEngine>("engine", engine.engine,
                                  {{"vllm", kVllm}, {"sglang", kSglang}, {"tensorrt-llm", kTensorRtLlm}});
  f.boolean("windowed", engine.windowed);
  f.number("kernel_factor", engine.kernel_factor, kFactor);
  f.optional_object("forward", engine.forward, attention_rate_fields);
  f.number_or("window_overhang", engine.window_overhang, 0, kTokens);
  f.optional_object("cache_write", engine.cache_write, cache_write_fields);
  f.object("evidence", engine.evidence, evidence_fields);
}

/// Refuses a second entry for the same kernels of an engine.
void want_each_engine_once(const Node& node, const cost::AttentionLaw& law) {
  std::set<std::pair<cost::InferenceEngine, bool>> found;
  for (const cost::EngineAttention& engine : law.engines)
    if (!found.insert({engine.engine, engine.windowed}).second)
      node.complain("engines", "expected one entry for each engine, with and without windows");
}

void attention_law_fields(Fields& f, cost::AttentionLaw& law) {
  f.whole("head_dim", law.head_dim, {.low = 1, .high = 65536});
  f.boolean("causal", law.causal);
  f.object("forward", law.forward, attention_rate_fields);
  f.object("backward", law.backward, attention_rate_fields);
  f.number_or("window_overhang", law.window_overhang, 0, kTokens);
  f.optional_object("cache_write", law.cache_write, cache_write_fields);
  f.optional_object("window_cache_write", law.window_cache_write, cache_write_fields);
  f.list_where(!law.engines.empty(), "engines", law.engines, engine_attention_fields);
  f.object("evidence", law.evidence, evidence_fields);
  f.check([&](const Node& node) { want_each_engine_once(node, law); });
}

/// Reads `flash_2`: a list like `laws`, or the word "laws" where `laws` holds FlashAttention-2 already.
void read_flash2(const Node& node, cost::AttentionLaws& attention) {
  if (node.child("flash_2").is_text()) {
    (void)node.one_of<int>("flash_2", {{"laws", 0}});
    attention.flash2 = attention.laws;
  } else if (const auto flash2 = node.find_array("flash_2")) {
    attention.flash2 = Fields::read_list(*flash2, attention_law_fields);
  }
}

Json written_flash2(const cost::AttentionLaws& attention) {
  if (attention.flash2.empty()) return {};
  Json flash2 = Fields::written_list(attention.flash2, attention_law_fields);
  return flash2 == Fields::written_list(attention.laws, attention_law_fields) ? Json("laws") : flash2;
}

void want_both_masks(const Node& node, const cost::AttentionLaws& attention) {
  for (const bool causal : {true, false})
    if (std::none_of(attention.laws.begin(), attention.laws.end(), [&](const auto& l) { return l.causal == causal; }))
      node.complain("laws", fmt::format("expected at least one law with \"causal\": {}", causal));
}

void attention_fields(Fields& f, cost::AttentionLaws& attention) {
  f.whole("multiprocessors", attention.multiprocessors, kProcessors);
  f.whole("block_rows", attention.block_rows, kProcessors);
  f.microseconds("launch_us", attention.launch, kMicroseconds);
  f.number("sustained_factor", attention.sustained_factor, kFactor);
  f.list("laws", attention.laws, attention_law_fields);
  f.custom(
      "flash_2", [&](const Node& node) { read_flash2(node, attention); }, [&] { return written_flash2(attention); });
  f.list_where(!attention.fp8.empty(), "fp8", attention.fp8, attention_law_fields);
  f.list_where(!attention.serving.empty(), "serving", attention.serving, attention_law_fields);
  f.check([&](const Node& node) { want_both_masks(node, attention); });
}

void memory_bound_fields(Fields& f, cost::MemoryBoundLaw& law) {
  f.gigabytes("gb_per_s", law.bandwidth, kRate);
  f.number("efficiency", law.efficiency, kEfficiency);
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.object_where(!law.correction.log_ratio.empty(), "correction", law.correction, size_correction_fields);
  f.object("evidence", law.evidence, evidence_fields);
}

void quantisation_fields(Fields& f, cost::QuantisationLaw& law) {
  f.object("cast", law.cast, memory_bound_fields);
  f.object("scan", law.scan, memory_bound_fields);
}

void host_fields(Fields& f, cost::HostLaw& law) {
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.object("evidence", law.evidence, evidence_fields);
}

void profile_fields(Fields& f, cost::Profile& profile) {
  f.text("name", profile.name);
  f.text("gpu", profile.gpu);
  f.texts_where(true, "notes", profile.notes);
  f.custom(
      "gemm", [&](const Node& node) { profile.gemm = read_gemm(node.object("gemm")); },
      [&] { return written_gemm(profile.gemm); });
  f.object_where(true, "misaligned_rows", profile.misaligned_rows, misaligned_fields);
  f.object("attention", profile.attention, attention_fields);
  f.object("memory_bound", profile.memory_bound, memory_bound_fields);
  f.optional_object("quantisation", profile.quantisation, quantisation_fields);
  f.object("nvlink", profile.nvlink, inside_node_fields);
  f.object("pcie", profile.pcie, inside_node_fields);
  f.object("network", profile.network, across_nodes_fields);
  f.object("point_to_point", profile.point_to_point, message_fields);
  f.list_where(!profile.exchanges.empty(), "exchanges", profile.exchanges, exchange_fields);
  f.check([&](const Node& node) { want_each_exchange_once(node, profile.exchanges); });
  f.optional_object("host", profile.host, host_fields);
}

}  // namespace

void misaligned_fields(Fields& f, cost::MisalignedRows& rows) {
  f.number("rows_16_bytes", rows.rows_16_bytes, kRowSlowdown);
  f.number("rows_4_bytes", rows.rows_4_bytes, kRowSlowdown);
  f.number("rows_2_bytes", rows.rows_2_bytes, kRowSlowdown);
  f.teraflops_where("batched_before_cuda_11_7_tflops", rows.batched_before_cuda_11_7, kRate);
  f.object("evidence", rows.evidence, evidence_fields);
}

cost::Profile read_profile(const Node& node) { return Fields::read_fields(node, profile_fields); }

std::string to_json_text(const cost::Profile& profile) {
  return Fields::written_fields(profile, profile_fields).dump(1) + "\n";
}

}  // namespace foretoken::io
