// Splits made-up tables whose kernels change with the heads, and compares with the laws that made them.
#include "calibration/fit/laws/split_decode.h"

#include <gtest/gtest.h>

namespace foretoken::fit {
namespace {

constexpr BytesPerSecond kMemory(3.35e12);

cost::DecodeLaw made_law(double launch_us, double bytes_per_s) {
  return {.launch = microseconds(launch_us),
          .bandwidth = BytesPerSecond(bytes_per_s),
          .step = microseconds(0.5),
          .sharpness = 1.5};
}

/// Rows of many batches and lengths. `law(shared, head_dim)` made their times.
template <typename Law>
DecodeRows made_rows(const std::vector<std::int64_t>& groups, const std::vector<std::int64_t>& head_dims,
                     const Law& law) {
  DecodeRows rows;
  for (const std::int64_t dim : head_dims)
    for (const std::int64_t shared : groups)
      for (std::int64_t sequences = 1; sequences <= 256; sequences *= 2)
        for (std::int64_t length = 1024; length <= 65536; length *= 4)
          for (const std::int64_t kv_heads : {1, 4}) {
            DecodeRow row{.shared = shared, .held_out = rows.size() % 5 == 0};
            row.shape = {.sequences = sequences,
                         .cached_tokens = real(sequences * length),
                         .heads = shared * kv_heads,
                         .kv_heads = kv_heads,
                         .key_dim = dim,
                         .value_dim = dim};
            row.time = cost::decode_attention_time(row.shape, law(shared, dim)).value();
            rows.push_back(row);
          }
  return rows;
}

TEST(SplitDecode, OneKernelHasOneLaw) {
  const auto laws =
      split_decode(made_rows({1, 4, 8}, {64, 128}, [](auto, auto) { return made_law(10, 2.5e12); }), kMemory);
  ASSERT_EQ(laws.size(), 1U);
  EXPECT_EQ(laws[0].shared, (cost::FittedRange{1, 8}));
  EXPECT_EQ(laws[0].head_dims, (cost::FittedRange{64, 128}));
  EXPECT_EQ(laws[0].law.fill, Seconds(0)) << "a fill would not earn its two numbers";
  EXPECT_NEAR(laws[0].law.bandwidth.value() / 2.5e12, 1, 0.02);
  EXPECT_LT(laws[0].law.evidence.median_error, 0.01);
}

TEST(SplitDecode, AKernelOfOneHeadAndAWideOneHaveLawsOfTheirOwn) {
  const auto made = [](std::int64_t shared, std::int64_t dim) {
    return shared == 1 ? made_law(16, 1.2e12) : dim == 256 ? made_law(8, 0.7e12) : made_law(8, 2.8e12);
  };
  cost::ServingLaws laws;
  auto& own = laws.engine_decode["trt-llm"][cost::CacheKind::kWide];
  own = split_decode(made_rows({1, 2, 8}, {64, 128, 256}, made), kMemory);
  EXPECT_GE(own.size(), 3U);
  EXPECT_LE(own.size(), 4U) << "one query head may be cut after the dimension";
  for (const std::int64_t shared : {1, 2, 8})
    for (const std::int64_t dim : {64, 128, 256}) {
      SCOPED_TRACE(std::to_string(shared) + " query heads of " + std::to_string(dim));
      const auto* const law = cost::decode_law(laws, {.engine = "trt-llm", .shared = shared, .head_dim = dim});
      ASSERT_NE(law, nullptr);
      EXPECT_NEAR(law->bandwidth / made(shared, dim).bandwidth, 1, 0.05);
    }
}

TEST(SplitDecode, LargeGroupsMayReadForEachHead) {
  const auto made = [](std::int64_t shared, std::int64_t) {
    cost::DecodeLaw law = made_law(10, shared > 32 ? 6e12 : 2.5e12);
    law.each_head = shared > 32;
    return law;
  };
  const auto laws = split_decode(made_rows({4, 8, 48, 96}, {128}, made), kMemory);
  ASSERT_EQ(laws.size(), 2U);
  EXPECT_FALSE(laws[0].law.each_head);
  EXPECT_EQ(laws[1].shared, (cost::FittedRange{48, 96}));
  EXPECT_TRUE(laws[1].law.each_head);
  EXPECT_NEAR(laws[1].law.bandwidth.value() / 6e12, 1, 0.05);
}

}  // namespace
}  // namespace foretoken::fit
