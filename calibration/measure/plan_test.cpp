// Tests that plans are complete and without repeats, and that every beginning is a fair sample.
#include "calibration/measure/plan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "calibration/import/kernel_work.h"
#include "calibration/import/sample_json.h"
#include "calibration/measure/datasheet.h"
#include "calibration/measure/spread.h"
#include "sim/model/layer_ops.h"

namespace foretoken::measure {
namespace {

using measured::Sample;

template <class T>
void expect_no_repeats(const std::vector<T>& plan) {
  std::set<std::string> keys;
  for (const T& sample : plan) EXPECT_TRUE(keys.insert(measured::key_of(Sample(sample))).second);
}

TEST(GemmPlan, HoldsEveryProductThatALayerRuns) {
  const std::vector<model::Transformer> models = known_models();
  ASSERT_GT(models.size(), 20U);
  std::vector<model::Transformer> one;
  for (const auto& model : models)
    if (model.name == "llama-3-8b") one.push_back(model);
  ASSERT_EQ(one.size(), 1U);
  std::set<std::string> planned;
  for (const auto& sample : gemm_plan(one, {})) planned.insert(measured::key_of(Sample(sample)));
  model::LayerContext context;
  context.sequence = 4096;
  context.tensor = 8;
  int products = 0;
  for (const auto& ops :
       {layer_forward(one[0], context), layer_backward(one[0], context), head_forward(one[0], context)})
    for (const model::LayerOp& op : ops)
      if (const auto* shape = std::get_if<GemmShape>(&op.work)) {
        measured::GemmSample sample{.shape = *shape, .time = {}};
        sample.adds_to_fp32 = shape->pass == GemmPass::kWeightGradient;
        EXPECT_TRUE(planned.contains(measured::key_of(Sample(sample)))) << op.name;
        ++products;
      }
  EXPECT_EQ(products, 4 + 8 + 1);
}

TEST(GemmPlan, CoversKindsInEveryBeginningAndStaysSmall) {
  const auto plan = gemm_plan(known_models(), {});
  expect_no_repeats(plan);
  std::size_t bytes = 0;
  for (auto sample : plan) {
    sample.time = {microseconds(1234.56), microseconds(1234.56), microseconds(1299.99), 123};
    bytes += measured::line_of(Sample(sample)).size() + 1;
  }
  EXPECT_LT(bytes, 2'000'000U);
  EXPECT_GT(plan.size(), 8000U);
  const std::size_t tenth = plan.size() / 10;
  std::map<std::string, double> whole, beginning;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto& shape = plan[i].shape;
    const std::string kind =
        std::string(name_of(shape.precision)) + std::to_string(int(shape.pass)) + (shape.batch > 1 ? "b" : "");
    whole[kind] += 0.1;
    if (i < tenth) beginning[kind] += 1;
  }
  EXPECT_GE(whole.size(), 3U + 3U + 3U + 2U);
  for (const auto& [kind, expected] : whole)
    EXPECT_NEAR(beginning[kind], expected, 5 * std::sqrt(expected) + 1) << kind;
}

TEST(GemmPlan, QuickIsATwentiethAndFp8IsLeftOutWhereTheGpuHasNone) {
  const auto models = known_models();
  const auto plan = gemm_plan(models, {}), quick = gemm_plan(models, {.quick = true});
  EXPECT_LT(quick.size(), plan.size() / 15);
  for (const auto& sample : gemm_plan(models, {.fp8 = false})) EXPECT_NE(sample.shape.precision, Precision::kFp8);
  for (const auto& sample : plan)
    if (sample.shape.precision == Precision::kFp8) {
      EXPECT_EQ(sample.shape.m % 16, 0);
      EXPECT_EQ(sample.shape.batch, 1);
    }
}

TEST(KernelPlan, EveryKernelOverAllSizesColdAndWarmWhereTheCacheHoldsIt) {
  const Bytes cache(50.0 * (1 << 20));
  const auto plan = kernel_plan(cache, {});
  expect_no_repeats(plan);
  for (const std::string_view kernel : kernel_names()) {
    double smallest = 1e300, largest = 0, largest_warm = 0;
    for (const auto& sample : plan) {
      if (sample.kernel != kernel) continue;
      EXPECT_EQ(sample.bytes, measured::kernel_bytes(kernel, sample.rows, sample.columns));
      smallest = std::min(smallest, sample.bytes.value());
      largest = std::max(largest, sample.bytes.value());
      if (!sample.cold) largest_warm = std::max(largest_warm, sample.bytes.value());
      if (kernel == "masked_softmax") {
        EXPECT_EQ(sample.rows % sample.columns, 0);
      }
    }
    EXPECT_LT(smallest, kernel == "masked_softmax" ? 4e6 : 600e3) << kernel;
    EXPECT_GT(largest, 0.9e9) << kernel;
    EXPECT_LE(largest_warm, cache.value()) << kernel;
    EXPECT_GT(largest_warm, 10e6) << kernel;
  }
}

TEST(AttentionPlan, BothHalvesBothMasksAllLengths) {
  const auto plan = attention_plan({});
  expect_no_repeats(plan);
  std::set<std::tuple<std::int64_t, std::int64_t, bool, bool>> shapes;
  for (const auto& sample : plan) {
    const AttentionShape& s = sample.shape;
    EXPECT_EQ(s.heads % s.kv_heads, 0);
    shapes.insert({s.head_dim, s.q_length, s.causal, s.backward});
  }
  EXPECT_EQ(shapes.size(), 2U * 7U * 2U * 2U);
}

TEST(LayerPlan, EveryLayerExistsForwardAndBackward) {
  const auto plan = layer_plan({});
  expect_no_repeats(plan);
  EXPECT_EQ(plan.size(), 9U * 3U * 3U * 2U);
  EXPECT_LT(layer_plan({.quick = true}).size(), plan.size() / 3);
  for (const auto& sample : plan) EXPECT_EQ(why_impossible(sample), "") << measured::key_of(sample);
}

TEST(CollectivePlan, SizesUpToTheMemory) {
  const GroupShape group{.ranks = 8, .nodes = 1, .ranks_per_node = 8};
  const auto plan = collective_plan(group, Bytes(1 << 30), {});
  expect_no_repeats(plan);
  EXPECT_EQ(plan.size(), 21U * 7U);  // 1 kB to 1 GB; six kinds, and all-reduce in place
  for (const auto& sample : plan) EXPECT_LE(sample.bytes.value(), 1 << 30);
  EXPECT_EQ(group_sizes(1), std::vector<int>{});
  EXPECT_EQ(group_sizes(2), std::vector<int>{2});
  EXPECT_EQ(group_sizes(6), (std::vector<int>{2, 4, 6}));
  EXPECT_EQ(group_sizes(8), (std::vector<int>{2, 4, 8}));
}

TEST(Spread, IsTheSameEverywhere) {
  EXPECT_EQ(mixed(""), 0xf52a15e9a9b5e89bULL);
  EXPECT_NE(mixed("a"), mixed("b"));
}

TEST(Datasheet, IsFoundByTheDriversName) {
  const auto known = known_gpus();
  struct Case {
    const char* driver;
    double mib;
    const char* file;
  };
  constexpr Case kCases[] = {{"NVIDIA H200", 143771, "h200-sxm5-141gb"},
                             {"NVIDIA H100 80GB HBM3", 81559, "h100-sxm5-80gb"},
                             {"NVIDIA A100-SXM4-80GB", 81920, "a100-sxm4-80gb"},
                             {"NVIDIA A100-SXM4-40GB", 40960, "a100-sxm4-40gb"},
                             {"NVIDIA A100 80GB PCIe", 81920, "a100-pcie-80gb"},
                             {"Tesla V100-SXM2-32GB", 32510, "v100-sxm2-32gb"},
                             {"Tesla V100-SXM2-16GB", 16160, "v100-sxm2-16gb"},
                             {"Tesla V100-SXM3-32GB", 32510, "v100-sxm3-32gb"},
                             {"NVIDIA B200", 183359, "b200-sxm-180gb"},
                             {"NVIDIA GB200", 189471, "gb200-186gb"},
                             {"NVIDIA H100 PCIe", 81559, "h100-pcie-80gb"},
                             {"NVIDIA H100 NVL", 95830, "h100-nvl-94gb"},
                             {"NVIDIA H800", 81559, "h800-sxm5-80gb"},
                             {"NVIDIA H20", 97871, "h20-96gb"},
                             {"NVIDIA L40S", 46068, "l40s-48gb"},
                             {"NVIDIA L40", 46068, "l40-48gb"},
                             {"NVIDIA A40", 46068, "a40-48gb"},
                             {"NVIDIA GeForce RTX 4090", 24564, ""}};
  for (const auto& [driver, mib, file] : kCases) {
    const auto found = datasheet_of(driver, Bytes(mib * (1 << 20)), known);
    EXPECT_EQ(found ? found->name : "", file) << driver;
  }
}

}  // namespace
}  // namespace foretoken::measure
