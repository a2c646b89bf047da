// Tests Hugging Face configs of every family: published parameter counts, and refused keys.
#include "sim/io/model/read_model.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "sim/io/json/test_text.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

const std::string kFixtures = FORETOKEN_SOURCE_DIR "/sim/io/testdata/hf/";

model::Transformer read_fixture(const std::string& name) {
  Findings findings;
  const auto document = document_from_file(kFixtures + name + ".json", findings);
  model::Transformer model;
  if (document) model = read_model(document->root(findings), document->name);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return model;
}

struct PublishedModel {
  const char* fixture;
  const char* name;         ///< as read
  std::int64_t parameters;  ///< of the published checkpoint, tied embeddings counted once
};

TEST(ReadModel, ParameterCountsOfPublishedCheckpoints) {
  const PublishedModel models[] = {
      {"gpt2", "gpt2", 124'439'808},
      {"gpt-neox-20b", "gpt-neox-20b", 20'554'567'680},
      {"opt-13b", "facebook/opt-13b", 12'853'473'280},
      {"bloom", "bloom", 176'247'271'424},
      {"mpt-7b", "mpt-7b", 6'649'286'656},
      {"llama-2-7b", "meta-llama/Llama-2-7b-hf", 6'738'415'616},
      {"llama-3-8b", "llama-3-8b", 8'030'261'248},
      {"mistral-7b-v0.2", "mistral-7b-v0.2", 7'241'732'096},
      {"qwen2-7b", "qwen2-7b", 7'615'616'512},
      // No checkpoint is public. The sizes give 2 V h + L (h (a + 2g) d + h^2 + 2 h f + 4 h) + 2 h.
      {"nemotron-4-15b", "nemotron-4-15b",
       std::int64_t{2} * 256000 * 6144 +
           std::int64_t{32} * (6144 * (48 + 2 * 8) * 128 + 6144 * 6144 + 2 * 6144 * 24576 + 4 * 6144) + 2 * 6144}};
  for (const PublishedModel& published : models) {
    SCOPED_TRACE(published.fixture);
    const model::Transformer model = read_fixture(published.fixture);
    EXPECT_EQ(model.name, published.name);
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), published.parameters);
  }
}

TEST(ReadModel, KindsOfEveryFamily) {
  const model::Transformer neox = read_fixture("gpt-neox-20b");
  EXPECT_TRUE(neox.parallel_residual);
  EXPECT_EQ(neox.positions, model::Positions::kRotary);
  const model::Transformer opt = read_fixture("opt-13b");
  EXPECT_EQ(opt.activation, model::Activation::kRelu);
  EXPECT_EQ(opt.hidden_dropout, 0.1);
  const model::Transformer bloom = read_fixture("bloom");
  EXPECT_TRUE(bloom.embedding_norm);
  EXPECT_EQ(bloom.positions, model::Positions::kAlibi);
  EXPECT_EQ(bloom.ffn_hidden, 4 * bloom.hidden);
  const model::Transformer mpt = read_fixture("mpt-7b");
  EXPECT_EQ(mpt.positions, model::Positions::kAlibi);
  EXPECT_FALSE(mpt.norm_bias);
  const model::Transformer llama = read_fixture("llama-3-8b");
  EXPECT_EQ(llama.activation, model::Activation::kSwiGlu);
  EXPECT_EQ(llama.norm, model::Norm::kRmsNorm);
  EXPECT_EQ(llama.kv_heads, 8);
  EXPECT_EQ(llama.head_dim, 128);
  const model::Transformer nemotron = read_fixture("nemotron-4-15b");
  EXPECT_EQ(nemotron.activation, model::Activation::kSquaredRelu);
  EXPECT_EQ(nemotron.norm, model::Norm::kLayerNorm);
  EXPECT_TRUE(read_fixture("qwen2-7b").qkv_bias);
}

TEST(ReadModel, WindowsAreReadWhereTheyAreSwitchedOn) {
  Findings findings;
  const auto fixture = document_from_file(kFixtures + "llama-3-8b.json", findings);
  ASSERT_TRUE(fixture);
  const auto window = [&](const char* patch) {
    nlohmann::json value = fixture->value;
    value.merge_patch(nlohmann::json::parse(patch));
    const Source source{.file = "t.json"};
    return read_model(Node(value, source, findings)).attention_window;
  };
  EXPECT_EQ(window(R"({"model_type": "mistral", "sliding_window": 4096})"), 4096);
  EXPECT_EQ(window(R"({"model_type": "mistral", "sliding_window": null})"), 0);
  EXPECT_EQ(window(R"({"model_type": "qwen2", "sliding_window": 4096})"), 0) << "off unless it is switched on";
  EXPECT_EQ(window(R"({"model_type": "qwen3", "sliding_window": 4096, "use_sliding_window": true})"), 4096);
  EXPECT_EQ(window(R"({"model_type": "gemma2", "sliding_window": 4096, "num_hidden_layers": 1,
                       "layer_types": ["sliding_attention"]})"),
            4096);
  EXPECT_EQ(window(R"({"model_type": "gemma2", "sliding_window_size": 4096})"), 4096) << "its older name";
  EXPECT_EQ(window(R"({"model_type": "gemma2", "sliding_window": 4096, "sliding_window_size": 4096})"), 4096);
  EXPECT_EQ(lines_of(findings.complaints), "");
}

TEST(ReadModel, AConfigIsCalledByItsFolder) {
  nlohmann::json value = {{"model_type", "llama"}};
  Findings findings;
  const Source source{.file = "t.json", .folder = "/models/Qwen3-32B"};
  EXPECT_EQ(read_model(Node(value, source, findings), "config").name, "Qwen3-32B");
  EXPECT_EQ(read_model(Node(value, source, findings), "mine").name, "mine");
  value["_name_or_path"] = "org/name";
  EXPECT_EQ(read_model(Node(value, source, findings), "config").name, "org/name");
}

TEST(ReadModel, NoExpertsAreNoReasonToRefuse) {
  const auto wrong = [](const std::string& more) {
    return complaints_of(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
                             "intermediate_size": 128, "vocab_size": 1000, "num_experts_per_tok": 2)" +
                             more + "}",
                         [](const Node& root) { EXPECT_FALSE(read_model(root, "m").experts.has_value()); });
  };
  EXPECT_EQ(wrong(R"(, "num_local_experts": 0, "use_flash_attn": true, "use_scaled_init_for_output_weights": true)"),
            "");
  EXPECT_NE(wrong("").find("/num_experts_per_tok"), std::string::npos);
  EXPECT_NE(wrong(R"(, "num_local_experts": 8)").find("/num_local_experts"), std::string::npos);
}

struct WrongModel {
  const char* name;
  const char* patch;  ///< merged over the Llama-3-8B fixture
  const char* complaint;
};

const WrongModel kWrongModels[] = {
    {"no window", R"({"model_type": "mistral", "sliding_window": 0})",
     "/sliding_window: expected a positive whole number, found 0"},
    {"experts", R"({"num_local_experts": 8})",
     "/num_local_experts: models of this model_type have no experts; check model_type"},
    {"latent attention", R"({"kv_lora_rank": 512})",
     "/kv_lora_rank: models of this model_type have no latent attention; check model_type"},
    {"two windows", R"({"model_type": "gemma2", "sliding_window": 4096, "sliding_window_size": 2048})",
     "/sliding_window_size: expected 4096 as sliding_window, found 2048"},
    {"types of other layers", R"({"layer_types": ["full_attention"]})",
     "/layer_types: expected 32 entries, one for each of num_hidden_layers, found 1"},
    {"hybrid layers", R"({"num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"]})",
     "/layer_types/1: expected \"full_attention\": layers of different kinds are not supported"},
    {"multi-token prediction", R"({"num_nextn_predict_layers": 1})",
     "/num_nextn_predict_layers: multi-token prediction is not supported for this model_type; set it to 0 to leave it "
     "out"},
    {"linear attention", R"({"model_type": "qwen3_next"})",
     "/model_type: \"qwen3_next\" is not supported: it has layers of linear attention"},
    {"multimodal", R"({"vision_config": {"depth": 1}})",
     "/vision_config: a multimodal model whose text model has no text_config; remove this section to read the text "
     "model alone"},
    {"text model of no kind", R"({"text_config": 8})", "/text_config: expected an object, found 8"},
    {"tied in two ways",
     R"({"tie_word_embeddings": true,
         "text_config": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 4,
                         "intermediate_size": 512, "vocab_size": 1000, "tie_word_embeddings": false}})",
     "/tie_word_embeddings: expected false as text_config says, found true"},
    {"unknown family", R"({"model_type": "lama"})", "/model_type: \"lama\" is not supported; did you mean \"llama\"?"},
    {"no family like it", R"({"model_type": "perceptron"})",
     "/model_type: \"perceptron\" is not supported: its layers are not known; docs/user/scenarios.md lists the "
     "families "
     "that are"},
    {"misspelt size", R"({"num_hiden_layers": 32})",
     "/num_hiden_layers: unknown key; did you mean \"num_hidden_layers\"?"},
    {"unknown key", R"({"wormholes": 3})",
     "/wormholes: unknown key; remove it if it does not change the model's shape"},
    {"missing size", R"({"num_hidden_layers": null})",
     "/num_hidden_layers: missing; expected a whole number from 1 to "
     "100000"},
    {"key-value heads", R"({"num_key_value_heads": 5})",
     "the 32 attention heads are not divisible by the 5 key-value heads"},
    {"hidden size", R"({"hidden_size": 4097})", "the hidden size 4097 is not divisible by the 32 attention heads"},
    {"biases in one place", R"({"model_type": "mistral", "attention_bias": true})",
     "/mlp_bias: expected the same as attention_bias: biases in one of them only are not supported"},
    {"activation", R"({"hidden_act": "relu3"})",
     "/hidden_act: expected \"silu\", \"swish\", \"gelu\", \"gelu_new\" or \"gelu_pytorch_tanh\", found \"relu3\""},
    {"absurd width", R"({"intermediate_size": 1e15})",
     "/intermediate_size: expected a whole number from 1 to 16777216, found 1000000000000000"}};

TEST(ReadModel, RefusesWhatWouldChangeTheAnswer) {
  Findings findings;
  const auto fixture = document_from_file(kFixtures + "llama-3-8b.json", findings);
  ASSERT_TRUE(fixture);
  for (const WrongModel& c : kWrongModels) {
    SCOPED_TRACE(c.name);
    nlohmann::json value = fixture->value;
    value.merge_patch(nlohmann::json::parse(c.patch));
    EXPECT_EQ(complaints_of(value.dump(), [](const Node& root) { (void)read_model(root); }),
              std::string("t.json: ") + c.complaint + "\n");
  }
}

TEST(ReadModel, KeysOfGenerationAndVersionsDoNotCount) {
  Findings findings;
  const auto fixture = document_from_file(kFixtures + "llama-3-8b.json", findings);
  ASSERT_TRUE(fixture);
  nlohmann::json value = fixture->value;
  value.merge_patch(nlohmann::json::parse(
      R"({"eval_beams": 4, "output_past": true, "tuner_version": "1.2", "presence_penalty": 0.5})"));
  EXPECT_EQ(complaints_of(value.dump(), [](const Node& root) { (void)read_model(root); }), "");
  value = fixture->value;
  value.merge_patch(nlohmann::json::parse(R"({"output_size": 64, "layer_version": 2, "generation_heads": 4})"));
  const std::string refused = complaints_of(value.dump(), [](const Node& root) { (void)read_model(root); });
  for (const char* key : {"/output_size", "/layer_version", "/generation_heads"})
    EXPECT_NE(refused.find(std::string(key) + ": unknown key"), std::string::npos) << refused;
}

TEST(ReadModel, BiasesOfLlamaStandInAttentionOrInTheMlp) {
  Findings findings;
  const auto fixture = document_from_file(kFixtures + "llama-3-8b.json", findings);
  ASSERT_TRUE(fixture);
  const auto count = [&](const char* patch) {
    nlohmann::json value = fixture->value;
    value.merge_patch(nlohmann::json::parse(patch));
    model::Transformer model;
    EXPECT_EQ(complaints_of(value.dump(), [&](const Node& root) { model = read_model(root); }), "");
    return model::total_parameters(model);
  };
  const double plain = count("{}"), layers = 32, hidden = 4096, keys = 1024, ffn = 14336;
  const double attention = layers * (2 * hidden + 2 * keys), mlp = layers * (2 * ffn + hidden);
  EXPECT_EQ(count(R"({"attention_bias": true})") - plain, attention);
  EXPECT_EQ(count(R"({"mlp_bias": true})") - plain, mlp);
  EXPECT_EQ(count(R"({"attention_bias": true, "mlp_bias": true})") - plain, attention + mlp);
}

TEST(ReadModel, Opt350mIsRefused) {
  Findings findings;
  const auto fixture = document_from_file(kFixtures + "opt-13b.json", findings);
  ASSERT_TRUE(fixture);
  nlohmann::json value = fixture->value;
  value["do_layer_norm_before"] = false;
  value["word_embed_proj_dim"] = 512;
  EXPECT_EQ(complaints_of(value.dump(), [](const Node& root) { (void)read_model(root); }),
            "t.json: /do_layer_norm_before: expected true, found false: layer norm behind the block (OPT-350m) is not "
            "supported\n"
            "t.json: /word_embed_proj_dim: expected 5120 (hidden_size), found 512: projected embeddings are not "
            "supported\n");
}

}  // namespace
}  // namespace foretoken::io
