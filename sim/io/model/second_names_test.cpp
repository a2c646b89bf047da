// Tests second names of sizes in configs.
#include "sim/io/model/second_names.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "sim/io/model/test_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

std::string wrong_with(const std::string& config, const std::string& more) {
  return complaints_of("{" + config + more + "}", [](const Node& root) { (void)read_model(root, "m"); });
}

constexpr const char *kFalcon =
                         R"("model_type": "falcon", "num_hidden_layers": 6, "hidden_size": 512,
       "num_attention_heads": 8, "num_kv_heads": 2, "new_decoder_architecture": true, "vocab_size": 1000)",
                     *kGpt2 = R"("model_type": "gpt2", "n_layer": 6, "n_embd": 512, "n_head": 8, "n_positions": 1024,
       "vocab_size": 1000)",
                     *kSmallMixtral = R"("model_type": "mixtral", "num_hidden_layers": 6, "hidden_size": 512,
       "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, "num_local_experts": 8,
       "num_experts_per_tok": 2)",
                     *kErnie = R"("model_type": "ernie4_5_moe", "num_hidden_layers": 6, "hidden_size": 512,
       "num_attention_heads": 8, "intermediate_size": 1024, "vocab_size": 1000, "moe_num_experts": 8, "moe_k": 2,
       "moe_intermediate_size": 256)";

TEST(SecondNames, OfAnActivationStandBesideIt) {
  const char* const kStarCoder2 = R"("model_type": "starcoder2", "num_hidden_layers": 6, "hidden_size": 512,
       "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 2048, "vocab_size": 1000,
       "max_position_embeddings": 1024, "hidden_act": "gelu_pytorch_tanh")";
  EXPECT_EQ(wrong_with(kStarCoder2, R"(, "activation_function": "gelu", "scale_attention_softmax_in_fp32": true)"), "");
}

TEST(SecondNames, OfTheSameValueStandBesideTheNames) {
  EXPECT_EQ(wrong_with(kFalcon, R"(, "n_layer": 6, "n_head": 8, "n_head_kv": 2)"), "");
  EXPECT_EQ(wrong_with(kGpt2, R"(, "num_hidden_layers": 6, "hidden_size": 512, "num_attention_heads": 8,
                                   "max_position_embeddings": 1024)"),
            "");
  EXPECT_EQ(wrong_with(kSmallMixtral, R"(, "num_experts": 8)"), "");
  EXPECT_EQ(wrong_with(kErnie, R"(, "num_experts": 8, "num_experts_per_tok": 2)"), "");
}

std::int64_t parameters_in(const std::string& config) {
  std::string complaints;
  const model::Transformer model = read_model_text("{" + config + "}", complaints);
  EXPECT_EQ(complaints, "");
  return static_cast<std::int64_t>(model::total_parameters(model));
}

// As attribute_map does in transformers.
TEST(SecondNames, StandInThePlaceOfTheNames) {
  const char* const kGeneric =
      R"("num_hidden_layers": 6, "hidden_size": 512, "num_attention_heads": 8, "vocab_size": 1000)";
  const auto generic = [&](const std::string& more) { return parameters_in(kGeneric + more); };
  const std::string gpt2 = R"(, "model_type": "gpt2", "max_position_embeddings": 1024)";
  EXPECT_EQ(generic(gpt2), parameters_in(kGpt2));
  EXPECT_EQ(generic(R"(, "model_type": "distilbert", "hidden_dim": 2048, "max_position_embeddings": 512)"),
            parameters_in(R"("model_type": "distilbert", "n_layers": 6, "dim": 512, "n_heads": 8, "vocab_size": 1000,
                             "hidden_dim": 2048, "max_position_embeddings": 512)"));
  EXPECT_EQ(generic(R"(, "model_type": "t5", "d_ff": 2048, "head_dim": 32)"),
            parameters_in(R"("model_type": "t5", "num_layers": 6, "d_model": 512, "num_heads": 8, "vocab_size": 1000,
                             "d_ff": 2048, "d_kv": 32)"));
  const char* const kBart = R"(, "model_type": "bart", "encoder_layers": 6, "decoder_layers": 6, "vocab_size": 1000,
                                "encoder_ffn_dim": 2048)";
  EXPECT_EQ(parameters_in(R"("hidden_size": 512, "num_attention_heads": 8)" + std::string(kBart)),
            parameters_in(R"("d_model": 512, "encoder_attention_heads": 8)" + std::string(kBart)));
}

TEST(SecondNames, WithoutASizeAreWrongUnderTheirOwnName) {
  for (const char* wrong : {"0", "\"twelve\"", "1.5"}) {
    const std::string complaint =
        wrong_with(R"("model_type": "gpt2", "n_layer": 6, "n_embd": 512, "n_positions": 1024, "vocab_size": 1000)",
                   fmt::format(R"(, "num_attention_heads": {})", wrong));
    EXPECT_EQ(complaint.find("t.json: /num_attention_heads: expected"), 0U) << complaint;
    EXPECT_EQ(std::count(complaint.begin(), complaint.end(), '\n'), 1) << complaint;
  }
}

// FalconConfig leaves n_layer unread: its own name must stand there.
TEST(SecondNames, ThatTheFamilyLeavesUnreadStandOnlyBesideTheName) {
  EXPECT_NE(wrong_with(R"("model_type": "falcon", "n_layer": 6, "hidden_size": 512, "num_attention_heads": 8,
                          "vocab_size": 1000)",
                       "")
                .find("/num_hidden_layers: missing"),
            std::string::npos);
}

TEST(SecondNames, OfAnotherValueAreWrong) {
  EXPECT_EQ(wrong_with(kFalcon, R"(, "n_layer": 7)"), "t.json: /n_layer: expected 6 as num_hidden_layers, found 7\n");
  EXPECT_EQ(wrong_with(kGpt2, R"(, "hidden_size": 768)"), "t.json: /hidden_size: expected 512 as n_embd, found 768\n");
  EXPECT_EQ(wrong_with(kSmallMixtral, R"(, "num_experts": 4)"),
            "t.json: /num_experts: expected 8 as num_local_experts, found 4\n");
}

TEST(SecondNames, OfOtherFamiliesStayUnknown) {
  EXPECT_NE(wrong_with(kFalcon, R"(, "n_embd": 512)").find("/n_embd: unknown key"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::io
