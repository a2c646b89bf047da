// Tests the shipped laws of serving: their evidence, their order and their errors.
#include "sim/io/hardware/serving_laws.h"

#include <gtest/gtest.h>

#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

cost::ServingLaws shipped_laws(const std::string& name) {
  Findings findings;
  const auto document = document_from_file(*find_data_file(kServingLaws, name), findings);
  cost::ServingLaws laws = read_serving_laws(document->root(findings));
  findings.throw_if_wrong();
  return laws;
}

TEST(ServingLaws, AreFittedOnSevenGpusWithinTenPercentOfHeldOutShapes) {
  int fitted = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    SCOPED_TRACE(name);
    const cost::ServingLaws laws = shipped_laws(name);
    EXPECT_EQ(laws.gpu, name);
    if (laws.decode16.evidence.provenance != cost::Provenance::kFitted) continue;
    ++fitted;
    for (const cost::DecodeLaw* const law : {&laws.decode16, &laws.decode8}) {
      EXPECT_GT(law->evidence.held_out, 100);
      EXPECT_LE(law->evidence.median_error, 0.1);
      EXPECT_GT(law->launch, Seconds(0));
    }
    EXPECT_GE(laws.all_reduces.size(), 2U) << "engines";
    for (const auto& [kernels, reduces] : laws.all_reduces)
      for (const int ranks : {2, 4}) EXPECT_NE(reduces.over(ranks), nullptr) << name_of(kernels);
  }
  EXPECT_EQ(fitted, 7);
}

double memory_bandwidth(const std::string& gpu) {
  Findings findings;
  const auto document = document_from_file(*find_data_file(kGpus, gpu), findings);
  return read_gpu(document->root(findings)).memory_bandwidth.value();
}

TEST(ServingLaws, ScaledOnesKeepTheirPartOfTheMemoryBandwidth) {
  int scaled = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    const cost::Evidence& evidence = laws.decode16.evidence;
    if (evidence.provenance != cost::Provenance::kScaled) continue;
    ++scaled;
    SCOPED_TRACE(name);
    const cost::ServingLaws from = shipped_laws(evidence.scaled_from);
    const double ratio = memory_bandwidth(name) / memory_bandwidth(evidence.scaled_from);
    EXPECT_NEAR(laws.decode16.bandwidth / from.decode16.bandwidth, ratio, 1e-3);
    EXPECT_NEAR(laws.decode8.bandwidth / from.decode8.bandwidth, ratio, 1e-3);
    EXPECT_EQ(laws.decode16.step, from.decode16.step) << "the same chip";
  }
  EXPECT_EQ(scaled, 8);
}

TEST(ServingLaws, WiderCachesNeverReadFaster) {
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    const cost::DecodeShape wide{.sequences = 64, .cached_tokens = 64 * 8192, .heads = 8, .kv_heads = 1};
    cost::DecodeShape narrow = wide;
    narrow.cache_bytes = 1;
    EXPECT_LT(decode_attention_time(narrow, laws.decode8), decode_attention_time(wide, laws.decode16)) << name;
  }
}

// Marlin widens weights to 16 bits and multiplies without the asynchronous products of Hopper.
TEST(ServingLaws, MarlinIsSlowerWithManyRowsAndNotWithOne) {
  int found = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    if (!laws.marlin_experts) continue;
    ++found;
    SCOPED_TRACE(name);
    EXPECT_LE(laws.marlin_experts->evidence.median_error, 0.1);
    cost::NarrowExperts shape{.experts = 128, .rows = 1, .outputs = 5760, .inputs = 2880, .choices = 128};
    const auto ratio = [&] {
      return narrow_experts_time(shape, *laws.marlin_experts) / narrow_experts_time(shape, laws.mxfp4_experts.value());
    };
    EXPECT_LT(ratio(), 1.1);
    shape.rows = 256;
    EXPECT_GT(ratio(), 2);
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace foretoken::io
