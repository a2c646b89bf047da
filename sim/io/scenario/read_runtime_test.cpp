// Tests reading runtimes: switches, fitted numbers with their notes, and wrong files.
#include "sim/io/scenario/read_runtime.h"

#include <gtest/gtest.h>

#include "sim/io/json/test_text.h"

namespace foretoken::io {
namespace {

constexpr const char* kEveryKey = R"({
    "name": "r", "description": "d", "source": "s", "default_attention": "unfused", "default_zero_stage": 3,
    "fully_sharded": true,
    "overlap": {"backward_collectives": false, "grad_reduce": true, "param_gather": true, "p2p": true},
    "scatter_gather": true, "fused_cross_entropy": true, "compiled_cross_entropy": true, "compiled_layers": true,
    "pytorch_attention": true,
    "keeps_16bit_gradients": true, "cublas_before_11_7": true,
    "transformer_engine": true, "pads_vocabulary": false, "experts_split_as_dense": true,
    "gradient_bytes": {"fp16": 4, "bf16": 2},
    "fitted": {"gradient_accumulation_bytes": {"value": 16, "note": "a"}, "tensor_comm_factor": {"value": 2.5, "note": "b"},
               "gemm_factor": {"value": 1.08, "note": "c"}, "memory_bound_factor": {"value": 1.4, "note": "i"},
               "tensor_comm_overhead_us": {"value": 290, "note": "j"}, "host_per_layer_forward_us": {"value": 900, "note": "d"},
               "host_per_layer_backward_us": {"value": 2240, "note": "e"},
               "host_growth_per_tensor_rank": {"value": 0.047, "note": "f"}, "p2p_overhead_us": {"value": 3, "note": "g"},
               "pass_overhead_us": {"value": 700, "note": "i"},
               "step_overhead_us": {"value": 1000, "note": "h"}, "optimizer_bytes": {"value": 92, "note": "k"},
               "data_comm_nics": {"value": 1.5, "note": "l"},
               "collective_per_rank_us": {"value": 14, "note": "j"}}})";

job::Runtime every_key() {
  job::Runtime runtime;
  EXPECT_EQ(complaints_of(kEveryKey, [&](const Node& root) { runtime = read_runtime(root); }), "");
  return runtime;
}

TEST(ReadRuntime, EveryHabit) {
  const job::Runtime runtime = every_key();
  EXPECT_EQ(runtime.default_attention.kind, model::AttentionKind::kUnfused);
  EXPECT_FALSE(runtime.overlap_backward_collectives);
  EXPECT_TRUE(runtime.overlap_grad_reduce && runtime.overlap_param_gather && runtime.overlap_p2p);
  EXPECT_TRUE(runtime.scatter_gather && runtime.fused_cross_entropy && runtime.compiled_cross_entropy &&
              runtime.keeps_16bit_gradients);
  EXPECT_TRUE(runtime.compiled_layers && runtime.pytorch_attention);
  EXPECT_TRUE(runtime.cublas_before_11_7);
  EXPECT_TRUE(runtime.transformer_engine && !runtime.fused_accumulation);
  EXPECT_FALSE(runtime.pads_vocabulary);
  EXPECT_TRUE(runtime.experts_split_as_dense);
  EXPECT_EQ(runtime.fp16_gradient_bytes, 4);
  EXPECT_EQ(runtime.bf16_gradient_bytes, 2);
  EXPECT_EQ(runtime.default_zero_stage, 3);
  EXPECT_TRUE(runtime.fully_sharded);
}

TEST(ReadRuntime, EveryFittedNumber) {
  const job::Runtime runtime = every_key();
  EXPECT_EQ(runtime.memory_bound_factor, 1.4);
  EXPECT_EQ(runtime.tensor_comm_overhead, microseconds(290));
  EXPECT_EQ(runtime.gradient_accumulation_bytes, 16);
  EXPECT_EQ(runtime.tensor_comm_factor, 2.5);
  EXPECT_EQ(runtime.gemm_factor, 1.08);
  EXPECT_EQ(runtime.host_per_layer_forward, microseconds(900));
  EXPECT_EQ(runtime.host_per_layer_backward, microseconds(2240));
  EXPECT_EQ(runtime.host_growth_per_tensor_rank, 0.047);
  EXPECT_EQ(runtime.p2p_overhead, microseconds(3));
  EXPECT_EQ(runtime.pass_overhead, microseconds(700));
  EXPECT_EQ(runtime.step_overhead, microseconds(1000));
  EXPECT_EQ(runtime.optimizer_bytes, 92);
  EXPECT_EQ(runtime.data_comm_nics, 1.5);
  EXPECT_EQ(runtime.collective_per_rank, microseconds(14));
  ASSERT_EQ(runtime.notes.size(), 14u);
  EXPECT_EQ(runtime.notes[3], "gemm_factor = 1.08: c");
}

TEST(ReadRuntime, AnEagerAdamServesSomePrecisions) {
  job::Runtime runtime;
  EXPECT_EQ(complaints_of(R"({"name": "r", "unfused_adam": {"precisions": ["fp32", "tf32"], "bytes": 140,
                              "kernels_per_tensor": 14, "host_us_per_kernel": 13.6, "note": "a"}})",
                          [&](const Node& root) { runtime = read_runtime(root); }),
            "");
  ASSERT_TRUE(runtime.unfused_adam);
  EXPECT_EQ(runtime.unfused_adam->precisions, (std::vector{Precision::kFp32, Precision::kTf32}));
  EXPECT_EQ(runtime.unfused_adam->bytes, 140);
  EXPECT_EQ(runtime.unfused_adam->kernels_per_tensor, 14);
  EXPECT_EQ(runtime.unfused_adam->host_per_kernel, microseconds(13.6));
  EXPECT_EQ(runtime.notes, std::vector<std::string>{"unfused_adam: a"});
}

TEST(ReadRuntime, AnEagerAdamWithoutPrecisionsIsRefused) {
  EXPECT_EQ(complaints_of(R"({"name": "r", "unfused_adam": {"precisions": [], "bytes": 140, "kernels_per_tensor": 0,
                              "host_us_per_kernel": 13.6, "note": "a"}})",
                          [](const Node& root) { (void)read_runtime(root); }),
            "t.json: /unfused_adam/precisions: expected at least one, such as \"fp32\"\n"
            "t.json: /unfused_adam/kernels_per_tensor: expected a number from 1 to 1000, found 0\n");
}

TEST(ReadRuntime, AbsentKeysKeepTheDefaultsOfTheStruct) {
  job::Runtime runtime;
  EXPECT_EQ(complaints_of(R"({"name": "r"})", [&](const Node& root) { runtime = read_runtime(root); }), "");
  EXPECT_EQ(runtime.gradient_accumulation_bytes, job::Runtime{}.gradient_accumulation_bytes);
  EXPECT_EQ(runtime.overlap_backward_collectives, job::Runtime{}.overlap_backward_collectives);
  EXPECT_TRUE(runtime.notes.empty());
}

TEST(ReadRuntime, AFusedGemmLeavesNoTrafficToFit) {
  EXPECT_EQ(complaints_of(R"({"name": "r", "fused_accumulation": true,
                             "fitted": {"gradient_accumulation_bytes": {"value": 8, "note": "a"}}})",
                          [](const Node& root) { (void)read_runtime(root); }),
            "t.json: /fitted: expected no gradient_accumulation_bytes beside fused_accumulation: no kernel adds\n");
}

TEST(ReadRuntime, ANumberWithoutItsNoteIsRefused) {
  EXPECT_EQ(
      complaints_of(R"({"name": "r", "fitted": {"gemm_factor": {"value": 1.1}, "host_overhead": 3}})",
                    [](const Node& root) { (void)read_runtime(root); }),
      "t.json: /fitted/host_overhead: unknown key; known here: pass_overhead_us, p2p_overhead_us, step_overhead_us "
      "and 16 more\n"
      "t.json: /fitted/gemm_factor/note: missing; expected a string\n");
}

}  // namespace
}  // namespace foretoken::io
