// Checks parameters and operations against published counts, and against vectors computed from the operation list.
#include "sim/model/transformer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "sim/model/counts/flop.h"
#include "sim/model/counts/parameters.h"
#include "sim/model/testdata/vectors.h"

namespace foretoken::model {
namespace {

/// Expects the double to be exactly the integer.
void expect_integer(double value, std::int64_t expected, const std::string& what) {
  EXPECT_EQ(static_cast<std::int64_t>(value), expected) << what;
  EXPECT_EQ(value, std::floor(value)) << what;
}

TEST(Transformer, ParametersAndOperationsAreExactForTheSixVectorModels) {
  const auto vectors = testdata::model_vectors();
  ASSERT_EQ(vectors.size(), 6U);
  for (const auto& [name, vector] : vectors.items()) {
    const Transformer model = testdata::vector_model(vector.at("config"));
    const auto& parameters = vector.at("params");
    expect_integer(layer_matmul_parameters(model), parameters.at("layer_matmul"), name);
    expect_integer(layer_parameters(model), parameters.at("layer"), name);
    expect_integer(total_parameters(model), parameters.at("total"), name);

    const std::int64_t s = vector.at("config").at("s");
    const auto& flop = vector.at("flops_per_sequence");
    const std::vector<LayerCount> layers{{.kind = 0, .count = static_cast<int>(model.layers)}};
    expect_integer(model_flop_per_sequence(model, s).value(), flop.at("model_noncausal"), name);
    expect_integer(causal_model_flop_per_sequence(model, s).value(), flop.at("model_causal_half"), name);
    expect_integer(hardware_flop_per_sequence(model, s, RecomputedWork::kAttentionCore, layers).value(),
                   flop.at("strict_hw_selective"), name);
    expect_integer(hardware_flop_per_sequence(model, s, RecomputedWork::kWholeLayer, layers).value(),
                   flop.at("strict_hw_full"), name);
    EXPECT_EQ(hardware_flop_per_sequence(model, s, RecomputedWork::kNone, layers), model_flop_per_sequence(model, s));
  }
}

TEST(Transformer, GptOperationsAreTheClosedFormsOfTheTwoPapers) {
  const Transformer gpt = testdata::gpt(96, 12288, 96, 51200, 2048);
  const double h = 12288, s = 2048, layers = 96, vocabulary = 51200;
  // arXiv:2205.05198 eq. 7 and arXiv:2104.04473 eq. 3, one sequence.
  const double model = 72 * layers * s * h * h * (1 + s / (6 * h) + vocabulary / (12 * h * layers));
  const double recomputed = 96 * layers * s * h * h * (1 + s / (6 * h) + vocabulary / (16 * layers * h));
  EXPECT_NEAR(model_flop_per_sequence(gpt, 2048).value() / model, 1, 1e-14);
  EXPECT_NEAR(hardware_flop_per_sequence(gpt, 2048, RecomputedWork::kWholeLayer, {{0, 96}}).value() / recomputed, 1,
              1e-14);
}

Transformer llama(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                  std::int64_t ffn_hidden, std::int64_t vocabulary) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = hidden / heads,
          .ffn_hidden = ffn_hidden,
          .vocabulary = vocabulary,
          .norm = Norm::kRmsNorm,
          .activation = Activation::kSwiGlu,
          .positions = Positions::kRotary,
          .tied_embeddings = false,
          .linear_bias = false,
          .qkv_bias = false};
}

Transformer bloom() {
  Transformer model = testdata::gpt(70, 14336, 112, 250880, 0);
  model.positions = Positions::kAlibi;
  model.embedding_norm = true;
  return model;
}

Transformer neox() {
  Transformer model = testdata::gpt(44, 6144, 64, 50432, 0);
  model.positions = Positions::kRotary;
  model.tied_embeddings = false;
  model.parallel_residual = true;
  return model;
}

Transformer opt(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Transformer model = testdata::gpt(layers, hidden, heads, 50272, 2050);  // two positions more than it can use
  model.activation = Activation::kRelu;
  return model;
}

Transformer mpt() {
  Transformer model = testdata::gpt(32, 4096, 32, 50432, 0);
  model.positions = Positions::kAlibi;
  model.linear_bias = model.qkv_bias = model.norm_bias = false;
  return model;
}

Transformer qwen2() {
  Transformer model = llama(28, 3584, 28, 4, 18944, 152064);
  model.qkv_bias = true;
  return model;
}

Transformer nemotron(std::int64_t layers, std::int64_t hidden, std::int64_t heads) {
  Transformer model = llama(layers, hidden, heads, 8, 4 * hidden, 256000);
  model.norm = Norm::kLayerNorm;
  model.activation = Activation::kSquaredRelu;
  return model;
}

TEST(Transformer, PublishedParameterCounts) {
  struct Case {
    const char* name;
    Transformer model;
    std::int64_t parameters;
  };
  const Case cases[] = {
      {"GPT-2 small", testdata::gpt(12, 768, 12, 50257, 1024), 124'439'808},
      {"GPT-NeoX-20B, untied", neox(), 20'554'567'680},
      {"OPT-125M", opt(12, 768, 12), 125'239'296},
      {"BLOOM-176B, norm behind the embedding", bloom(), 176'247'271'424},
      {"MPT-7B, no biases at all", mpt(), 6'649'286'656},
      {"Llama-2 7B", llama(32, 4096, 32, 32, 11008, 32000), 6'738'415'616},
      {"Llama-2 13B", llama(40, 5120, 40, 40, 13824, 32000), 13'015'864'320},
      {"Llama-2 70B", llama(80, 8192, 64, 8, 28672, 32000), 68'976'648'192},
      {"Llama-3 8B", llama(32, 4096, 32, 8, 14336, 128256), 8'030'261'248},
      {"Llama-3 70B", llama(80, 8192, 64, 8, 28672, 128256), 70'553'706'496},
      {"Llama-3.1 405B", llama(126, 16384, 128, 8, 53248, 128256), 405'853'388'800},
      {"Mistral-7B", llama(32, 4096, 32, 8, 14336, 32000), 7'241'732'096},
      {"Qwen2-7B, biases in qkv only", qwen2(), 7'615'616'512},
  };
  for (const auto& c : cases) expect_integer(total_parameters(c.model), c.parameters, c.name);
}

// arXiv:2406.11704: Nemotron-4 340B has 9.4 billion embedding parameters and 331.6 billion others. arXiv:2402.16819:
// Nemotron-4 15B has 12.5 billion besides its embeddings.
TEST(Transformer, NemotronSplitsAsItsReportsSay) {
  const auto billions = [](double parameters) { return std::round(parameters / 1e8) / 10; };
  const auto tables = [](const Transformer& model) { return 2 * embedding_parameters(model); };
  const Transformer large = nemotron(96, 18432, 96);
  EXPECT_DOUBLE_EQ(billions(tables(large)), 9.4);
  EXPECT_DOUBLE_EQ(billions(total_parameters(large) - tables(large)), 331.6);
  const Transformer small = nemotron(32, 6144, 48);
  EXPECT_DOUBLE_EQ(billions(total_parameters(small) - tables(small)), 12.5);
}

TEST(Transformer, TheHeadCostsOperationsEvenWhenItsWeightsAreTied) {
  Transformer model = testdata::gpt(2, 256, 4, 1000, 64);
  const Flop tied = model_flop_per_sequence(model, 64);
  model.tied_embeddings = false;
  EXPECT_EQ(model_flop_per_sequence(model, 64), tied);
  expect_integer(head_parameters(model), 2 * 256 + 1000 * 256, "untied head");
}

TEST(Transformer, VocabularyIsPaddedTo128TimesTheTensorDegree) {
  const Transformer gpt2 = testdata::gpt(12, 768, 12, 50257, 1024);
  EXPECT_EQ(padded_vocabulary(gpt2, 1), 50304);
  EXPECT_EQ(padded_vocabulary(gpt2, 8), 51200);
  EXPECT_EQ(padded_vocabulary(gpt2, 8, false), 8 * 6282) << "or shared as it is";
  EXPECT_EQ(padded_vocabulary(testdata::gpt(1, 64, 1, 51200, 0), 8), 51200) << "already a multiple";
}

}  // namespace
}  // namespace foretoken::model
