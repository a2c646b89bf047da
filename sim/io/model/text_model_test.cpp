// Tests text models inside the configs of multimodal ones.
//
// The counts of Qwen3-VL and Gemma 3 are those of the text models alone: Qwen3-4B, and the published 3,880,263,168
// parameters of gemma-3-4b-pt without its encoder of images (Gemma 3 report, arXiv 2503.19786, table 1: 675 M in the
// embedding, 3,209 M elsewhere).
#include "sim/io/model/text_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

using testing::HasSubstr;

constexpr const char* kGemma =
    R"({"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "mm_tokens_per_image": 256,
        "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                        "num_hidden_layers": 34, "sliding_window": 1024,
                        "rope_scaling": {"factor": 8.0, "rope_type": "linear"}},
        "vision_config": {"model_type": "siglip_vision_model", "num_hidden_layers": 27}})";

std::pair<model::Transformer, std::string> read_whole(const std::string& config) {
  model::Transformer read;
  std::string wrong = complaints_of(config, [&](const Node& root) { read = read_model(root, "m"); });
  return {read, wrong};
}

TEST(TextModel, OfGemma3TakesTheSizesThatItsConfigLeavesOut) {
  const auto [gemma, wrong] = read_whole(kGemma);
  EXPECT_EQ(wrong, "");
  EXPECT_EQ(gemma.heads, 8);
  EXPECT_EQ(gemma.kv_heads, 4);
  EXPECT_EQ(gemma.head_dim, 256);
  EXPECT_EQ(gemma.vocabulary, 262'208);
  EXPECT_TRUE(gemma.tied_embeddings);
  EXPECT_EQ(gemma.local.window_of(4), 1024);
  EXPECT_EQ(gemma.local.window_of(5), 0) << "every sixth layer sees all tokens";
  EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(gemma)), 3'880'263'168);
}

TEST(TextModel, OfQwen3VlIsQwen3) {
  const auto [qwen, wrong] = read_whole(
      R"({"model_type": "qwen3_vl", "tie_word_embeddings": true, "vision_config": {"depth": 24},
          "text_config": {"model_type": "qwen3_vl_text", "hidden_size": 2560, "intermediate_size": 9728,
                          "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
                          "head_dim": 128, "vocab_size": 151936, "hidden_act": "silu"}})");
  EXPECT_EQ(wrong, "");
  EXPECT_TRUE(qwen.tied_embeddings) << "the whole config says so";
  EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(qwen)), 4'022'468'096);
}

TEST(TextModel, TheAnswerSaysWhatIsLeftOut) {
  const Source source{.file = "m"};
  Findings findings;
  const nlohmann::json config = nlohmann::json::parse(kGemma);
  (void)read_model(Node(config, source, findings), "m");
  ASSERT_EQ(findings.notes.assumptions.size(), 1U);
  EXPECT_EQ(findings.notes.assumptions.front(),
            "only the text model of the multimodal \"gemma3\" counts; vision_config left out");
}

TEST(TextModel, SizesMayStandBesideTheOtherSections) {
  const std::string kimi =
      R"({"model_type": "kimi_k25", "num_hidden_layers": 4, "hidden_size": 2048, "num_attention_heads": 16,
          "num_key_value_heads": 16, "intermediate_size": 4096, "vocab_size": 32000, "n_routed_experts": 32,
          "n_shared_experts": 1, "num_experts_per_tok": 4, "moe_intermediate_size": 512, "moe_layer_freq": 1,
          "first_k_dense_replace": 1, "kv_lora_rank": 256, "q_lora_rank": 512, "qk_nope_head_dim": 64,
          "qk_rope_head_dim": 32, "v_head_dim": 64, "vision_config": {"vt_num_hidden_layers": 27}})";
  const auto [flat, complaints] = read_whole(kimi);
  EXPECT_EQ(complaints, "");
  ASSERT_TRUE(flat.experts && flat.latent);
  EXPECT_EQ(flat.latent->kv_rank, 256);
  const auto [qwen, none] = read_whole(
      R"({"model_type": "qwen2_vl", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28,
          "num_key_value_heads": 4, "intermediate_size": 18944, "vocab_size": 152064, "hidden_act": "silu",
          "vision_start_token_id": 151652, "vision_config": {"depth": 32}, "tie_word_embeddings": false,
          "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}})");
  EXPECT_EQ(none, "");
  EXPECT_EQ(qwen.layers, 28);
  EXPECT_THAT(read_whole(R"({"model_type": "kimi_k25", "hidden_size": 64, "vision_config": {}})").second,
              HasSubstr("/num_hidden_layers: missing"));
}

TEST(TextModel, SizesThatNoSourceHoldsAreMissing) {
  const auto wrong = [](const std::string& text) {
    return read_whole(R"({"model_type": "llava", "text_config": )" + text + "}").second;
  };
  EXPECT_THAT(wrong(R"({"model_type": "llama", "hidden_size": 4096})"),
              HasSubstr("/text_config/num_hidden_layers: missing"));
  EXPECT_THAT(wrong(R"({"hidden_size": 4096})"), HasSubstr("/text_config/model_type: missing"));
  EXPECT_THAT(wrong(R"({"model_type": "qwen3_5_text"})"), HasSubstr("layers of linear attention"));
}

}  // namespace
}  // namespace foretoken::io
