// Tests families of configs without model_type.
#include "sim/io/model/model_type.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/model/read_model.h"

namespace foretoken::io {
namespace {

struct Typed {
  std::string type;  ///< empty: none was found
  std::string note;
};

Typed type_of(const std::string& config) {
  Findings findings;
  const auto document = document_from_text(config, "t.json", findings);
  const std::optional<nlohmann::json> typed = with_model_type(document->root(findings));
  const auto& notes = findings.notes.assumptions;
  return {typed ? typed->at("model_type").get<std::string>() : "", notes.empty() ? "" : notes.front()};
}

struct ClassOfFamily {
  const char *name, *type;
};

constexpr ClassOfFamily kClassesOfFamilies[] = {{"LlamaForCausalLM", "llama"},
                                                {"Qwen3MoeForCausalLM", "qwen3_moe"},
                                                {"GPT2LMHeadModel", "gpt2"},
                                                {"GPTNeoXForCausalLM", "gpt_neox"},
                                                {"GPTBigCodeForCausalLM", "gpt_bigcode"},
                                                {"DeepseekV3ForCausalLM", "deepseek_v3"},
                                                {"Gemma3ForCausalLM", "gemma3_text"},
                                                {"XLMRobertaForMaskedLM", "xlm-roberta"},
                                                {"RobertaModel", "roberta"},
                                                {"T5ForConditionalGeneration", "t5"},
                                                {"Ernie4_5_MoeForCausalLM", "ernie4_5_moe"},
                                                {"PerceptronForCausalLM", ""},
                                                {"GPTModel", ""},
                                                {"Llama", ""},
                                                {"", ""}};

TEST(ModelType, ArchitecturesNameTheFamily) {
  for (const auto& [name, type] : kClassesOfFamilies)
    EXPECT_EQ(type_of(std::string(R"({"architectures": [")") + name + "\"]}").type, type) << name;
  EXPECT_EQ(type_of(R"({"architectures": ["LlamaForCausalLM"]})").note,
            "model_type is \"llama\", as architectures says");
}

constexpr const char* kUntypedLlama =
    R"("attention_bias": false, "hidden_act": "silu", "hidden_size": 64, "intermediate_size": 128, "mlp_bias": false,
       "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "pretraining_tp": 1,
       "rms_norm_eps": 1e-05, "rope_scaling": null, "rope_theta": 10000.0, "vocab_size": 1000)";

TEST(ModelType, TheKeysOfLlamaNameIt) {
  const std::string config = std::string("{") + kUntypedLlama + "}";
  EXPECT_EQ(type_of(config).type, "llama");
  EXPECT_EQ(type_of(config).note, "model_type is \"llama\", because the config has the keys of that family alone");
  EXPECT_EQ(complaints_of(config, [](const Node& root) { EXPECT_EQ(read_model(root, "m").layers, 2); }), "");
  // SmolLM3 was made of llama, and adds a key.
  EXPECT_NE(complaints_of(std::string("{") + kUntypedLlama + R"(, "no_rope_layers": [1, 0]})",
                          [](const Node& root) { (void)read_model(root, "m"); })
                .find("/no_rope_layers: unknown key"),
            std::string::npos);
}

TEST(ModelType, TheKeysOfGpt2NameIt) {
  const std::string keys = R"({"n_layer": 2, "n_embd": 64, "n_head": 4, "n_ctx": 128, "n_positions": 128,
                               "vocab_size": 1000, "layer_norm_epsilon": 1e-05)";
  EXPECT_EQ(type_of(keys + "}").type, "gpt2");
  EXPECT_EQ(complaints_of(keys + "}", [](const Node& root) { EXPECT_EQ(read_model(root, "m").hidden, 64); }), "");
  for (const char* other : {R"(, "afn": "gelu"})", R"(, "rotary_dim": 16})", R"(, "dff": 256})"})
    EXPECT_EQ(type_of(keys + other).type, "") << other;
}

TEST(ModelType, TheKeysOfBertNameIt) {
  const auto with = [](const std::string& rest) {
    return R"({"attention_probs_dropout_prob": 0.1, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
               "hidden_size": 64, "initializer_range": 0.02, "intermediate_size": 256, "num_attention_heads": 4,
               "num_hidden_layers": 2, "vocab_size": 1000, )" +
           rest;
  };
  EXPECT_EQ(type_of(with(R"("max_position_embeddings": 512, "type_vocab_size": 2})")).type, "bert");
  EXPECT_EQ(type_of(with(R"("max_position_embeddings": 514, "type_vocab_size": 1})")).type, "roberta");
  EXPECT_EQ(type_of(with(R"("max_position_embeddings": 512})")).type, "");
  const auto albert = with(R"("max_position_embeddings": 512, "type_vocab_size": 2, "num_hidden_groups": 1,
                              "embedding_size": 128})");
  EXPECT_NE(complaints_of(albert, [](const Node& root) { (void)read_model(root, "m"); }).find("unknown key"),
            std::string::npos);
}

TEST(ModelType, IsAskedForWithAnExampleWhereTheFileIsOfAnotherProgram) {
  const auto wrong = [](const char* config) {
    return complaints_of(config, [](const Node& root) { (void)read_model(root, "m"); });
  };
  const char* const kNoConfiguration = "this is no configuration of Hugging Face: give its config.json, or the sizes";
  EXPECT_NE(wrong(R"({"embed_dim": 512, "ff_dim": 2048})").find(kNoConfiguration), std::string::npos);
  EXPECT_EQ(wrong(R"({"hidden_size": 64, "num_hidden_layers": 2})").find(kNoConfiguration), std::string::npos);
  EXPECT_EQ(wrong(R"({"architectures": ["PerceptronForCausalLM"]})").find(kNoConfiguration), std::string::npos);
}

TEST(ModelType, IsAskedForWhereNothingNamesIt) {
  for (const char* config : {R"({"hidden_size": 64, "num_hidden_layers": 2})", R"({"architectures": []})",
                             R"({"architectures": ["PerceptronForCausalLM"]})", R"({"architectures": [8]})"})
    EXPECT_NE(complaints_of(config, [](const Node& root) { (void)read_model(root, "m"); })
                  .find("/model_type: missing; expected a string"),
              std::string::npos)
        << config;
  EXPECT_EQ(type_of(R"({"model_type": "gpt2", "architectures": ["LlamaForCausalLM"]})").type, "")
      << "a stated one stays";
}

}  // namespace
}  // namespace foretoken::io
