// A transformer's architecture: the numbers of its config, its parameters and its operations.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/units.h"

namespace foretoken::model {

enum class Norm : std::uint8_t { kLayerNorm, kRmsNorm };
enum class Activation : std::uint8_t { kGelu, kSwiGlu, kGeGlu, kSquaredRelu, kRelu };
enum class Positions : std::uint8_t { kLearned, kRotary, kAlibi, kNone };

/// A dense decoder. Field names follow the field's usage; models/*.json use Hugging Face's names.
struct Transformer {
  std::string name = "";
  std::int64_t layers = 1;         ///< L
  std::int64_t hidden = 1;         ///< h
  std::int64_t heads = 1;          ///< a, query heads
  std::int64_t kv_heads = 1;       ///< g, key/value heads; equal to heads without grouped-query attention
  std::int64_t head_dim = 1;       ///< d; heads * head_dim may differ from hidden
  std::int64_t ffn_hidden = 1;     ///< f
  std::int64_t vocabulary = 1;     ///< V as configured, not padded
  std::int64_t max_positions = 0;  ///< learned position embeddings; 0 otherwise
  Norm norm = Norm::kLayerNorm;
  Activation activation = Activation::kGelu;
  Positions positions = Positions::kLearned;
  bool tied_embeddings = true;
  bool linear_bias = true;  ///< biases of proj, fc1, fc2 (and qkv unless qkv_bias says otherwise)
  bool qkv_bias = true;
  bool embedding_norm = false;     ///< BLOOM's layer norm behind the embedding
  bool parallel_residual = false;  ///< NeoX: attention and MLP side by side
  double hidden_dropout = 0.0;     ///< as in the model's config
  double attention_dropout = 0.0;
  bool norm_bias = true;  ///< LayerNorm's bias; MPT has none, RMSNorm never has one
  std::string source = "";

  [[nodiscard]] bool gated() const { return activation == Activation::kSwiGlu || activation == Activation::kGeGlu; }
  /// Matrices of the MLP: 2, or 3 when gated (gate, up, down).
  [[nodiscard]] int mlp_matrices() const { return gated() ? 3 : 2; }
};

/// Parameters of the matrix products of one layer: qkv, projection, MLP.
[[nodiscard]] double layer_matmul_parameters(const Transformer& model);
/// All parameters of one layer, with norms and biases.
[[nodiscard]] double layer_parameters(const Transformer& model);
/// Parameters of one norm: weight, and bias where the norm has one.
[[nodiscard]] double norm_parameters(const Transformer& model);
/// Parameters of one layer that every rank of a tensor-parallel group holds whole: norms, biases of proj and fc2.
[[nodiscard]] double replicated_layer_parameters(const Transformer& model);
/// Input embedding: token table, learned positions, BLOOM's norm.
[[nodiscard]] double embedding_parameters(const Transformer& model);
/// Final norm and, untied, the output head.
[[nodiscard]] double head_parameters(const Transformer& model);
/// All parameters.
[[nodiscard]] double total_parameters(const Transformer& model);

/// Operations of one training step over one sequence of length `sequence`, forward and backward (3 x forward), full
/// s x s attention, configured vocabulary: "model_noncausal" of the model vectors.
[[nodiscard]] Flop model_flop_per_sequence(const Transformer& model, std::int64_t sequence);
/// The same with causal attention halved, as current Megatron logs count.
[[nodiscard]] Flop causal_model_flop_per_sequence(const Transformer& model, std::int64_t sequence);

/// What recomputation repeats.
enum class RecomputedWork : std::uint8_t { kNone, kAttentionCore, kWholeLayer };
/// model_flop_per_sequence plus the operations recomputed in `recomputed_layers` layers, counted once each.
[[nodiscard]] Flop hardware_flop_per_sequence(const Transformer& model, std::int64_t sequence, RecomputedWork work,
                                              double recomputed_layers);

/// Vocabulary padded to a multiple of 128 x tensor (Megatron-LM, megatron/training/vocab_utils.py), or without padding
/// what tensor ranks share evenly.
[[nodiscard]] std::int64_t padded_vocabulary(const Transformer& model, int tensor, bool pads = true);

}  // namespace foretoken::model
