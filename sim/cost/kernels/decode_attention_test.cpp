// Tests decode attention and small all-reduces against what their formulas say.
#include "sim/cost/kernels/decode_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string_view>

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

TEST(DecodeAttention, TheFirstBytesTakeTheirFill) {
  const DecodeShape shape{.sequences = 4, .cached_tokens = 4 * 1024, .heads = 32, .kv_heads = 8};
  DecodeLaw law = simple_law();
  const Seconds plain = decode_attention_time(shape, law);
  const Bytes bytes(4.0 * 1024 * 8 * 256 * 2 + 2 * 4.0 * 32 * 256);
  law.fill = microseconds(20);
  law.fill_bytes = bytes;
  EXPECT_DOUBLE_EQ(decode_attention_time(shape, law).value(), (plain + microseconds(10)).value()) << "half of it";
  law.fill_bytes = 1e-9 * bytes;
  EXPECT_NEAR(decode_attention_time(shape, law) / (plain + microseconds(20)), 1, 1e-6);
}

TEST(DecodeAttention, HeadsThatReadByThemselvesReadTheCacheOncePerQueryHead) {
  const DecodeShape shape{.sequences = 4, .cached_tokens = 4 * 1024, .heads = 64, .kv_heads = 1};
  DecodeShape unshared = shape;
  unshared.kv_heads = 64;
  DecodeLaw law = simple_law();
  const Seconds of_each = decode_attention_time(unshared, law);
  law.each_head = true;
  EXPECT_EQ(decode_attention_time(shape, law), of_each);
}

EngineDecodeLaw law_of(FittedRange shared, FittedRange head_dims, double launch_us) {
  return {.shared = shared, .head_dims = head_dims, .law = {.launch = microseconds(launch_us)}};
}

struct ChoiceCase {
  const char* name;
  DecodeKernels kernels;
  double launch_us;  // of the law that must be chosen
};

TEST(DecodeAttention, TheLawIsTheFirstThatHoldsTheHeadsOrElseTheNearest) {
  ServingLaws laws;
  laws.decode[CacheKind::kWide] = {.launch = microseconds(1)};
  laws.decode[CacheKind::kNarrow] = {.launch = microseconds(2)};
  laws.engine_decode["trt-llm"][CacheKind::kWide] = {law_of({1, 1}, {64, 256}, 10), law_of({2, 8}, {64, 128}, 11),
                                                     law_of({2, 16}, {64, 256}, 12)};
  const auto wide = CacheKind::kWide, narrow = CacheKind::kNarrow;
  const ChoiceCase cases[] = {
      {"one query head", {.engine = "trt-llm", .kind = wide, .shared = 1, .head_dim = 128}, 10},
      {"two laws hold it: the first", {.engine = "trt-llm", .kind = wide, .shared = 8, .head_dim = 128}, 11},
      {"another head dimension", {.engine = "trt-llm", .kind = wide, .shared = 8, .head_dim = 256}, 12},
      {"a dimension inside a range", {.engine = "trt-llm", .kind = wide, .shared = 4, .head_dim = 96}, 11},
      {"more query heads than any: the nearest", {.engine = "trt-llm", .kind = wide, .shared = 64, .head_dim = 64}, 12},
      {"wider heads than any: the nearest", {.engine = "trt-llm", .kind = wide, .shared = 1, .head_dim = 512}, 10},
      {"no own law of 8 bits: the GPU's", {.engine = "trt-llm", .kind = narrow, .shared = 1, .head_dim = 128}, 2},
      {"an engine without laws: the GPU's", {.engine = "sglang", .kind = wide, .shared = 1, .head_dim = 128}, 1},
      {"no engine: the GPU's", {.engine = "", .kind = wide, .shared = 1, .head_dim = 128}, 1}};
  for (const ChoiceCase& each : cases) {
    SCOPED_TRACE(each.name);
    const DecodeLaw* const law = decode_law(laws, each.kernels);
    ASSERT_NE(law, nullptr);
    EXPECT_EQ(law->launch, microseconds(each.launch_us));
    const bool nearest = std::string_view(each.name).ends_with("nearest");
    EXPECT_EQ(is_beyond_engine_laws(laws, each.kernels), nearest);
  }
  laws.decode.erase(CacheKind::kNarrow);
  const DecodeLaw* const wider = decode_law(laws, {.engine = "trt-llm", .kind = narrow, .shared = 1, .head_dim = 128});
  ASSERT_NE(wider, nullptr);
  EXPECT_EQ(wider->launch, microseconds(10)) << "without laws of 8 bits the engine's own of 16";
  EXPECT_EQ(decode_law(laws, {.engine = "trt-llm", .kind = CacheKind::kLatent}), nullptr);
}

}  // namespace
}  // namespace foretoken::cost
