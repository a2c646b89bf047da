// Tests the shipped laws of serving: their evidence, their order and their errors.
#include "sim/io/hardware/serving_laws.h"

#include <gtest/gtest.h>

#include "sim/io/hardware/read_cluster.h"
#include "sim/io/json/document.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

cost::ServingLaws shipped_laws(const std::string& name) {
  Findings findings;
  const auto document = document_from_file(*find_data_file(kServingLaws, name), findings);
  cost::ServingLaws laws = read_serving_laws(document->root(findings));
  findings.throw_if_wrong();
  return laws;
}

constexpr auto kWide = cost::CacheKind::kWide, kNarrow = cost::CacheKind::kNarrow;

/// The law of the GPU, for every engine.
const cost::DecodeLaw& law(const cost::ServingLaws& laws, cost::CacheKind kind) {
  return *cost::decode_law(laws, {.engine = "", .kind = kind});
}

TEST(ServingLaws, AreFittedOnSevenGpusWithinTenPercentOfHeldOutShapes) {
  int fitted = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    SCOPED_TRACE(name);
    const cost::ServingLaws laws = shipped_laws(name);
    EXPECT_EQ(laws.gpu, name);
    if (law(laws, kWide).evidence.provenance != cost::Provenance::kFitted) continue;
    ++fitted;
    for (const auto& [kind, each] : laws.decode) {
      EXPECT_GT(each.evidence.held_out, 80);
      EXPECT_LE(each.evidence.median_error, 0.1);
      EXPECT_GT(each.launch, Seconds(0));
    }
    EXPECT_GE(laws.all_reduces.size(), 2U) << "engines";
    for (const auto& [kernels, reduces] : laws.all_reduces)
      for (const int ranks : {2, 4}) EXPECT_NE(reduces.over(ranks), nullptr) << name_of(kernels);
  }
  EXPECT_EQ(fitted, 7);
}

bool meet(cost::FittedRange a, cost::FittedRange b) { return a.low <= b.high && b.low <= a.high; }

// A range of few rows may be met worse: TensorRT-LLM's masked attention with heads of 192 by 36 %.
TEST(ServingLaws, OfAnEngineMeetTheirRowsAndHaveRangesOfTheirOwn) {
  int engines = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws shipped = shipped_laws(name);
    for (const auto& [engine, kinds] : shipped.engine_decode)
      for (const auto& [kind, laws] : kinds) {
        SCOPED_TRACE(name + ", " + engine);
        ++engines;
        double rows = 0, errors = 0;
        for (std::size_t i = 0; i < laws.size(); ++i) {
          rows += laws[i].law.evidence.held_out;
          errors += laws[i].law.evidence.held_out * laws[i].law.evidence.median_error;
          for (std::size_t j = 0; j < i; ++j)
            EXPECT_FALSE(meet(laws[i].shared, laws[j].shared) && meet(laws[i].head_dims, laws[j].head_dims));
        }
        EXPECT_LE(errors, 0.1 * rows);
      }
  }
  EXPECT_GT(engines, 40);
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
    const cost::Evidence& evidence = law(laws, kWide).evidence;
    if (evidence.provenance != cost::Provenance::kScaled) continue;
    ++scaled;
    SCOPED_TRACE(name);
    const cost::ServingLaws from = shipped_laws(evidence.scaled_from);
    const double ratio = memory_bandwidth(name) / memory_bandwidth(evidence.scaled_from);
    EXPECT_NEAR(law(laws, kWide).bandwidth / law(from, kWide).bandwidth, ratio, 1e-3);
    EXPECT_NEAR(law(laws, kNarrow).bandwidth / law(from, kNarrow).bandwidth, ratio, 1e-3);
    EXPECT_EQ(law(laws, kWide).step, law(from, kWide).step) << "the same chip";
  }
  EXPECT_EQ(scaled, 8);
}

TEST(ServingLaws, AFileWithoutItsCacheOf16BitsIsWrong) {
  Findings findings;
  const auto document = document_from_text(R"({"gpu": "g", "decode_attention": {}})", "laws.json", findings);
  (void)read_serving_laws(document->root(findings));
  EXPECT_THROW(findings.throw_if_wrong(), ConfigError);
}

struct WrongLawCase {
  const char* name;
  const char* engines;    // the value of the key
  const char* complaint;  // a part of it
};

std::string complaints_of_laws(const std::string& engines) {
  const std::string numbers = R"("launch_us": 9, "gb_per_s": 900, "step_us": 1, "sharpness": 1, )"
                              R"("provenance": "fitted", "source": "s")";
  std::string text = R"({"gpu": "g", "decode_attention": {"cache_16_bit": {NUMBERS}, "engines": )" + engines + "}}";
  for (auto at = text.find("NUMBERS"); at != std::string::npos; at = text.find("NUMBERS")) text.replace(at, 7, numbers);
  return complaints_of(text, [](const Node& root) { (void)read_serving_laws(root); });
}

TEST(ServingLaws, AnEnginesLawsNameTheirRanges) {
  EXPECT_EQ(complaints_of_laws(R"({"vllm": {"latent": [{"shared": [1, 1], "head_dims": [576, 576], NUMBERS}]}})"), "");
  const WrongLawCase cases[] = {
      {"no range", R"({"vllm": {"cache_16_bit": [{"shared": [1, 8], NUMBERS}]}})", "0/head_dims"},
      {"one bound", R"({"vllm": {"cache_16_bit": [{"shared": [8], "head_dims": [64, 128], NUMBERS}]}})",
       "shared: expected the lowest and the highest value, found 1"},
      {"the highest value first", R"({"vllm": {"cache_8_bit": [{"shared": [8, 1], "head_dims": [64, 64], NUMBERS}]}})",
       "cache_8_bit/0/shared: expected the lowest value first, found 8 and 1"},
      {"one law instead of a list", R"({"sglang": {"cache_16_bit": {NUMBERS}}})", "/engines/sglang/cache_16_bit"},
      {"ranges of the former format", R"({"trt-llm": {"fewest_shared": 2}})", "fewest_shared"},
      {"an engine that has no kernels", R"({"mine": {}})", "mine"}};
  for (const WrongLawCase& each : cases) {
    SCOPED_TRACE(each.name);
    EXPECT_NE(complaints_of_laws(each.engines).find(each.complaint), std::string::npos)
        << complaints_of_laws(each.engines);
  }
}

TEST(ServingLaws, WiderCachesNeverReadFaster) {
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    const cost::DecodeShape wide{.sequences = 64, .cached_tokens = 64 * 8192, .heads = 8, .kv_heads = 1};
    cost::DecodeShape narrow = wide;
    narrow.cache_bytes = 1;
    EXPECT_LT(decode_attention_time(narrow, law(laws, kNarrow)), decode_attention_time(wide, law(laws, kWide))) << name;
  }
}

TEST(ServingLaws, LayersOfExpertsAreWithinFifteenPercentOfHeldOutRows) {
  int fitted = 0;
  for (const std::string& name : list_names(kServingLaws)) {
    const cost::ServingLaws laws = shipped_laws(name);
    for (const auto& [engine, precisions] : laws.experts)
      for (const auto& [precision, both] : precisions)
        for (const auto& each : {both.one_rank, both.spread}) {
          if (!each) continue;
          SCOPED_TRACE(name + " " + engine + " " + std::string(name_of(precision)));
          EXPECT_LE(each->evidence.median_error, 0.15);
          fitted += each->evidence.provenance == cost::Provenance::kFitted;
        }
  }
  EXPECT_GE(fitted, 70);
}

/// Complaints about a file with this value of one more key.
std::string complaints_with(std::string_view key, std::string_view value) {
  return complaints_of(
      std::string(R"({"gpu": "g", "decode_attention": {"cache_16_bit": {"launch_us": 1, "gb_per_s": 1, "step_us": 1,
        "sharpness": 1, "provenance": "assumed", "source": "s"}}, ")") +
          std::string(key) + "\": " + std::string(value) + "}",
      [](const Node& root) { (void)read_serving_laws(root); });
}

TEST(ServingLaws, ProductsOfAnEngineAreWithinFifteenPercentOfHeldOutOnes) {
  int fitted = 0;
  for (const std::string& name : list_names(kServingLaws))
    for (const auto& [engine, laws] : shipped_laws(name).products)
      for (const auto& [precision, law] : laws) {
        SCOPED_TRACE(name + ", " + engine);
        if (law.evidence.provenance != cost::Provenance::kFitted) continue;
        ++fitted;
        EXPECT_LE(law.evidence.median_error, 0.15);
        EXPECT_GT(law.evidence.held_out, 1000);
      }
  EXPECT_EQ(fitted, 14) << "three precisions on four GPUs, and fp8 on two";
}

TEST(ServingLaws, WrongProductsAreNamed) {
  const auto complaints = [](std::string_view knots) {
    return complaints_with("products", R"({"sglang": {"fp8": {"provenance": "assumed", "source": "s", "knots": )" +
                                           std::string(knots) + "}}}");
  };
  EXPECT_EQ(complaints(R"([{"rows": 1, "launch_us": 0, "factor": 1}])"), "");
  EXPECT_EQ(complaints("[]"), "t.json: /products/sglang/fp8/knots: expected one knot or more, with rising rows\n");
  EXPECT_NE(complaints(R"([{"rows": 9, "launch_us": 0, "factor": 1}, {"rows": 9, "launch_us": 0, "factor": 1}])"), "");
  EXPECT_NE(complaints(R"([{"rows": 0, "launch_us": 0, "factor": 1}])"), "");
  EXPECT_NE(complaints(R"([{"rows": 1, "launch_us": 0, "factor": 0}])"), "");
  EXPECT_NE(complaints_with("products", R"({"sglang": {"int8": {}}})"), "");
}

TEST(ServingLaws, WrongLayersOfExpertsAreNamed) {
  const auto complaints = [](std::string_view experts) { return complaints_with("experts", experts); };
  EXPECT_EQ(complaints(R"({"vllm": {"bf16": {}}})"),
            "t.json: /experts/vllm/bf16/one_rank: expected one_rank or spread, found neither\n");
  EXPECT_NE(complaints(R"({"tgi": {}})"), "");
  EXPECT_NE(complaints(R"({"vllm": {"fp32": {}}})"), "");
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
