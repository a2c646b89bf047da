// What a profile file may say: one law per part, each with the evidence that it rests on.
#include "sim/io/read_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

namespace foretoken::io {
namespace {

constexpr Range kMicroseconds{.low = 0, .high = 1e9};
constexpr Range kRate{.low = 0, .high = 1e9, .above_low = true};  // TFLOP/s or GB/s
constexpr Range kEfficiency{.low = 0, .high = 1, .above_low = true};
constexpr Range kFactor{.low = 0, .high = 100, .above_low = true};
constexpr Range kSlowdown{.low = 1, .high = 100};
constexpr Range kSpread{.low = 0, .high = 1e3};
constexpr Range kTokens{.low = 0, .high = 1e9};
constexpr Range kLogRatio{.low = -30000, .high = 30000};  // ten-thousandths: factors up to e^3
constexpr Range kOctaves{.low = 0, .high = 40};           // log2 of a dimension
constexpr WholeRange kCount{.low = 0, .high = 1'000'000'000};
constexpr WholeRange kProcessors{.low = 1, .high = 1'000'000};

constexpr std::array<std::pair<std::string_view, CollectiveKind>, 5> kKinds{
    {{"all_reduce", CollectiveKind::kAllReduce},
     {"all_gather", CollectiveKind::kAllGather},
     {"reduce_scatter", CollectiveKind::kReduceScatter},
     {"all_to_all", CollectiveKind::kAllToAll},
     {"broadcast", CollectiveKind::kBroadcast}}};

Seconds us(const Node& node, std::string_view key) { return microseconds(node.number(key, kMicroseconds)); }
BytesPerSecond gb(const Node& node, std::string_view key) { return gigabytes_per_second(node.number(key, kRate)); }
FlopPerSecond tflops(const Node& node, std::string_view key) { return teraflops(node.number(key, kRate)); }
int processors(const Node& node) { return static_cast<int>(node.whole("multiprocessors", kProcessors)); }

/// The kinds of collectives that one curve is for.
std::vector<CollectiveKind> read_kinds(const Node& curve) {
  std::vector<CollectiveKind> kinds;
  for (const Node& kind : curve.array("kinds"))
    kinds.push_back(kind.as_one_of<CollectiveKind>({{kKinds[0].first, kKinds[0].second},
                                                    {kKinds[1].first, kKinds[1].second},
                                                    {kKinds[2].first, kKinds[2].second},
                                                    {kKinds[3].first, kKinds[3].second},
                                                    {kKinds[4].first, kKinds[4].second}}));
  return kinds;
}

cost::Evidence read_evidence(const Node& parent) {
  const Node node = parent.object("evidence");
  node.allow_only(
      {"provenance", "scaled_from", "source", "samples", "held_out", "median_error", "p90_error", "worst_error"});
  using enum cost::Provenance;
  const auto provenance = node.one_of<cost::Provenance>(
      "provenance", {{"measured", kMeasured}, {"fitted", kFitted}, {"scaled", kScaled}, {"assumed", kAssumed}});
  if (node.has("scaled_from") != (provenance == kScaled))
    node.complain("scaled_from", "expected the name of a GPU exactly when \"provenance\" is \"scaled\"");
  return {.provenance = provenance,
          .scaled_from = node.find_text("scaled_from").value_or(""),
          .source = node.text("source"),
          .samples = static_cast<int>(node.find_whole("samples", kCount).value_or(0)),
          .held_out = static_cast<int>(node.find_whole("held_out", kCount).value_or(0)),
          .median_error = node.find_number("median_error", kNonNegative).value_or(0),
          .p90_error = node.find_number("p90_error", kNonNegative).value_or(0),
          .worst_error = node.find_number("worst_error", kNonNegative).value_or(0)};
}

/// {"first_log2": 0, "last_log2": 15, "knots": 7}
cost::GemmCorrection::Axis read_axis(const Node& node) {
  node.allow_only({"first_log2", "last_log2", "knots"});
  const cost::GemmCorrection::Axis axis{.first = node.number("first_log2", kOctaves),
                                        .last = node.number("last_log2", kOctaves),
                                        .knots = static_cast<int>(node.whole("knots", {.low = 2, .high = 20}))};
  if (axis.last <= axis.first) node.complain("last_log2", "expected more than first_log2");
  return axis;
}

cost::GemmCorrection read_correction(const Node& node) {
  node.allow_only({"m", "n", "k", "log_ratio_1e4"});
  cost::GemmCorrection grid{.m = read_axis(node.object("m")),
                            .n = read_axis(node.object("n")),
                            .k = read_axis(node.object("k")),
                            .log_ratio = node.numbers("log_ratio_1e4", kLogRatio)};
  const std::size_t knots = static_cast<std::size_t>(grid.m.knots * grid.n.knots * grid.k.knots);
  if (grid.log_ratio.size() != knots)
    node.complain("log_ratio_1e4",
                  fmt::format("expected {} values (the knots of m x n x k), found {}", knots, grid.log_ratio.size()));
  for (double& value : grid.log_ratio) value *= 1e-4;
  return grid;
}

/// By layout; those that were not measured are absent.
std::array<cost::GemmCorrection, 3> read_corrections(const Node& node) {
  constexpr const char* kPasses[] = {"forward", "input_gradient", "weight_gradient"};
  node.allow_only({kPasses[0], kPasses[1], kPasses[2]});
  std::array<cost::GemmCorrection, 3> grids;
  for (std::size_t pass = 0; pass < grids.size(); ++pass)
    if (const auto grid = node.find_object(kPasses[pass])) grids[pass] = read_correction(*grid);
  return grids;
}

cost::TileWaveLaw read_tile_wave(const Node& node) {
  node.allow_only({"law", "peak_tflops", "multiprocessors", "efficiency", "prologue_k", "small_tile_loss",
                   "memory_gb_per_s", "launch_us", "sustained_factor", "corrections", "weight_gradient_factor",
                   "evidence"});
  return {.peak = tflops(node, "peak_tflops"),
          .multiprocessors = processors(node),
          .efficiency = node.number("efficiency", kEfficiency),
          .prologue_k = node.number("prologue_k", kTokens),
          .small_tile_loss = node.number("small_tile_loss", {.low = 0, .high = 0.3}),  // three halvings stay positive
          .memory_bandwidth = gb(node, "memory_gb_per_s"),
          .launch = us(node, "launch_us"),
          .sustained_factor = node.number("sustained_factor", kFactor)};
}

cost::RooflineLaw read_roofline(const Node& node) {
  node.allow_only({"law", "compute_tflops", "memory_gb_per_s", "sharpness", "launch_us", "sustained_factor",
                   "corrections", "weight_gradient_factor", "evidence"});
  return {.compute_rate = tflops(node, "compute_tflops"),
          .memory_bandwidth = gb(node, "memory_gb_per_s"),
          .sharpness = node.number("sharpness", {.low = 1, .high = 100}),
          .launch = us(node, "launch_us"),
          .sustained_factor = node.number("sustained_factor", kFactor)};
}

cost::GemmLaw read_gemm_law(const Node& node) {
  cost::GemmLaw gemm;
  const bool tiles = node.one_of<bool>("law", {{"tile-wave", true}, {"roofline", false}});
  if (tiles)
    gemm.law = read_tile_wave(node);
  else
    gemm.law = read_roofline(node);
  if (const auto corrections = node.find_object("corrections")) gemm.corrections = read_corrections(*corrections);
  gemm.weight_gradient_factor = node.number("weight_gradient_factor", kFactor);
  gemm.evidence = read_evidence(node);
  return gemm;
}

std::map<Precision, cost::GemmLaw> read_gemm(const Node& node) {
  node.allow_only({"fp32", "fp16", "bf16", "fp8"});
  std::map<Precision, cost::GemmLaw> laws;
  for (const auto& [precision, name] : kPrecisionNames)
    if (const auto law = node.find_object(name)) laws[precision] = read_gemm_law(*law);
  if (laws.empty()) node.complain("expected a GEMM law for at least one of fp16, bf16, fp8, fp32");
  return laws;
}

cost::MisalignedRows read_misaligned_rows(const Node& node) {
  node.allow_only({"rows_16_bytes", "rows_4_bytes", "rows_2_bytes", "batched_before_cuda_11_7_tflops", "evidence"});
  cost::MisalignedRows rows{.rows_16_bytes = node.number("rows_16_bytes", kSlowdown),
                            .rows_4_bytes = node.number("rows_4_bytes", kSlowdown),
                            .rows_2_bytes = node.number("rows_2_bytes", kSlowdown),
                            .evidence = read_evidence(node)};
  if (const auto rate = node.find_number("batched_before_cuda_11_7_tflops", kRate))
    rows.batched_before_cuda_11_7 = teraflops(*rate);
  return rows;
}

cost::AttentionRate read_rate(const Node& node) {
  node.allow_only({"peak_tflops", "half_length", "tail", "sharpness"});
  return {.peak = tflops(node, "peak_tflops"),
          .half_length = node.number("half_length", kTokens),
          .tail = node.number("tail", kSpread),
          .sharpness = node.number("sharpness", {.low = 0.1, .high = 100})};
}

cost::AttentionLaws read_attention(const Node& node) {
  node.allow_only({"multiprocessors", "block_rows", "launch_us", "laws"});
  cost::AttentionLaws attention{.laws = {},
                                .multiprocessors = processors(node),
                                .block_rows = static_cast<int>(node.whole("block_rows", kProcessors)),
                                .launch = us(node, "launch_us")};
  for (const Node& law : node.array("laws")) {
    law.allow_only({"head_dim", "causal", "forward", "backward", "evidence"});
    attention.laws.push_back({.head_dim = static_cast<int>(law.whole("head_dim", {.low = 1, .high = 65536})),
                              .causal = law.boolean("causal"),
                              .forward = read_rate(law.object("forward")),
                              .backward = read_rate(law.object("backward")),
                              .evidence = read_evidence(law)});
  }
  for (const bool causal : {true, false})
    if (std::none_of(attention.laws.begin(), attention.laws.end(), [&](const auto& l) { return l.causal == causal; }))
      node.complain("laws", fmt::format("expected at least one law with \"causal\": {}", causal));
  return attention;
}

cost::MemoryBoundLaw read_memory_bound(const Node& node) {
  node.allow_only({"gb_per_s", "efficiency", "launch_us", "evidence"});
  return {.bandwidth = gb(node, "gb_per_s"),
          .efficiency = node.number("efficiency", kEfficiency),
          .launch = us(node, "launch_us"),
          .evidence = read_evidence(node)};
}

/// Complains about kinds of collectives that `curves` lack.
template <class Curves>
void want_every_kind(const Node& node, const Curves& curves) {
  for (const auto& known : kKinds)
    if (std::none_of(curves.begin(), curves.end(), [&](const auto& curve) { return curve.kind == known.second; }))
      node.complain("curves", fmt::format("expected at least one curve of kind {}, found none", known.first));
}

cost::SizeCorrection read_size_correction(const Node& node) {
  node.allow_only({"first_log2", "last_log2", "log_ratio_1e4"});
  cost::SizeCorrection correction{.first_log2 = node.number("first_log2", kOctaves),
                                  .last_log2 = node.number("last_log2", kOctaves),
                                  .log_ratio = node.numbers("log_ratio_1e4", kLogRatio)};
  if (correction.last_log2 <= correction.first_log2) node.complain("last_log2", "expected more than first_log2");
  if (correction.log_ratio.size() < 2) node.complain("log_ratio_1e4", "expected at least two values");
  for (double& value : correction.log_ratio) value *= 1e-4;
  return correction;
}

cost::InsideNodeLaw read_inside_node(const Node& node) {
  node.allow_only({"reference_gb_per_s", "curves"});
  cost::InsideNodeLaw law{.reference = gb(node, "reference_gb_per_s"), .curves = {}};
  for (const Node& curve : node.array("curves")) {
    curve.allow_only(
        {"kinds", "ranks", "latency_us", "gb_per_s", "spread_sqrt_s", "plateau_gb_per_s", "correction", "evidence"});
    cost::CollectiveCurve one;
    one.ranks = static_cast<int>(curve.whole("ranks", {.low = 2, .high = 1'000'000}));
    one.latency = us(curve, "latency_us");
    one.bandwidth = gb(curve, "gb_per_s");
    one.spread = curve.number("spread_sqrt_s", kSpread);
    one.plateau = gb(curve, "plateau_gb_per_s");
    if (const auto correction = curve.find_object("correction")) one.correction = read_size_correction(*correction);
    one.evidence = read_evidence(curve);
    for (const CollectiveKind kind : read_kinds(curve)) {
      one.kind = kind;
      law.curves.push_back(one);
    }
  }
  std::stable_sort(law.curves.begin(), law.curves.end(),
                   [](const auto& a, const auto& b) { return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks; });
  want_every_kind(node, law.curves);
  return law;
}

cost::AcrossNodesLaw read_across_nodes(const Node& node) {
  node.allow_only({"lone_rank_factor", "curves"});
  cost::AcrossNodesLaw law{.curves = {}, .lone_rank_factor = node.number("lone_rank_factor", kEfficiency)};
  for (const Node& curve : node.array("curves")) {
    curve.allow_only({"kinds", "latency_us", "latency_per_doubling_us", "efficiency", "spread_sqrt_s",
                      "plateau_efficiency", "two_node_gain", "evidence"});
    cost::AcrossNodesCurve one{.latency = us(curve, "latency_us"),
                               .latency_per_doubling = us(curve, "latency_per_doubling_us"),
                               .efficiency = curve.number("efficiency", kEfficiency),
                               .spread = curve.number("spread_sqrt_s", kSpread),
                               .plateau_efficiency = curve.number("plateau_efficiency", kEfficiency),
                               .two_node_gain = curve.number("two_node_gain", {.low = 1, .high = 2}),
                               .evidence = read_evidence(curve)};
    for (const CollectiveKind kind : read_kinds(curve)) {
      one.kind = kind;
      law.curves.push_back(one);
    }
  }
  std::stable_sort(law.curves.begin(), law.curves.end(), [](const auto& a, const auto& b) { return a.kind < b.kind; });
  want_every_kind(node, law.curves);
  return law;
}

cost::PointToPointLaw::Path read_path(const Node& node) {
  node.allow_only({"latency_us", "efficiency", "evidence"});
  return {.latency = us(node, "latency_us"),
          .efficiency = node.number("efficiency", kEfficiency),
          .evidence = read_evidence(node)};
}

cost::PointToPointLaw read_messages(const Node& node) {
  node.allow_only({"nvlink", "pcie", "network"});
  return {.nvlink = read_path(node.object("nvlink")),
          .pcie = read_path(node.object("pcie")),
          .network = read_path(node.object("network"))};
}

cost::HostLaw read_host(const Node& node) {
  node.allow_only({"launch_us", "evidence"});
  return {.launch = us(node, "launch_us"), .evidence = read_evidence(node)};
}

}  // namespace

cost::Profile read_profile(const Node& node) {
  node.allow_only({"name", "gpu", "notes", "gemm", "misaligned_rows", "attention", "memory_bound", "nvlink", "pcie",
                   "network", "point_to_point", "host"});
  cost::Profile profile{.name = node.text("name"), .gpu = node.text("gpu"), .notes = {}};
  if (const auto notes = node.find_array("notes"))
    for (const Node& note : *notes) profile.notes.push_back(note.as_text());
  profile.gemm = read_gemm(node.object("gemm"));
  if (const auto rows = node.find_object("misaligned_rows")) profile.misaligned_rows = read_misaligned_rows(*rows);
  profile.attention = read_attention(node.object("attention"));
  profile.memory_bound = read_memory_bound(node.object("memory_bound"));
  profile.nvlink = read_inside_node(node.object("nvlink"));
  profile.pcie = read_inside_node(node.object("pcie"));
  profile.network = read_across_nodes(node.object("network"));
  profile.point_to_point = read_messages(node.object("point_to_point"));
  if (const auto host = node.find_object("host")) profile.host = read_host(*host);
  return profile;
}

}  // namespace foretoken::io
