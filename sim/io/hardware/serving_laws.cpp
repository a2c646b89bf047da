// Reads the laws of a GPU that only serving needs.
#include "sim/io/hardware/serving_laws.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

constexpr WholeRange kHeads{.low = 1, .high = 1 << 10};  // query heads of a group, or numbers of a head

cost::Provenance read_provenance(const Node& node) {
  return node.one_of<cost::Provenance>("provenance", {{"measured", cost::Provenance::kMeasured},
                                                      {"fitted", cost::Provenance::kFitted},
                                                      {"scaled", cost::Provenance::kScaled},
                                                      {"assumed", cost::Provenance::kAssumed}});
}

cost::Evidence read_law_evidence(const Node& node) {
  cost::Evidence evidence;
  evidence.provenance = read_provenance(node);
  evidence.scaled_from = node.text_or("scaled_from", "");
  evidence.source = node.text("source");
  evidence.samples = static_cast<int>(node.whole_or("samples", 0, {.low = 0}));
  evidence.held_out = static_cast<int>(node.whole_or("held_out", 0, {.low = 0}));
  evidence.median_error = node.number_or("median_error", 0, kNonNegative);
  evidence.p90_error = node.number_or("p90_error", 0, kNonNegative);
  return evidence;
}

cost::DecodeLaw read_decode_law(const Node& node, const std::vector<std::string>& more_keys = {}) {
  std::vector<std::string> keys{"launch_us", "gb_per_s",  "step_us",      "sharpness",   "fill_us",
                                "fill_mb",   "each_head", "provenance",   "scaled_from", "source",
                                "samples",   "held_out",  "median_error", "p90_error"};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  node.allow_only(keys);
  cost::DecodeLaw law{.launch = microseconds(node.number("launch_us", kMicroseconds)),
                      .bandwidth = gigabytes_per_second(node.number("gb_per_s", kPositive)),
                      .step = microseconds(node.number("step_us", kMicroseconds)),
                      .sharpness = node.number("sharpness", {.low = 1, .high = 100})};
  law.fill = microseconds(node.number_or("fill_us", 0, kMicroseconds));
  law.fill_bytes = Bytes(node.number_or("fill_mb", 0, kNonNegative) * 1e6);
  if ((law.fill.value() > 0) != (law.fill_bytes.value() > 0))
    node.complain("fill_mb", "expected fill_us and fill_mb above 0, or neither");
  law.each_head = node.boolean_or("each_head", false);
  law.evidence = read_law_evidence(node);
  return law;
}

cost::FittedRange read_fitted_range(const Node& node, std::string_view key) {
  const std::vector<Node> bounds = node.array(key);
  if (bounds.size() != 2) {
    node.complain(key, fmt::format("expected the lowest and the highest value, found {}", bounds.size()));
    return {};
  }
  const cost::FittedRange range{bounds[0].as_whole(kHeads), bounds[1].as_whole(kHeads)};
  if (range.low > range.high)
    node.complain(key, fmt::format("expected the lowest value first, found {} and {}", range.low, range.high));
  return range;
}

std::vector<cost::EngineDecodeLaw> read_engine_laws(const Node& node, std::string_view key) {
  std::vector<cost::EngineDecodeLaw> laws;
  const std::vector<Node> items = node.array(key);
  if (items.empty()) node.complain(key, "expected a law or more, found none");
  for (const Node& item : items) {
    const Node law = item.as_object();
    laws.push_back({.shared = read_fitted_range(law, "shared"),
                    .head_dims = read_fitted_range(law, "head_dims"),
                    .law = read_decode_law(law, {"shared", "head_dims"})});
  }
  return laws;
}

/// The keys of caches in decode_attention.
constexpr std::array<std::pair<std::string_view, cost::CacheKind>, 4> kCaches{
    {{"cache_16_bit", cost::CacheKind::kWide},
     {"cache_8_bit", cost::CacheKind::kNarrow},
     {"latent", cost::CacheKind::kLatent},
     {"latent_8_bit", cost::CacheKind::kLatentNarrow}}};

std::map<cost::CacheKind, cost::DecodeLaw> read_decode_laws(const Node& node) {
  std::map<cost::CacheKind, cost::DecodeLaw> laws;
  for (const auto& [key, kind] : kCaches)
    if (const auto law = node.find_object(key)) laws[kind] = read_decode_law(*law);
  return laws;
}

/// Calls `read` with the name and the object of each engine that stands in `node`.
template <class Read>
void for_each_engine(const Node& node, const Read& read) {
  node.allow_only({"trt-llm", "vllm", "sglang"});
  for (const cost::AllReduceKernels kernels : cost::kEngineKernels)
    if (const auto engine = node.find_object(name_of(kernels))) read(kernels, *engine);
}

/// Calls `read` with the object of each engine and precision that stands in `node`.
template <class Read>
void for_each_precision(const Node& node, const Read& read) {
  for_each_engine(node, [&](cost::AllReduceKernels kernels, const Node& engine) {
    engine.allow_only({"bf16", "fp8", "fp8_block", "nvfp4"});
    for (const Precision precision : {Precision::kBf16, Precision::kFp8, Precision::kFp8Block, Precision::kNvfp4})
      if (const auto own = engine.find_object(name_of(precision))) read(std::string(name_of(kernels)), precision, *own);
  });
}

void read_decode(const Node& node, cost::ServingLaws& laws) {
  node.allow_only({"kernels", "cache_16_bit", "cache_8_bit", "latent", "latent_8_bit", "engines"});
  laws.decode = read_decode_laws(node);
  if (!laws.decode.contains(cost::CacheKind::kWide))  // the question still needs a law, and gets no answer
    laws.decode[cost::CacheKind::kWide] = read_decode_law(node.object("cache_16_bit"));
  laws.decode_kernels = read_kernel_owner(node, "kernels", laws.decode_kernels);
  for_each_engine(node.object_or_empty("engines"), [&](cost::AllReduceKernels kernels, const Node& engine) {
    engine.allow_only({"cache_16_bit", "cache_8_bit", "latent", "latent_8_bit"});
    for (const auto& [key, kind] : kCaches)
      if (engine.has(key)) laws.engine_decode[std::string(name_of(kernels))][kind] = read_engine_laws(engine, key);
  });
}

cost::ExpertBlocks read_expert_blocks(const Node& node) {
  node.allow_only({"rows", "outputs", "inputs"});
  constexpr WholeRange kBlock{.low = 1, .high = 1 << 16};
  cost::ExpertBlocks blocks{.outputs = node.whole_or("outputs", 1, kBlock),
                            .inputs = node.whole_or("inputs", 1, kBlock)};
  for (const Node& size : node.array("rows")) blocks.rows.push_back(size.as_whole(kBlock));
  if (!std::is_sorted(blocks.rows.begin(), blocks.rows.end()))
    node.complain("rows", "expected ascending sizes, found others");
  return blocks;
}

cost::NarrowExpertsLaw read_narrow_experts(const Node& node) {
  node.allow_only({"launch_us", "gb_per_s", "tflops", "sharpness", "expert_us", "blocks", "provenance", "scaled_from",
                   "source", "samples", "held_out", "median_error", "p90_error"});
  cost::NarrowExpertsLaw law{.launch = microseconds(node.number("launch_us", kMicroseconds)),
                             .bandwidth = gigabytes_per_second(node.number("gb_per_s", kPositive)),
                             .rate = teraflops(node.number("tflops", kPositive)),
                             .sharpness = node.number("sharpness", {.low = 1, .high = 100})};
  law.expert = microseconds(node.number_or("expert_us", 0, kMicroseconds));
  if (const auto blocks = node.find_object("blocks")) law.blocks = read_expert_blocks(*blocks);
  law.evidence = read_law_evidence(node);
  return law;
}

cost::ExpertLayerLaw read_expert_layer(const Node& node) {
  node.allow_only({"launch_us", "expert_us", "row_ps", "token_ps", "gb_per_s", "tflops", "sharpness", "provenance",
                   "scaled_from", "source", "samples", "held_out", "median_error", "p90_error"});
  const auto picoseconds = [&](std::string_view key) { return Seconds(node.number(key, kMicroseconds) * 1e-12); };
  cost::ExpertLayerLaw law{.launch = microseconds(node.number("launch_us", kMicroseconds)),
                           .expert = microseconds(node.number("expert_us", kMicroseconds)),
                           .row = picoseconds("row_ps"),
                           .token = picoseconds("token_ps"),
                           .bandwidth = gigabytes_per_second(node.number("gb_per_s", kPositive)),
                           .rate = teraflops(node.number("tflops", kPositive)),
                           .sharpness = node.number("sharpness", {.low = 1, .high = 100})};
  law.evidence = read_law_evidence(node);
  return law;
}

/// Reads the laws of layers of experts: by the engine, by the precision, on one expert rank or spread over several.
cost::EngineExperts read_expert_layers(const Node& node) {
  cost::EngineExperts laws;
  for_each_precision(node, [&](const std::string& engine, Precision precision, const Node& own) {
    own.allow_only({"one_rank", "spread"});
    cost::ExpertLayerLaws& both = laws[engine][precision];
    if (const auto law = own.find_object("one_rank")) both.one_rank = read_expert_layer(*law);
    if (const auto law = own.find_object("spread")) both.spread = read_expert_layer(*law);
    if (!both.one_rank && !both.spread) own.complain("one_rank", "expected one_rank or spread, found neither");
  });
  return laws;
}

cost::ProductsOfRows read_products_of_rows(const Node& node) {
  node.allow_only({"rows", "launch_us", "factor"});
  return {.rows = node.whole("rows"),
          .launch = microseconds(node.number("launch_us", kMicroseconds)),
          .factor = node.number("factor", {.low = 0.01, .high = 100})};
}

cost::EngineProductsLaw read_engine_products_law(const Node& node) {
  node.allow_only({"knots", "provenance", "scaled_from", "source", "samples", "held_out", "median_error", "p90_error"});
  cost::EngineProductsLaw law;
  for (const Node& knot : node.array("knots")) law.knots.push_back(read_products_of_rows(knot.as_object()));
  const auto not_rising = [](const cost::ProductsOfRows& one, const cost::ProductsOfRows& next) {
    return one.rows >= next.rows;
  };
  if (law.knots.empty() || std::ranges::adjacent_find(law.knots, not_rising) != law.knots.end()) {
    node.complain("knots", "expected one knot or more, with rising rows");
    law.knots = {cost::ProductsOfRows{}};
  }
  law.evidence = read_law_evidence(node);
  return law;
}

/// Reads the laws of products: by the engine, by the precision.
cost::EngineProducts read_engine_products(const Node& node) {
  cost::EngineProducts laws;
  for_each_precision(node, [&](const std::string& engine, Precision precision, const Node& law) {
    laws[engine][precision] = read_engine_products_law(law);
  });
  return laws;
}

cost::SmallAllReduce read_small_all_reduce(const Node& node) {
  node.allow_only({"ranks", "bytes", "us"});
  cost::SmallAllReduce table{.ranks = static_cast<int>(node.whole("ranks", {.low = 2, .high = 1024}))};
  const std::vector<double> bytes = node.numbers("bytes", kPositive), us = node.numbers("us", kPositive);
  if (bytes.size() != us.size() || bytes.size() < 2 || !std::is_sorted(bytes.begin(), bytes.end())) {
    node.complain("bytes", fmt::format("expected as many ascending sizes as times, two or more, found {} and {}",
                                       bytes.size(), us.size()));
    return table;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) table.rows.push_back({Bytes(bytes[i]), microseconds(us[i])});
  return table;
}

}  // namespace

std::string read_kernel_owner(const Node& node, std::string_view key, const std::string& otherwise) {
  return node.one_of_or(key, otherwise, {{"trt-llm", "trt-llm"}, {"vllm", "vllm"}, {"sglang", "sglang"}});
}

cost::ServingLaws read_serving_laws(const Node& node) {
  node.allow_only({"gpu", "decode_attention", "l2_cache", "experts", "products", "mxfp4_experts", "marlin_experts",
                   "small_all_reduce"});
  cost::ServingLaws laws{.gpu = node.text("gpu")};
  read_decode(node.object("decode_attention"), laws);
  if (const auto cache = node.find_object("l2_cache")) {
    cache->allow_only({"gb_per_s", "source"});
    laws.l2_rate = gigabytes_per_second(cache->number("gb_per_s", kPositive));
    (void)cache->text("source");
  }
  if (const auto experts = node.find_object("experts")) laws.experts = read_expert_layers(*experts);
  if (const auto products = node.find_object("products")) laws.products = read_engine_products(*products);
  if (const auto experts = node.find_object("mxfp4_experts")) laws.mxfp4_experts = read_narrow_experts(*experts);
  if (const auto marlin = node.find_object("marlin_experts")) laws.marlin_experts = read_narrow_experts(*marlin);
  if (const auto sums = node.find_object("small_all_reduce"))
    for_each_engine(*sums, [&](cost::AllReduceKernels kernels, const Node& engine) {
      engine.allow_only({"source", "tables"});
      cost::SmallAllReduces& reduces = laws.all_reduces[kernels];
      reduces.source = engine.text("source");
      for (const Node& table : engine.array("tables"))
        reduces.tables.push_back(read_small_all_reduce(table.as_object()));
    });
  return laws;
}

std::optional<cost::ServingLaws> find_serving_laws(const std::string& name, Findings& findings) {
  const auto path = find_data_file(kServingLaws, name);
  if (!path) return std::nullopt;
  note_hidden(kServingLaws, name, *path);
  auto document = document_from_file(*path, findings);
  if (document) document = with_bases(*std::move(document), kServingLaws, findings);
  if (!document) return std::nullopt;
  return read_serving_laws(document->root(findings));
}

}  // namespace foretoken::io
