// The parts that an encoder has and a decoder lacks: tables, heads, and the share of tokens that the heads read.
#pragma once

#include <cstdint>

namespace foretoken::model {

/// An encoder of BERT's kind: every token sees every token of its sequence. A head is a part behind the last layer.
/// Sizes are those of transformers (src/transformers/models/{bert,roberta,electra,distilbert}/modeling_*.py).
struct Encoder {
  std::int64_t token_types = 0;      ///< rows of the table of token types; 0: no such table
  std::int64_t embedding_width = 0;  ///< of the tables (ELECTRA's embedding_size); 0: the hidden size

  /// Predicts masked tokens: product, activation and norm, then the vocabulary with a bias.
  bool masked_head = false;
  /// The first token of a sequence goes through a product of h x h and tanh.
  bool pooler = false;
  std::int64_t sequence_classes = 0;  ///< of the first token behind the pooler; next-sentence prediction has 2
  std::int64_t token_classes = 0;     ///< of every token: 2 for the ends of an answer, 1 for replaced tokens
  bool token_transform = false;       ///< a product of h x h and an activation stand before the classes of tokens

  /// Part of the tokens that the masked head reads. The job takes it from the batch; 1: all tokens.
  double predicted_share = 1;

  /// Returns true when some head makes a loss.
  [[nodiscard]] bool trains() const { return masked_head || sequence_classes > 0 || token_classes > 0; }
};

}  // namespace foretoken::model
