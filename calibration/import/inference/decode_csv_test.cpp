// Tests tables of decode attention and of all-reduces: each column by hand, and wrong rows with their lines.
#include "calibration/import/inference/decode_csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/error.h"

namespace foretoken::measured {
namespace {

constexpr const char* kDecodeHeader =
    "attn_dtype,kv_dtype,batch,kv_len,heads,kv_heads,head_dim,window,time_us,kernel\n";

TEST(DecodeCsv, ReadsCachesAsFarAsTheWindowReaches) {
  const Samples samples = parse_decode_csv(std::string(kDecodeHeader) +
                                               "bfloat16,bfloat16,4,2048,32,8,128,0,20.5,fa3\n"
                                               "bfloat16,fp8,4,2048,32,8,64,128,10,fa3\n"
                                               "bfloat16,fp8,4,64,32,8,64,128,10,fa3\n"
                                               "bfloat16,bfloat16,4,2048,32,8,128,0,20.5,triton\n",
                                           "t.csv");
  ASSERT_EQ(samples.decodes.size(), 3U) << "rows of Triton are left out";
  const DecodeSample& all = samples.decodes[0];
  EXPECT_EQ(all.shape.sequences, 4);
  EXPECT_DOUBLE_EQ(all.shape.cached_tokens, 4 * 2048);
  EXPECT_EQ(all.shape.kv_heads, 8);
  EXPECT_EQ(all.shape.key_dim + all.shape.value_dim, 256);
  EXPECT_DOUBLE_EQ(all.shape.cache_bytes, 2);
  EXPECT_FALSE(all.windowed);
  EXPECT_DOUBLE_EQ(all.time.median.value(), 20.5e-6);
  EXPECT_DOUBLE_EQ(samples.decodes[1].shape.cached_tokens, 4 * 128);
  EXPECT_DOUBLE_EQ(samples.decodes[1].shape.cache_bytes, 1);
  EXPECT_TRUE(samples.decodes[1].windowed);
  EXPECT_FALSE(samples.decodes[2].windowed) << "the window is wider than the cache";
}

TEST(DecodeCsv, ReadsLatentVectorsOnceForAllHeads) {
  const Samples samples = parse_decode_csv(
      "mla_dtype,kv_dtype,heads,tp,batch,seq,kv_len,time_us,kernel\nbfloat16,bfloat16,16,8,2,1,1024,15,default\n",
      "t.csv");
  ASSERT_EQ(samples.decodes.size(), 1U);
  const DecodeSample& s = samples.decodes[0];
  EXPECT_TRUE(s.latent);
  EXPECT_EQ(s.shape.kv_heads, 1);
  EXPECT_EQ(s.shape.key_dim + s.shape.value_dim, 576);
  EXPECT_EQ(s.shape.heads, 16);
}

TEST(DecodeCsv, LeavesAllReducesThatTheHostTimesOut) {
  const Samples samples = parse_decode_csv(
      "implementation,dtype,ranks,elements,bytes,time_us\ntrtllm,bfloat16,8,128,256,3\n"
      "sglang_eager,bfloat16,8,128,256,42\n",
      "t.csv");
  ASSERT_EQ(samples.small_all_reduces.size(), 1U);
  EXPECT_EQ(samples.small_all_reduces[0].ranks, 8);
  EXPECT_DOUBLE_EQ(samples.small_all_reduces[0].bytes.value(), 256);
}

TEST(DecodeCsv, NamesTheLineOfAnUnknownCache) {
  try {
    (void)parse_decode_csv(std::string(kDecodeHeader) + "bfloat16,int4,1,1024,32,8,128,0,20.5,fa3\n", "t.csv");
    FAIL() << "expected a complaint";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("kv_dtype: expected bfloat16, float16 or fp8, found \"int4\""));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("t.csv:2"));
  }
}

}  // namespace
}  // namespace foretoken::measured
