// Reads a profile file: one law per part, each with its evidence.
#include "sim/io/hardware/read_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/hardware/read_collectives.h"

namespace foretoken::io {
namespace {

constexpr Range kRowSlowdown{.low = 1, .high = 100};
constexpr Range kTail{.low = 0, .high = 1e3};
constexpr Range kTokens{.low = 0, .high = 1e9};
constexpr WholeRange kProcessors{.low = 1, .high = 1'000'000};

FlopPerSecond tflops(const Node& node, std::string_view key) { return teraflops(node.number(key, kRate)); }
int processors(const Node& node) { return static_cast<int>(node.whole("multiprocessors", kProcessors)); }

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
  cost::MisalignedRows rows{.rows_16_bytes = node.number("rows_16_bytes", kRowSlowdown),
                            .rows_4_bytes = node.number("rows_4_bytes", kRowSlowdown),
                            .rows_2_bytes = node.number("rows_2_bytes", kRowSlowdown),
                            .evidence = read_evidence(node)};
  if (const auto rate = node.find_number("batched_before_cuda_11_7_tflops", kRate))
    rows.batched_before_cuda_11_7 = teraflops(*rate);
  return rows;
}

cost::AttentionRate read_rate(const Node& node) {
  node.allow_only({"peak_tflops", "half_length", "tail", "sharpness"});
  return {.peak = tflops(node, "peak_tflops"),
          .half_length = node.number("half_length", kTokens),
          .tail = node.number("tail", kTail),
          .sharpness = node.number("sharpness", {.low = 0.1, .high = 100})};
}

std::vector<cost::AttentionLaw> read_attention_laws(const std::vector<Node>& nodes) {
  std::vector<cost::AttentionLaw> laws;
  for (const Node& law : nodes) {
    law.allow_only({"head_dim", "causal", "forward", "backward", "evidence"});
    laws.push_back({.head_dim = static_cast<int>(law.whole("head_dim", {.low = 1, .high = 65536})),
                    .causal = law.boolean("causal"),
                    .forward = read_rate(law.object("forward")),
                    .backward = read_rate(law.object("backward")),
                    .evidence = read_evidence(law)});
  }
  return laws;
}

/// `flash_2` is a list like `laws`, or the word "laws" where those are FlashAttention-2's.
cost::AttentionLaws read_attention(const Node& node) {
  node.allow_only({"multiprocessors", "block_rows", "launch_us", "sustained_factor", "laws", "flash_2"});
  cost::AttentionLaws attention{.laws = read_attention_laws(node.array("laws")),
                                .multiprocessors = processors(node),
                                .block_rows = static_cast<int>(node.whole("block_rows", kProcessors)),
                                .launch = us(node, "launch_us"),
                                .sustained_factor = node.number("sustained_factor", kFactor)};
  if (node.child("flash_2").is_text()) {
    (void)node.one_of<int>("flash_2", {{"laws", 0}});
    attention.flash2 = attention.laws;
  } else if (const auto flash2 = node.find_array("flash_2")) {
    attention.flash2 = read_attention_laws(*flash2);
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
