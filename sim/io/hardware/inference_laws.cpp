// Lists the fields of the laws of inference, and finds the file of a GPU.
#include "sim/io/hardware/inference_laws.h"

#include <algorithm>

#include "sim/io/hardware/profile_fields.h"
#include "sim/io/json/document.h"
#include "sim/io/json/fields.h"

namespace foretoken::io {
namespace {

void gridded_law_fields(Fields& f, cost::GriddedLaw& law) {
  f.gigabytes("gb_per_s", law.bandwidth, kRate);
  f.microseconds("launch_us", law.launch, kMicroseconds);
  f.object_where(!law.correction.log_ratio.empty(), "correction", law.correction, grid_correction_fields);
  f.object("evidence", law.evidence, evidence_fields);
}

void cache_attention_fields(Fields& f, cost::CacheAttentionLaw& law) {
  f.whole("head_dim", law.head_dim, {.low = 1, .high = 65536});
  f.boolean("latent", law.latent);
  f.one_of<Precision>("cache", law.cache, {{"bf16", Precision::kBf16}, {"fp8", Precision::kFp8}});
  f.object("law", law.law, gridded_law_fields);
}

void narrow_product_fields(Fields& f, cost::NarrowProductLaw& law) {
  f.one_of<cost::NarrowWeights>("weights", law.weights,
                                {{"int8", cost::NarrowWeights::kInt8}, {"int4", cost::NarrowWeights::kInt4}});
  f.object("law", law.law, gridded_law_fields);
}

void custom_all_reduce_fields(Fields& f, cost::CustomAllReduceLaw& law) {
  f.whole("ranks", law.ranks, {.low = 2, .high = 1024});
  f.microseconds("latency_us", law.latency, kMicroseconds);
  f.gigabytes("gb_per_s", law.bandwidth, kRate);
  f.object_where(!law.correction.log_ratio.empty(), "correction", law.correction, size_correction_fields);
  f.object("evidence", law.evidence, evidence_fields);
}

void inference_fields(Fields& f, cost::InferenceLaws& laws) {
  f.text("name", laws.name);
  f.texts_where(true, "notes", laws.notes);
  f.list_where(!laws.cache_attention.empty(), "cache_attention", laws.cache_attention, cache_attention_fields);
  f.list_where(!laws.narrow_products.empty(), "narrow_products", laws.narrow_products, narrow_product_fields);
  f.list_where(!laws.all_reduce.empty(), "custom_all_reduce", laws.all_reduce, custom_all_reduce_fields);
  f.check([&](const Node& node) {
    const auto falls = [](const auto& a, const auto& b) { return a.ranks >= b.ranks; };
    if (std::adjacent_find(laws.all_reduce.begin(), laws.all_reduce.end(), falls) != laws.all_reduce.end())
      node.complain("custom_all_reduce", "expected laws with ascending \"ranks\"");
  });
}

}  // namespace

cost::InferenceLaws read_inference_laws(const Node& node) {
  return Fields::read_fields<cost::InferenceLaws>(node, inference_fields);
}

std::string to_json_text(const cost::InferenceLaws& laws) {
  return Fields::written_fields(laws, inference_fields).dump(1) + "\n";
}

cost::InferenceLaws find_inference_laws(const std::string& name, Findings& findings) {
  const auto path = find_data_file(kInferenceLaws, name);
  if (!path) return {};
  note_hidden(kInferenceLaws, name, *path);
  const auto document = document_from_file(*path, findings);
  return document ? read_inference_laws(document->root(findings)) : cost::InferenceLaws{};
}

}  // namespace foretoken::io
