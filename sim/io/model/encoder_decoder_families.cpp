// Reads t5, mt5, and bart with the families of its code: an encoder, and a decoder with cross-attention.
//
// Names and defaults come from transformers, src/transformers/models/{t5,mt5,bart,mbart,m2m_100,pegasus,marian,plbart,
// mvp,blenderbot,blenderbot_small}/configuration_*.py. The layers come from the modeling_*.py beside them.
#include "sim/io/model/encoder_decoder_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::EncoderDecoder;
using model::Norm;
using model::NormPlaces;
using model::Positions;
using model::Transformer;

// Both halves are trained: a class of one half, or with another head, is another model.
void check_class(const Node& node, const std::vector<std::string>& known) {
  const auto names = node.find_array("architectures");
  if (!names || names->empty() || !names->front().is_text()) return;
  const std::string name = names->front().as_text();
  for (const std::string& one : known)
    if (one == name) return;
  names->front().complain(
      fmt::format("{} is not supported{}", in_quotes(name), meant_or_known(name, known, "docs/user/scenarios.md")));
}

// T5 1.0 has ReLU without a gate, T5 1.1 and mT5 a gated GeLU, UL2 a gated SiLU. The gated GeLU is gelu_new
// (transformers, configuration_t5.py).
Activation t5_activation(const Node& node, Activation usual) {
  return node.one_of_or("feed_forward_proj", usual,
                        {{"relu", Activation::kRelu},
                         {"gelu", Activation::kGelu},
                         {"gated-gelu", Activation::kGeGlu},
                         {"gated-silu", Activation::kSwiGlu}});
}

/// The values that a family takes where its config is silent.
struct T5Defaults {
  bool tied_embeddings = true;
  Activation activation = Activation::kRelu;
};

void read_t5_config(const Node& node, Transformer& model, const T5Defaults& usual) {
  constexpr std::int64_t kBuckets = 32;
  read_sizes(node, {"num_layers", "d_model", "num_heads", "vocab_size"}, model);
  EncoderDecoder& halves = model.encoder_decoder.emplace();
  halves.encoder_layers = model.layers;
  halves.position_buckets = node.whole_or("relative_attention_num_buckets", kBuckets, kWidth);
  model.layers += node.whole_or("num_decoder_layers", halves.encoder_layers, kLayers);
  model.head_dim = node.whole_or("d_kv", 64, kWidth);
  model.ffn_hidden = node.whole("d_ff", kWidth);
  model.activation = t5_activation(node, usual.activation);
  model.gelu_new = model.activation == Activation::kGeGlu;
  model.norm = Norm::kRmsNorm;
  model.positions = Positions::kNone;
  model.linear_bias = model.qkv_bias = false;
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", usual.tied_embeddings);
  model.hidden_dropout = model.attention_dropout = model.activation_dropout =
      node.number_or("dropout_rate", 0.1, kFraction);
  require_switch(node, "is_encoder_decoder", true, "half of an encoder-decoder is not supported");
  for (const char* key : {"relative_attention_max_distance", "n_positions"})
    (void)node.find_whole(key, kPositionsRange);
}

void read_t5(const Node& node, Transformer& model) {
  check_class(node, {"T5ForConditionalGeneration", "T5WithLMHeadModel", "T5Model"});
  read_t5_config(node, model, {});
}

void read_mt5(const Node& node, Transformer& model) {
  check_class(node, {"MT5ForConditionalGeneration", "T5ForConditionalGeneration", "MT5Model"});
  read_t5_config(node, model, {.tied_embeddings = false, .activation = Activation::kGeGlu});
}

// Both halves have the same heads and MLPs here; a config states them twice.
void read_equal_halves(const Node& node, Transformer& model) {
  const auto same = [&](const char* key, std::int64_t encoder) {
    if (const auto decoder = node.find_whole(key, kWidth); decoder && *decoder != encoder)
      node.complain(
          key, fmt::format("expected {}, as in the encoder, found {}: halves of other sizes are not supported", encoder,
                           *decoder));
  };
  same("decoder_attention_heads", model.heads);
  same("decoder_ffn_dim", model.ffn_hidden);
}

/// The families of BART's code differ in these parts.
struct BartParts {
  bool fixed_positions = false;  ///< sines and cosines, which have no weights
  bool embedding_norm = true;    ///< behind the embedding of each half
  bool norms_of_sums = false;    ///< norms of the sums with the residual, and none behind the halves
  std::int64_t positions = 1024;
  std::int64_t unused_rows = 2;  ///< BartLearnedPositionalEmbedding keeps two rows that no token uses
  std::string_view activation = "gelu";
  double attention_dropout = 0, layerdrop = 0;
  bool scaled_embedding = false;
};

void read_bart_config(const Node& node, Transformer& model, const BartParts& parts) {
  read_sizes(node, {"encoder_layers", "d_model", "encoder_attention_heads", "vocab_size"}, model);
  model.ffn_hidden = node.whole("encoder_ffn_dim", kWidth);
  read_equal_halves(node, model);
  EncoderDecoder& halves = model.encoder_decoder.emplace();
  halves.encoder_layers = model.layers;
  halves.decoder_positions = !parts.fixed_positions;
  halves.final_norms = !parts.norms_of_sums;
  if (parts.norms_of_sums) model.norm_places = NormPlaces::kSums;
  model.layers += node.whole("decoder_layers", kLayers);
  const std::int64_t positions = node.whole_or("max_position_embeddings", parts.positions, kPositionsRange);
  if (parts.fixed_positions)
    model.positions = Positions::kNone;
  else
    model.max_positions = positions + parts.unused_rows;
  read_plain_activation(node, "activation_function", parts.activation, model);
  model.hidden_dropout = node.number_or("dropout", 0.1, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", parts.attention_dropout, kFraction);
  model.activation_dropout = node.number_or("activation_dropout", 0, kFraction);
  model.embedding_norm = parts.embedding_norm;
  model.scaled_embedding = node.boolean_or("scale_embedding", parts.scaled_embedding);
  model.tied_embeddings = node.boolean_or("tie_word_embeddings", true);
  for (const char* key : {"encoder_layerdrop", "decoder_layerdrop"})
    if (node.number_or(key, parts.layerdrop, kFraction) != 0)
      node.complain(key, fmt::format("expected 0: dropping layers at random is not supported; this family's default "
                                     "is {}",
                                     parts.layerdrop));
  require_switch(node, "is_encoder_decoder", true, "half of an encoder-decoder is not supported");
  require_switch(node, "static_position_embeddings", parts.fixed_positions,
                 parts.fixed_positions ? "this family has fixed positions" : "fixed positions are not supported");
  require_switch(node, "normalize_embedding", parts.embedding_norm,
                 parts.embedding_norm ? "an embedding without a norm is not supported"
                                      : "this family has no norm behind its embedding");
  for (const char* key : {"classif_dropout", "classifier_dropout"}) (void)node.number_or(key, 0, kFraction);
  for (const char* key : {"num_hidden_layers", "extra_pos_embeddings"}) (void)node.find_whole(key, kWidth);
  for (const char* key : {"add_bias_logits", "normalize_before", "add_final_layer_norm"})
    (void)node.boolean_or(key, false);
}

// BART norms the sums with the residual and has no norm behind its halves.
void read_bart(const Node& node, Transformer& model) {
  check_class(node, {"BartForConditionalGeneration", "BartModel"});
  read_bart_config(node, model, {.norms_of_sums = true});
  for (const char* key : {"normalize_before", "add_final_layer_norm"})
    require_switch(node, key, false, "mBART has these norms; try model_type \"mbart\"");
}

void read_mbart(const Node& node, Transformer& model) {
  check_class(node, {"MBartForConditionalGeneration", "MBartModel"});
  read_bart_config(node, model, {});
}

// M2M-100 and NLLB.
void read_m2m_100(const Node& node, Transformer& model) {
  check_class(node, {"M2M100ForConditionalGeneration", "M2M100Model"});
  read_bart_config(node, model,
                   {.fixed_positions = true,
                    .embedding_norm = false,
                    .activation = "relu",
                    .attention_dropout = 0.1,
                    .layerdrop = 0.05,
                    .scaled_embedding = true});
}

void read_pegasus(const Node& node, Transformer& model) {
  check_class(node, {"PegasusForConditionalGeneration", "PegasusModel"});
  read_bart_config(node, model, {.fixed_positions = true, .embedding_norm = false});
}

// MarianMT, the models of Opus-MT. One table of words serves both halves and the head.
void read_marian(const Node& node, Transformer& model) {
  check_class(node, {"MarianMTModel", "MarianModel"});
  read_bart_config(node, model, {.fixed_positions = true, .embedding_norm = false, .norms_of_sums = true});
  require_switch(node, "share_encoder_decoder_embeddings", true, "a table of words for each half is not supported");
  if (const auto words = node.find_whole("decoder_vocab_size", kWidth); words && *words != model.vocabulary)
    node.complain("decoder_vocab_size",
                  fmt::format("expected {}, as vocab_size, found {}: a table of words for each half is not supported",
                              model.vocabulary, *words));
}

void read_plbart(const Node& node, Transformer& model) {
  check_class(node, {"PLBartForConditionalGeneration", "PLBartModel"});
  read_bart_config(node, model, {.norms_of_sums = true, .attention_dropout = 0.1, .scaled_embedding = true});
}

void read_mvp(const Node& node, Transformer& model) {
  check_class(node, {"MvpForConditionalGeneration", "MvpModel"});
  read_bart_config(node, model, {.norms_of_sums = true});
  require_switch(node, "use_prompt", false, "prompts of each layer are not supported");
  for (const char* key : {"prompt_length", "prompt_mid_dim"}) (void)node.find_whole(key, kWidth);
}

// BlenderbotLearnedPositionalEmbedding has no unused rows, nor has that of blenderbot-small.
void read_blenderbot(const Node& node, Transformer& model) {
  check_class(node, {"BlenderbotForConditionalGeneration", "BlenderbotModel"});
  read_bart_config(node, model, {.embedding_norm = false, .positions = 128, .unused_rows = 0});
}

void read_blenderbot_small(const Node& node, Transformer& model) {
  check_class(node, {"BlenderbotSmallForConditionalGeneration", "BlenderbotSmallModel"});
  read_bart_config(node, model, {.norms_of_sums = true, .positions = 512, .unused_rows = 0});
}

constexpr std::string_view kT5Keys[] = {"num_layers",
                                        "num_decoder_layers",
                                        "d_model",
                                        "d_kv",
                                        "d_ff",
                                        "num_heads",
                                        "vocab_size",
                                        "feed_forward_proj",
                                        "dense_act_fn",
                                        "is_gated_act",
                                        "relative_attention_num_buckets",
                                        "relative_attention_max_distance",
                                        "dropout_rate",
                                        "initializer_factor",
                                        "n_positions",
                                        "output_past",
                                        "is_encoder_decoder",
                                        "tie_word_embeddings"};
constexpr std::string_view kBartKeys[] = {"encoder_layers",
                                          "decoder_layers",
                                          "d_model",
                                          "encoder_attention_heads",
                                          "decoder_attention_heads",
                                          "encoder_ffn_dim",
                                          "decoder_ffn_dim",
                                          "vocab_size",
                                          "max_position_embeddings",
                                          "activation_function",
                                          "dropout",
                                          "attention_dropout",
                                          "activation_dropout",
                                          "encoder_layerdrop",
                                          "decoder_layerdrop",
                                          "scale_embedding",
                                          "normalize_before",
                                          "normalize_embedding",
                                          "static_position_embeddings",
                                          "add_final_layer_norm",
                                          "add_bias_logits",
                                          "classif_dropout",
                                          "classifier_dropout",
                                          "num_hidden_layers",
                                          "extra_pos_embeddings",
                                          "init_std",
                                          "is_encoder_decoder",
                                          "tie_word_embeddings"};

std::vector<std::string_view> with_bart_keys(std::initializer_list<std::string_view> more) {
  std::vector<std::string_view> keys(std::begin(kBartKeys), std::end(kBartKeys));
  keys.insert(keys.end(), more);
  return keys;
}

}  // namespace

std::span<const ModelFamily> encoder_decoder_families() {
  static const std::vector<std::string_view> kMarianKeys = with_bart_keys(
                                                 {"share_encoder_decoder_embeddings", "decoder_vocab_size"}),
                                             kMvpKeys =
                                                 with_bart_keys({"use_prompt", "prompt_length", "prompt_mid_dim"}),
                                             kBlenderbotKeys =
                                                 with_bart_keys({"do_blenderbot_90_layernorm", "layernorm_variant",
                                                                 "extra_layer_norm"});
  static const ModelFamily kFamilies[] = {{"t5", kT5Keys, read_t5},
                                          {"mt5", kT5Keys, read_mt5},
                                          {"bart", kBartKeys, read_bart},
                                          {"mbart", kBartKeys, read_mbart},
                                          {"m2m_100", kBartKeys, read_m2m_100},
                                          {"pegasus", kBartKeys, read_pegasus},
                                          {"marian", kMarianKeys, read_marian},
                                          {"plbart", kBartKeys, read_plbart},
                                          {"mvp", kMvpKeys, read_mvp},
                                          {"blenderbot", kBlenderbotKeys, read_blenderbot},
                                          {"blenderbot-small", kBlenderbotKeys, read_blenderbot_small}};
  return kFamilies;
}

}  // namespace foretoken::io
