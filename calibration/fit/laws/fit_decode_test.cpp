// Fits laws of decode attention to times that a known law made.
#include "calibration/fit/laws/fit_decode.h"

#include <gtest/gtest.h>

namespace foretoken::fit {
namespace {

const cost::DecodeLaw kKnownDecode{
    .launch = microseconds(12), .bandwidth = BytesPerSecond(2.5e12), .step = microseconds(0.6), .sharpness = 1.5};

/// Rows of many batches and lengths, every one with the time of the known law times `factor`.
measured::Samples decode_table(double factor, double cache_bytes, std::int64_t shortest) {
  measured::Samples samples;
  samples.origins.emplace_back();
  for (std::int64_t sequences = 1; sequences <= 256; sequences *= 2)
    for (std::int64_t length = shortest; length <= 64 * shortest; length *= 2)
      for (const std::int64_t kv_heads : {1, 2, 4, 8}) {
        measured::DecodeSample sample;
        sample.shape = {.sequences = sequences,
                        .cached_tokens = real(sequences * length),
                        .heads = 8 * kv_heads,
                        .kv_heads = kv_heads,
                        .cache_bytes = cache_bytes};
        sample.cache = cache_bytes < 2 ? Precision::kFp8 : Precision::kBf16;
        sample.time.median = factor * cost::decode_attention_time(sample.shape, kKnownDecode);
        samples.add(sample);
      }
  return samples;
}

TEST(FitDecode, TheKnownLawIsFound) {
  const auto law = fit_decode(decode_table(1, 2, 1024), {.kind = cost::CacheKind::kWide}, BytesPerSecond(3.35e12));
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->launch / kKnownDecode.launch, 1, 0.02);
  EXPECT_NEAR(law->bandwidth / kKnownDecode.bandwidth, 1, 0.02);
  EXPECT_NEAR(law->step / kKnownDecode.step, 1, 0.05);
  EXPECT_NEAR(law->sharpness, kKnownDecode.sharpness, 0.05);
  EXPECT_LT(law->evidence.p90_error, 0.01);
  EXPECT_GT(law->evidence.held_out, 30) << "one shape in five";
  EXPECT_EQ(law->evidence.samples + law->evidence.held_out, 9 * 7 * 4);
}

TEST(FitDecode, AFewWildRowsDoNotMoveIt) {
  measured::Samples samples = decode_table(1, 2, 1024);
  for (std::size_t i = 0; i < samples.decodes.size(); i += 10)
    samples.decodes[i].time.median = 4.0 * samples.decodes[i].time.median;
  const auto law = fit_decode(samples, {.kind = cost::CacheKind::kWide}, BytesPerSecond(3.35e12));
  ASSERT_TRUE(law);
  EXPECT_NEAR(law->bandwidth / kKnownDecode.bandwidth, 1, 0.05);
}

TEST(FitDecode, RowsOfAnotherEngineDoNotCount) {
  const BytesPerSecond bandwidth(3.35e12);
  measured::Samples table = decode_table(1, 2, 1024);
  for (auto& sample : table.decodes) sample.engine = "vllm";
  EXPECT_TRUE(fit_decode(table, {.engine = "vllm"}, bandwidth));
  EXPECT_FALSE(fit_decode(table, {.engine = "sglang"}, bandwidth));
}

TEST(FitDecode, RowsOfAnotherKindOrOfShortCachesDoNotCount) {
  const BytesPerSecond bandwidth(3.35e12);
  EXPECT_FALSE(fit_decode(decode_table(1, 1, 1024), {.kind = cost::CacheKind::kWide}, bandwidth))
      << "a cache of 8 bits";
  EXPECT_FALSE(fit_decode(decode_table(1, 2, 1024), {.kind = cost::CacheKind::kLatent}, bandwidth));
  EXPECT_FALSE(fit_decode(decode_table(1, 2, 8), {.kind = cost::CacheKind::kWide}, bandwidth))
      << "too few of 1,024 tokens";
}

}  // namespace
}  // namespace foretoken::fit
