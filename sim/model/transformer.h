// A transformer's architecture: the numbers of its config, and the kinds of its layers where not all are dense.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/units.h"
#include "sim/model/block.h"
#include "sim/model/encoder.h"
#include "sim/model/encoder_decoder.h"
#include "sim/model/experts.h"
#include "sim/model/tuning/fine_tuning.h"

namespace foretoken::model {

enum class Norm : std::uint8_t { kLayerNorm, kRmsNorm };
enum class Activation : std::uint8_t { kGelu, kSwiGlu, kGeGlu, kSquaredRelu, kRelu };
enum class Positions : std::uint8_t { kLearned, kRotary, kAlibi, kNone };
/// Norms of queries and keys before the attention core: none, of each head (Qwen3), of each head without weights (Llama
/// 4), or of all heads at once (OLMo 2).
enum class QkNorm : std::uint8_t { kNone, kHead, kPlainHead, kAllHeads };
/// Norms of a layer: before attention and MLP, behind both (OLMo 2), before and behind both (Gemma 2 and 3), or of the
/// sums with the residual (BERT).
enum class NormPlaces : std::uint8_t { kBefore, kBehind, kBoth, kSums };

/// A decoder, with `encoder` an encoder, or with `encoder_decoder` both. Field names follow the field's usage;
/// models/*.json use Hugging Face's names.
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
  bool gelu_new = false;  ///< Hugging Face's GeLU with tanh, which eager code computes in eight kernels
  Positions positions = Positions::kLearned;
  bool tied_embeddings = true;
  bool linear_bias = true;  ///< biases of proj, fc1, fc2 (and qkv unless qkv_bias says otherwise)
  bool qkv_bias = true;
  bool embedding_norm = false;     ///< BLOOM's layer norm after the embedding
  bool parallel_residual = false;  ///< NeoX: attention and MLP side by side
  bool shared_norm = false;        ///< with a parallel residual: attention and MLP read one norm (GPT-J, Falcon-7B)
  double hidden_dropout = 0.0;     ///< as in the model's config
  double attention_dropout = 0.0;
  double activation_dropout = 0.0;  ///< between the activation of an MLP and its second product (T5, BART)
  bool norm_bias = true;            ///< LayerNorm's bias; MPT has none, RMSNorm never has one
  bool norm_scale = true;           ///< norms have a weight; OLMo 1 has none
  bool projection_bias = true;      ///< bias of the attention's projection, where linears have biases; GPT-J has none
  bool mlp_bias = true;             ///< biases of MLPs and experts, where linears have biases; Phi-MoE has none
  bool head_bias = false;           ///< GPT-J's bias of the output projection
  bool scaled_embedding = false;    ///< a kernel multiplies embedded tokens by a number (Gemma, Granite)
  QkNorm qk_norm = QkNorm::kNone;
  NormPlaces norm_places = NormPlaces::kBefore;
  std::int64_t attention_window = 0;        ///< tokens that the narrowest attention layer sees; 0: all
  std::optional<Experts> experts{};         ///< none: every layer has an MLP
  std::optional<LatentAttention> latent{};  ///< none: one product makes queries, keys and values
  LocalAttention local{};
  bool attention_sinks = false;  ///< one number a head takes part in the softmax (GPT-OSS)
  /// Layers behind the last that predict one further token each (multi-token prediction, arXiv:2412.19437 section 2.2).
  std::int64_t prediction_layers = 0;
  std::optional<Encoder> encoder{};                 ///< none: a decoder, whose tokens see only those before them
  std::optional<EncoderDecoder> encoder_decoder{};  ///< none: a decoder or an encoder alone
  FineTuning tuning{};                              ///< the weights that train; the job takes it from the question
  std::string source = "";
  /// Kinds of layers in forward order, `layers` in all. Without it every layer is a dense one with the numbers above.
  std::optional<std::vector<LayerRun>> stack{};

  [[nodiscard]] bool biased_projection() const { return linear_bias && projection_bias; }
  [[nodiscard]] bool biased_mlp() const { return linear_bias && mlp_bias; }
  [[nodiscard]] bool gated() const { return activation == Activation::kSwiGlu || activation == Activation::kGeGlu; }
  [[nodiscard]] bool normed_before() const {
    return norm_places == NormPlaces::kBefore || norm_places == NormPlaces::kBoth;
  }
  [[nodiscard]] bool normed_behind() const {
    return norm_places == NormPlaces::kBehind || norm_places == NormPlaces::kBoth;
  }
  [[nodiscard]] bool normed_sums() const { return norm_places == NormPlaces::kSums; }
  /// Width of the tables of tokens and positions.
  [[nodiscard]] std::int64_t embedding_width() const {
    return encoder && encoder->embedding_width > 0 ? encoder->embedding_width : hidden;
  }
  /// Returns true when all layers are alike and dense.
  [[nodiscard]] bool uniform() const { return !stack && !experts && local.window == 0 && !encoder_decoder; }
  /// Returns true when all layers are alike, dense or with experts.
  [[nodiscard]] bool one_kind() const {
    if (uniform()) return true;
    return !stack && local.window == 0 && !encoder_decoder && experts->dense_first == 0 && experts->every == 1;
  }
  /// Matrices of the MLP: 2, or 3 when gated (gate, up, down).
  [[nodiscard]] int mlp_matrices() const { return gated() ? 3 : 2; }
};

/// Returns the vocabulary padded to a multiple of 128 x tensor (Megatron-LM, megatron/training/vocab_utils.py). Without
/// `pads` it is padded only until tensor ranks share it evenly.
[[nodiscard]] std::int64_t padded_vocabulary(const Transformer& model, int tensor, bool pads = true);

}  // namespace foretoken::model
