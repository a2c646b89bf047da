// Tests published parameter counts of encoder-decoders, the fields that their configs decide, and complaints.
//
// Counts are those of transformers' classes for generation, as the model cards print them: 60.5M to 11B for T5
// (arXiv:1910.10683 section 3.7 rounds them), 300M to 13B for mT5 (arXiv:2010.11934 table 1), 139M and 406M for BART.
#include "sim/io/model/encoder_decoder_families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "sim/io/model/test_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

struct T5Size {
  const char* name;
  std::int64_t layers, width, head_dim, mlp, heads;
  std::int64_t parameters;
};

/// The first T5: ReLU, one table for both halves and the head.
constexpr T5Size kT5[] = {{"t5-small", 6, 512, 64, 2048, 8, 60'506'624},
                          {"t5-base", 12, 768, 64, 3072, 12, 222'903'552},
                          {"t5-large", 24, 1024, 64, 4096, 16, 737'668'096},
                          {"t5-3b", 24, 1024, 128, 16384, 32, 2'851'598'336},
                          {"t5-11b", 24, 1024, 128, 65536, 128, 11'307'321'344}};
/// T5 1.1: gated GeLU, a head of its own.
constexpr T5Size kFlanT5[] = {{"flan-t5-small", 8, 512, 64, 1024, 6, 76'961'152},
                              {"flan-t5-base", 12, 768, 64, 2048, 12, 247'577'856},
                              {"flan-t5-large", 24, 1024, 64, 2816, 16, 783'150'080},
                              {"flan-t5-xl", 24, 2048, 64, 5120, 32, 2'849'757'184},
                              {"flan-t5-xxl", 24, 4096, 64, 10240, 64, 11'135'332'352}};
/// The same sizes with 250,112 words.
constexpr T5Size kMt5[] = {{"mt5-small", 8, 512, 64, 1024, 6, 300'176'768},
                           {"mt5-base", 12, 768, 64, 2048, 12, 582'401'280},
                           {"mt5-large", 24, 1024, 64, 2816, 16, 1'229'581'312},
                           {"mt5-xl", 24, 2048, 64, 5120, 32, 3'742'619'648},
                           {"mt5-xxl", 24, 4096, 64, 10240, 64, 12'921'057'280}};

void expect_counts(std::span<const T5Size> sizes, const std::string& usual) {
  for (const T5Size& size : sizes) {
    SCOPED_TRACE(size.name);
    nlohmann::json config = nlohmann::json::parse(usual);
    config["num_layers"] = config["num_decoder_layers"] = size.layers;
    config["d_model"] = size.width;
    config["d_kv"] = size.head_dim;
    config["d_ff"] = size.mlp;
    config["num_heads"] = size.heads;
    std::string complaints;
    const model::Transformer model = read_model_text(config.dump(), complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), size.parameters);
  }
}

TEST(EncoderDecoderFamilies, ParameterCountsOfT5) {
  expect_counts(kT5, R"({"model_type": "t5", "vocab_size": 32128})");
  expect_counts(kFlanT5,
                R"({"model_type": "t5", "vocab_size": 32128, "feed_forward_proj": "gated-gelu",
                    "tie_word_embeddings": false})");
  expect_counts(kMt5, R"({"model_type": "mt5", "vocab_size": 250112, "feed_forward_proj": "gated-gelu"})");
}

struct OtherCount {
  const char *name, *config;
  std::int64_t parameters;
};

constexpr OtherCount kOtherCounts[] = {
    {"bart-base",
     R"({"model_type": "bart", "encoder_layers": 6, "decoder_layers": 6, "d_model": 768,
         "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "vocab_size": 50265})",
     139'420'416},
    {"bart-large",
     R"({"model_type": "bart", "encoder_layers": 12, "decoder_layers": 12, "d_model": 1024,
         "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "vocab_size": 50265})",
     406'291'456},
    {"blenderbot-400M: 2 + 12 layers, norms before them, and no unused positions",
     R"({"model_type": "blenderbot", "encoder_layers": 2, "decoder_layers": 12, "d_model": 1280,
         "encoder_attention_heads": 32, "encoder_ffn_dim": 5120, "vocab_size": 8008, "max_position_embeddings": 128,
         "normalize_before": true, "normalize_embedding": false})",
     364'802'560},
    {"mvp, of bart-large's sizes",
     R"({"model_type": "mvp", "encoder_layers": 12, "decoder_layers": 12, "d_model": 1024,
         "encoder_attention_heads": 16, "encoder_ffn_dim": 4096, "vocab_size": 50265, "use_prompt": false,
         "prompt_length": 100})",
     406'291'456},
    {"plbart, of bart-base's sizes",
     R"({"model_type": "plbart", "encoder_layers": 6, "decoder_layers": 6, "d_model": 768,
         "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "vocab_size": 50265})",
     139'420'416},
    {"blenderbot-small, of bart-base's sizes: four rows fewer, two in each half",
     R"({"model_type": "blenderbot-small", "encoder_layers": 6, "decoder_layers": 6, "d_model": 768,
         "encoder_attention_heads": 12, "encoder_ffn_dim": 3072, "vocab_size": 50265, "max_position_embeddings": 1024})",
     139'420'416 - 4 * 768},
    {"a T5 of 36 + 36 layers: num_decoder_layers is as many as num_layers",
     R"({"model_type": "t5", "num_layers": 36, "d_model": 1280, "d_kv": 64, "d_ff": 5120, "num_heads": 20,
         "relative_attention_num_buckets": 64, "vocab_size": 32128})",
     1'692'866'560}};

TEST(EncoderDecoderFamilies, ParameterCountsOfOthers) {
  for (const OtherCount& other : kOtherCounts) {
    SCOPED_TRACE(other.name);
    std::string complaints;
    const model::Transformer model = read_model_text(other.config, complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), other.parameters);
  }
}

// arXiv:2205.05131 section 4.1: 32 + 32 layers of 4096, called 20B.
TEST(EncoderDecoderFamilies, Ul2HasTwentyBillion) {
  std::string complaints;
  const model::Transformer model =
      read_model_text(R"({"model_type": "t5", "num_layers": 32, "d_model": 4096, "d_kv": 256, "d_ff": 16384,
                      "num_heads": 16, "vocab_size": 32128, "feed_forward_proj": "gated-silu",
                      "tie_word_embeddings": false})",
                      complaints);
  EXPECT_EQ(complaints, "");
  EXPECT_NEAR(model::total_parameters(model) / 1e9, 19.5, 0.1);
  EXPECT_EQ(model.activation, model::Activation::kSwiGlu);
}

struct WrongHalves {
  const char *name, *patch, *complaint;
};

constexpr WrongHalves kWrongHalves[] = {
    {"no width of the MLP", R"({"d_ff": null})", "/d_ff: "},
    {"a misspelt key", R"({"d_kv": null, "d_vk": 64})", "/d_vk: unknown key; did you mean \"d_kv\"?"},
    {"an unknown MLP", R"({"feed_forward_proj": "gated-tanh"})", "/feed_forward_proj: expected"},
    {"half of a model", R"({"architectures": ["T5EncoderModel"]})",
     "/architectures/0: \"T5EncoderModel\" is not supported"},
    {"a decoder alone", R"({"is_encoder_decoder": false})", "/is_encoder_decoder: expected true, found false"},
    {"no decoder", R"({"num_decoder_layers": 0})", "/num_decoder_layers: expected"},
    {"dropout above one", R"({"dropout_rate": 1.5})", "/dropout_rate: expected"},
    {"positions of each layer", R"({"model_type": "umt5"})", "/model_type: \"umt5\" is not supported: it has"}};

TEST(EncoderDecoderFamilies, ComplainInOneLine) {
  const nlohmann::json sound = nlohmann::json::parse(
      R"({"model_type": "t5", "num_layers": 6, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_heads": 8,
          "vocab_size": 32128})");
  for (const WrongHalves& wrong : kWrongHalves) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json config = sound;
    config.merge_patch(nlohmann::json::parse(wrong.patch));
    std::string complaints;
    (void)read_model_text(config.dump(), complaints);
    EXPECT_NE(complaints.find(wrong.complaint), std::string::npos) << complaints;
    EXPECT_EQ(std::count(complaints.begin(), complaints.end(), '\n'), 1) << complaints;
  }
}

constexpr WrongHalves kWrongMegatronHalves[] = {
    {"a number of layers for both", R"({"num_layers": 12})",
     "/num_layers: expected only without encoder_num_layers and decoder_num_layers; remove it"},
    {"no decoder", R"({"decoder_num_layers": null})", "/decoder_num_layers: missing"},
    {"a decoder of a decoder", R"({"encoder_num_layers": null, "num_layers": 12})",
     "/decoder_num_layers: expected only with encoder_num_layers"},
    {"buckets of positions that are not relative", R"({"relative_attention_num_buckets": 32})",
     "/relative_attention_num_buckets: expected only with position_embedding_type \"relative\"; remove it"},
    {"relative positions of a decoder",
     R"({"encoder_num_layers": null, "decoder_num_layers": null, "num_layers": 12,
         "position_embedding_type": "relative"})",
     "/position_embedding_type: \"relative\" is supported with encoder_num_layers only"},
    {"experts", R"({"num_experts": 8, "moe_router_topk": 2})", "/num_experts: not supported with encoder_num_layers"},
    {"a further token", R"({"mtp_num_layers": 1})", "/mtp_num_layers: not supported with encoder_num_layers"},
    {"latent attention",
     R"({"multi_latent_attention": true, "kv_lora_rank": 512, "qk_head_dim": 128, "qk_pos_emb_head_dim": 64,
         "v_head_dim": 128})",
     "/multi_latent_attention: not supported with encoder_num_layers"},
    {"norms of queries and keys", R"({"qk_layernorm": true})", "/qk_layernorm: not supported with encoder_num_layers"},
    {"a parallel residual", R"({"parallel_residual": true})",
     "/parallel_residual: not supported with encoder_num_layers"}};

// No key of a decoder is left out in silence.
TEST(EncoderDecoderFamilies, MegatronsHalvesComplainInOneLine) {
  const nlohmann::json sound = nlohmann::json::parse(
      R"({"model_type": "megatron", "encoder_num_layers": 12, "decoder_num_layers": 12, "hidden_size": 768,
          "num_attention_heads": 12, "ffn_hidden_size": 3072, "vocab_size": 29184, "max_position_embeddings": 512})");
  std::string complaints;
  const model::Transformer t5 = read_model_text(sound.dump(), complaints);
  EXPECT_EQ(complaints, "");
  EXPECT_EQ(t5.layers, 24);
  for (const WrongHalves& wrong : kWrongMegatronHalves) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json config = sound;
    config.merge_patch(nlohmann::json::parse(wrong.patch));
    (void)read_model_text(config.dump(), complaints);
    EXPECT_NE(complaints.find(wrong.complaint), std::string::npos) << complaints;
    EXPECT_EQ(std::count(complaints.begin(), complaints.end(), '\n'), 1) << complaints;
  }
}

// Products and norms of a layer with biases, h wide and with MLPs of 4 h: the encoder's, and the decoder's with its
// second attention. Both halves end with a norm, and one table of words serves all.
std::int64_t parameters_of_halves(std::int64_t layers, std::int64_t width, std::int64_t words) {
  const std::int64_t attention = 4 * (width * width + width), norm = 2 * width,
                     mlp = 2 * width * 4 * width + 4 * width + width;
  return layers * (attention + mlp + 2 * norm) + layers * (2 * attention + mlp + 3 * norm) + 2 * norm + words * width;
}

TEST(EncoderDecoderFamilies, FixedPositionsHaveNoWeights) {
  const std::string halves =
      R"("d_model": 1024, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
         "decoder_ffn_dim": 4096, "is_encoder_decoder": true, "encoder_layerdrop": 0, "decoder_layerdrop": 0, )";
  const auto read = [&](const std::string& family) {
    std::string complaints;
    const model::Transformer model = read_model_text("{" + halves + family + "}", complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_EQ(model.positions, model::Positions::kNone);
    return model;
  };
  const auto count = [](const model::Transformer& model) {
    return static_cast<std::int64_t>(model::total_parameters(model));
  };
  const model::Transformer nllb =
      read(R"("model_type": "m2m_100", "encoder_layers": 12, "decoder_layers": 12, "vocab_size": 256206)");
  EXPECT_EQ(count(nllb), parameters_of_halves(12, 1024, 256206));
  EXPECT_EQ(nllb.attention_dropout, 0.1) << "the family's default";
  EXPECT_TRUE(nllb.scaled_embedding);
  EXPECT_EQ(count(read(R"("model_type": "pegasus", "encoder_layers": 16, "decoder_layers": 16, "vocab_size": 96103,
                          "static_position_embeddings": true, "normalize_embedding": false)")),
            parameters_of_halves(16, 1024, 96103));
  std::string complaints;
  (void)read_model_text(R"({"model_type": "m2m_100", "d_model": 64, "encoder_layers": 1, "decoder_layers": 1,
      "encoder_attention_heads": 1, "encoder_ffn_dim": 64, "vocab_size": 10})",
                        complaints);
  EXPECT_NE(complaints.find("/encoder_layerdrop: expected 0"), std::string::npos) << "0.05 where nothing is stated";
}

constexpr const char* kOpusMt =
    R"({"model_type": "marian", "architectures": ["MarianMTModel"], "activation_function": "swish", "d_model": 512,
        "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
        "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "vocab_size": 58101, "decoder_vocab_size": 58101,
        "max_position_embeddings": 512, "extra_pos_embeddings": 58101, "static_position_embeddings": true,
        "normalize_before": false, "normalize_embedding": false, "add_bias_logits": false, "scale_embedding": true,
        "share_encoder_decoder_embeddings": true, "is_encoder_decoder": true, "num_hidden_layers": 6})";

// Helsinki-NLP/opus-mt-en-de. The checkpoint has 74.4 million with the fixed tables of positions, 512 rows in each
// half.
TEST(EncoderDecoderFamilies, MarianIsBartWithFixedPositions) {
  std::string complaints;
  const model::Transformer opus = read_model_text(kOpusMt, complaints);
  EXPECT_EQ(complaints, "");
  const auto count = static_cast<std::int64_t>(model::total_parameters(opus));
  EXPECT_EQ(count, parameters_of_halves(6, 512, 58101) - 2 * 2 * 512) << "no norm behind the halves";
  EXPECT_NEAR(static_cast<double>(count) / 1e6, 73.9, 0.05);
  EXPECT_NEAR(static_cast<double>(count + 2 * 512 * 512) / 1e6, 74.4, 0.05);
  EXPECT_EQ(opus.norm_places, model::NormPlaces::kSums);
  EXPECT_FALSE(opus.embedding_norm);
  EXPECT_TRUE(opus.scaled_embedding && opus.tied_embeddings);
}

TEST(EncoderDecoderFamilies, MarianWithTwoTablesOfWordsIsRefused) {
  for (const auto& [patch, complaint] :
       {std::pair{R"({"share_encoder_decoder_embeddings": false})", "/share_encoder_decoder_embeddings: expected true"},
        std::pair{R"({"decoder_vocab_size": 60000})", "/decoder_vocab_size: expected 58101, as vocab_size"}}) {
    nlohmann::json config = nlohmann::json::parse(kOpusMt);
    config.merge_patch(nlohmann::json::parse(patch));
    std::string complaints;
    (void)read_model_text(config.dump(), complaints);
    EXPECT_NE(complaints.find(complaint), std::string::npos) << complaints;
  }
}

// torch.nn.functional.silu has one kernel, as gelu has.
TEST(EncoderDecoderFamilies, SwishCountsAsGeluAndSaysSo) {
  Findings findings;
  const auto document = document_from_text(kOpusMt, "t.json", findings);
  EXPECT_EQ(read_model(document->root(findings), "t").activation, model::Activation::kGelu);
  ASSERT_EQ(findings.notes.assumptions.size(), 1U);
  EXPECT_EQ(findings.notes.assumptions.front(),
            "activation_function swish counts as gelu: its kernels move the same bytes");
}

}  // namespace
}  // namespace foretoken::io
