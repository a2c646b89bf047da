// Reads model_vectors.json and builds the GPT shapes that the tests of this room share.
#pragma once

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/model/transformer.h"

namespace foretoken::model::testdata {

/// Returns the models of model_vectors.json by name.
inline nlohmann::ordered_json model_vectors() {
  std::ifstream file(FORETOKEN_SOURCE_DIR "/sim/model/testdata/model_vectors.json");
  return nlohmann::ordered_json::parse(file).at("models");
}

/// Returns a GPT as in the papers: MLP four times as wide, LayerNorm, learned positions, tied, dropout 0.1.
inline Transformer gpt(std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t vocabulary,
                       std::int64_t positions) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_dim = hidden / heads,
          .ffn_hidden = 4 * hidden,
          .vocabulary = vocabulary,
          .max_positions = positions,
          .hidden_dropout = 0.1,
          .attention_dropout = 0.1};
}

/// Returns the model that a `config` of the vectors describes. GPT shapes have dropout, Llama shapes none.
inline Transformer vector_model(const nlohmann::ordered_json& config) {
  const bool gated = config.at("gated") == 1;
  const bool bias = config.at("bias") == 1;
  return {.layers = config.at("L"),
          .hidden = config.at("h"),
          .heads = config.at("a"),
          .kv_heads = config.at("g"),
          .head_dim = config.at("d"),
          .ffn_hidden = config.at("f"),
          .vocabulary = config.at("V"),
          .max_positions = config.at("pos"),
          .norm = config.at("ln") == 1 ? Norm::kLayerNorm : Norm::kRmsNorm,
          .activation = gated ? Activation::kSwiGlu : Activation::kGelu,
          .positions = config.at("pos") == 0 ? Positions::kRotary : Positions::kLearned,
          .tied_embeddings = config.at("tied") == 1,
          .linear_bias = bias,
          .qkv_bias = bias,
          .hidden_dropout = gated ? 0.0 : 0.1,
          .attention_dropout = gated ? 0.0 : 0.1};
}

}  // namespace foretoken::model::testdata
