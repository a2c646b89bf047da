// A small model for tests.
#pragma once

#include "sim/model/transformer.h"

namespace foretoken::model {

/// Two layers with h 64, 8 heads and f 256, for sequences of 32 tokens.
[[nodiscard]] inline Transformer small_model() {
  Transformer model;
  model.layers = 2;
  model.hidden = 64;
  model.heads = model.kv_heads = 8;
  model.head_dim = 8;
  model.ffn_hidden = 256;
  model.vocabulary = 1000;
  model.max_positions = 32;
  return model;
}

}  // namespace foretoken::model
