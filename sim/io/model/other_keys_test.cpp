// Tests which unknown keys change no shape.
#include "sim/io/model/other_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"

namespace foretoken::io {
namespace {

using testing::HasSubstr;

struct OtherKey {
  const char *key, *value;
};

constexpr OtherKey kHarmless[] = {{"context_window_size", "2048"},
                                  {"prefill_chunk_size", "2048"},
                                  {"tensor_parallel_shards", "2"},
                                  {"max_batch_size", "80"},
                                  {"quantization", R"({"group_size": 64, "bits": 4})"},
                                  {"transformers.js_config", R"({"kv_cache_dtype": {"fp16": "float16"}})"},
                                  {"n_special", "0"},
                                  {"predict_special_tokens", "true"},
                                  {"license", R"("apache-2.0")"},
                                  {"datasets", R"(["a", "b"])"},
                                  {"temperature_scale", "0.7"},
                                  {"num_foo_layers", "0"},
                                  {"use_fancy_norm", "false"},
                                  {"conv_kernels", "[]"},
                                  {"expert_kinds", "null"}};

constexpr OtherKey kMayBeShape[] = {{"wormholes", "3"},
                                    {"counts", "[1, 2]"},
                                    {"mlp_type", R"("gated")"},
                                    {"use_conv", "true"},
                                    {"layernorm_kind", R"("rms")"},
                                    {"tie_lm", "true"},
                                    {"ffn_ratio", "2.5"},
                                    {"mixer_pattern", R"(["a", "b"])"},
                                    {"audio_config", R"({"model_type": "ear"})"},
                                    {"tower", R"({"hidden_size": 8})"},
                                    {"num_foo_layers", "2"}};

TEST(OtherKeys, OfOtherProgramsAndWithoutSizesChangeNoShape) {
  for (const auto& [key, value] : kHarmless) EXPECT_TRUE(changes_no_shape(key, nlohmann::json::parse(value))) << key;
}

TEST(OtherKeys, WordsOfShapesAndWholeNumbersMay) {
  for (const auto& [key, value] : kMayBeShape)
    EXPECT_FALSE(changes_no_shape(key, nlohmann::json::parse(value))) << key << " " << value;
}

constexpr const char* kSmallLlama =
    R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
        "intermediate_size": 128, "vocab_size": 1000)";

TEST(OtherKeys, TheAnswerNamesThoseThatAreLeftOut) {
  const std::string config = std::string(kSmallLlama) + R"(, "prefill_chunk_size": 64, "license": "mit"})";
  const nlohmann::json value = nlohmann::json::parse(config);
  const Source source{.file = "m"};
  Findings findings;
  (void)read_model(Node(value, source, findings), "m");
  EXPECT_EQ(lines_of(findings.complaints), "");
  ASSERT_EQ(findings.notes.assumptions.size(), 1U);
  EXPECT_EQ(findings.notes.assumptions.front(),
            "unknown keys of the model that change no shape are left out: license, prefill_chunk_size");
}

TEST(OtherKeys, ASlipOfThePenIsRefusedWhateverItsValue) {
  const auto wrong = [](const std::string& more) {
    return complaints_of(kSmallLlama + more + "}", [](const Node& root) { (void)read_model(root, "m"); });
  };
  EXPECT_THAT(wrong(R"(, "tie_word_embedings": false)"), HasSubstr("did you mean \"tie_word_embeddings\"?"));
  EXPECT_THAT(wrong(R"(, "mlp_type": "gated")"), HasSubstr("/mlp_type: unknown key; remove it if"));
}

}  // namespace
}  // namespace foretoken::io
