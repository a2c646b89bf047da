// Tests decode attention and small all-reduces against what their formulas say.
#include "sim/cost/kernels/decode_attention.h"

#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::cost {
namespace {

DecodeLaw simple_law() {
  return {.launch = microseconds(10), .bandwidth = gigabytes_per_second(2000), .step = microseconds(1), .sharpness = 1};
}

TEST(DecodeAttention, ReadsEveryKeyAndValueOnce) {
  const DecodeShape shape{.sequences = 4, .cached_tokens = 4 * 1024, .heads = 32, .kv_heads = 8};
  const double keys_and_values = 4.0 * 1024 * 8 * 256 * 2, queries_and_outputs = 4.0 * 32 * 256 * 2;
  const double expected = 10e-6 + (keys_and_values + queries_and_outputs) / 2e12 + 1e-6 * std::log2(1 + 1024 / 256.0);
  EXPECT_DOUBLE_EQ(decode_attention_time(shape, simple_law()).value(), expected);
}

TEST(DecodeAttention, MoreCacheMoreSequencesAndWiderElementsTakeLonger) {
  const DecodeShape base{.sequences = 8, .cached_tokens = 8 * 2048, .heads = 8, .kv_heads = 1};
  const Seconds time = decode_attention_time(base, simple_law());
  DecodeShape longer = base, wider = base, more = base;
  longer.cached_tokens *= 2;
  wider.cache_bytes = 4;
  more.sequences *= 2;
  more.cached_tokens *= 2;
  for (const DecodeShape& other : {longer, wider, more}) EXPECT_GT(decode_attention_time(other, simple_law()), time);
}

}  // namespace
}  // namespace foretoken::cost
