// Tests tables of attention and of quantisation: each column by hand, and wrong rows with their lines.
#include "calibration/import/kernel_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace foretoken::measured {
namespace {

constexpr const char* kCached = "attn_dtype,kv_dtype,batch,seq,heads,kv_heads,head_dim,window,time_us,kernel\n";

TEST(KernelCsv, CausalAttentionWritesItsCache) {
  const Samples samples = parse_kernel_csv(std::string(kCached) +
                                               "bfloat16,bfloat16,2,4096,16,4,128,0,900,fa3\n"
                                               "fp8,fp8,2,4096,16,4,128,1024,500,fa3\n"
                                               "bfloat16,fp8,2,4096,16,4,128,0,800,fa3\n"
                                               "bfloat16,bfloat16,2,4096,16,4,128,8192,900,triton\n"
                                               "bfloat16,bfloat16,2,4096,16,4,128,8192,900,fa3\n",
                                           "a.csv");
  ASSERT_EQ(samples.attention.size(), 3U) << "neither the mixed widths nor Triton";
  const AttentionSample& first = samples.attention[0];
  EXPECT_TRUE(first.shape.causal);
  EXPECT_EQ(first.shape.kv_heads, 4);
  EXPECT_EQ(first.shape.window, 0);
  EXPECT_DOUBLE_EQ(first.beside.value(), 8.0 * 2 * 4096 * 4 * 128);
  EXPECT_DOUBLE_EQ(first.time.median.value(), 900e-6);
  EXPECT_EQ(samples.attention[1].shape.precision, Precision::kFp8);
  EXPECT_EQ(samples.attention[1].shape.window, 1024);
  EXPECT_DOUBLE_EQ(samples.attention[1].beside.value(), 6.0 * 2 * 4096 * 4 * 128);
  EXPECT_EQ(samples.attention[2].shape.window, 0) << "as wide as the sequence";
}

TEST(KernelCsv, AttentionWithoutKeysOfItsOwnSeesEverything) {
  const Samples samples =
      parse_kernel_csv("attn_dtype,batch,seq,heads,head_dim,time_us\nbfloat16,1,2048,16,80,70\n", "e.csv");
  ASSERT_EQ(samples.attention.size(), 1U);
  EXPECT_FALSE(samples.attention[0].shape.causal);
  EXPECT_EQ(samples.attention[0].shape.kv_heads, 16);
  EXPECT_EQ(samples.attention[0].beside, Bytes(0));
}

TEST(KernelCsv, QuantisationIsACastAndAScan) {
  const Samples samples = parse_kernel_csv("m,k,amax_us,cast_us\n1024,4096,9,3\n8,32,0,2\n", "q.csv");
  ASSERT_EQ(samples.kernels.size(), 3U) << "a fused scan is none";
  EXPECT_EQ(samples.kernels[0].kernel, "cast");
  EXPECT_DOUBLE_EQ(samples.kernels[0].bytes.value(), 3.0 * 1024 * 4096);
  EXPECT_EQ(samples.kernels[1].kernel, "scan");
  EXPECT_DOUBLE_EQ(samples.kernels[1].bytes.value(), 2.0 * 1024 * 4096);
  EXPECT_DOUBLE_EQ(samples.kernels[1].time.median.value(), 9e-6);
}

TEST(KernelCsv, DiffersFromProductsByItsHeader) {
  EXPECT_TRUE(is_kernel_csv("m,k,amax_us,cast_us"));
  EXPECT_TRUE(is_kernel_csv("attn_dtype,batch,seq,heads,head_dim,time_us,kernel"));
  EXPECT_FALSE(is_kernel_csv("dtype,m,n,k,time_us,quant_us,kernel"));
}

TEST(KernelCsv, WrongRowsAreNamed) {
  try {
    (void)parse_kernel_csv("m,k,amax_us,cast_us\n1024,4096,9,3\n0,32,1,2\n8,32\n8,32,1,-2\n", "q.csv");
    FAIL() << "expected complaints";
  } catch (const ConfigError& error) {
    std::vector<std::string> lines;
    for (const Complaint& complaint : error.complaints()) lines.push_back(complaint.line());
    EXPECT_THAT(lines, testing::ElementsAre(testing::StartsWith("q.csv:3: m: expected"),
                                            testing::StartsWith("q.csv:4: cast_us: missing"),
                                            testing::StartsWith("q.csv:5: cast_us: expected a number above 0")));
  }
}

TEST(KernelCsv, ALongCellIsCutInItsComplaint) {
  try {
    (void)parse_kernel_csv("m,k,amax_us,cast_us\n8,32," + std::string(3000, 'a') + ",2\n", "q.csv");
    FAIL() << "expected a complaint";
  } catch (const ConfigError& error) {
    EXPECT_LT(error.complaints().front().line().size(), 150U);
  }
}

}  // namespace
}  // namespace foretoken::measured
