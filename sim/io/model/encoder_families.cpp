// Reads bert, roberta, electra and distilbert: encoders, and the heads that `architectures` names.
//
// Names and defaults come from transformers, src/transformers/models/*/configuration_*.py. Heads come from the classes
// of the modeling_*.py beside them: BertForPreTraining has two, BertModel has a pooler and no loss.
#include "sim/io/model/encoder_families.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "sim/io/model/family_parts.h"

namespace foretoken::io {
namespace {

using model::Activation;
using model::Encoder;
using model::NormPlaces;
using model::Positions;
using model::Transformer;

/// A class of transformers by the end of its name, and the heads that it adds.
struct HeadClass {
  std::string_view suffix;
  void (*add)(Encoder&, std::int64_t labels);
};

void add_none(Encoder&, std::int64_t) {}

void add_pooler(Encoder& encoder, std::int64_t) { encoder.pooler = true; }

void add_masked(Encoder& encoder, std::int64_t) { encoder.masked_head = true; }

void add_sequence_classes(Encoder& encoder, std::int64_t labels) {
  encoder.pooler = true;
  encoder.sequence_classes = labels;
}

void add_token_classes(Encoder& encoder, std::int64_t labels) { encoder.token_classes = labels; }

// The first and the last token of the answer.
void add_answer(Encoder& encoder, std::int64_t) { encoder.token_classes = 2; }

// Masked tokens, and a choice of two: the second sentence follows the first, or not.
void add_masked_and_next_sentence(Encoder& encoder, std::int64_t) {
  encoder.masked_head = true;
  add_sequence_classes(encoder, 2);
}

// ELECTRA's discriminator: each token was replaced, or not.
void add_replaced_tokens(Encoder& encoder, std::int64_t) {
  encoder.token_classes = 1;
  encoder.token_transform = true;
}

using HeadClasses = std::vector<HeadClass>;

/// The heads of a family. The first one counts where a config names no class.
struct FamilyHeads {
  std::string_view prefix;
  HeadClasses classes;
};

FamilyHeads heads_of(std::string_view prefix, HeadClass usual, void (*add_to_body)(Encoder&, std::int64_t)) {
  return {prefix,
          {usual,
           {"Model", add_to_body},
           {"ForMaskedLM", add_masked},
           {"ForSequenceClassification", add_sequence_classes},
           {"ForTokenClassification", add_token_classes},
           {"ForQuestionAnswering", add_answer}}};
}

std::int64_t labels_of(const Node& node) {
  constexpr WholeRange kLabels{.low = 1, .high = 1 << 20};
  if (const auto names = node.find_object("id2label"))
    if (!names->keys().empty()) return static_cast<std::int64_t>(names->keys().size());
  return node.whole_or("num_labels", 2, kLabels);
}

void add_heads(const Node& node, const FamilyHeads& heads, Encoder& encoder) {
  const auto names = node.find_array("architectures");
  if (!names || names->empty()) return heads.classes.front().add(encoder, labels_of(node));
  const Node& first = names->front();
  const std::string name = first.as_text();
  std::vector<std::string> known;
  for (const HeadClass& head : heads.classes) {
    if (name == fmt::format("{}{}", heads.prefix, head.suffix)) return head.add(encoder, labels_of(node));
    known.push_back(fmt::format("{}{}", heads.prefix, head.suffix));
  }
  if (!first.is_text()) return;
  known.erase(known.begin());  // the usual class stands in the list, or has a name of its own
  const std::string usual = fmt::format("{}{}", heads.prefix, heads.classes.front().suffix);
  if (std::find(known.begin(), known.end(), usual) == known.end()) known.insert(known.begin(), usual);
  first.complain(
      fmt::format("{} is not supported{}", in_quotes(name), meant_or_known(name, known, "docs/user/scenarios.md")));
}

// Every encoder of this file norms the sums with the residual, and its embedding.
void read_encoder_body(const Node& node, Transformer& model, const FamilyHeads& heads) {
  Encoder& encoder = model.encoder.emplace();
  add_heads(node, heads, encoder);
  model.norm_places = NormPlaces::kSums;
  model.embedding_norm = true;
  model.positions = Positions::kLearned;
  model.max_positions = node.whole("max_position_embeddings", kPositionsRange);
  model.tied_embeddings = encoder.masked_head;
  model.head_bias = encoder.masked_head;
  require_switch(node, "is_decoder", false, "this model_type is supported as an encoder");
}

void read_bert_body(const Node& node, Transformer& model, const FamilyHeads& heads) {
  read_sizes(node, {"num_hidden_layers", "hidden_size", "num_attention_heads", "vocab_size"}, model);
  read_encoder_body(node, model, heads);
  model.ffn_hidden = node.whole("intermediate_size", kWidth);
  read_plain_activation(node, "hidden_act", "gelu", model);
  model.hidden_dropout = node.number_or("hidden_dropout_prob", 0.1, kFraction);
  model.attention_dropout = node.number_or("attention_probs_dropout_prob", 0.1, kFraction);
  (void)node.one_of_or("position_embedding_type", true, {{"absolute", true}});
  if (const auto width = node.find_whole("emb_size", kWidth); width && *width != model.hidden)
    node.complain("emb_size", fmt::format("expected hidden_size {}, found {}", model.hidden, *width));
  require_switch(node, "tie_word_embeddings", true, "an untied head of masked tokens is not supported");
}

void read_bert(const Node& node, Transformer& model) {
  FamilyHeads heads = heads_of("Bert", {"ForPreTraining", add_masked_and_next_sentence}, add_pooler);
  heads.classes.push_back({"ForNextSentencePrediction", add_sequence_classes});
  read_bert_body(node, model, heads);
  model.encoder->token_types = node.whole_or("type_vocab_size", 2, kWidth);
}

void read_roberta(const Node& node, Transformer& model) {
  read_bert_body(node, model, heads_of("Roberta", {"ForMaskedLM", add_masked}, add_pooler));
  model.encoder->token_types = node.whole_or("type_vocab_size", 1, kWidth);
}

void read_xlm_roberta(const Node& node, Transformer& model) {
  read_bert_body(node, model, heads_of("XLMRoberta", {"ForMaskedLM", add_masked}, add_pooler));
  model.encoder->token_types = node.whole_or("type_vocab_size", 1, kWidth);
}

void read_electra(const Node& node, Transformer& model) {
  read_bert_body(node, model, heads_of("Electra", {"ForPreTraining", add_replaced_tokens}, add_none));
  model.encoder->token_types = node.whole_or("type_vocab_size", 2, kWidth);
  model.encoder->embedding_width = node.whole_or("embedding_size", model.hidden, kWidth);
}

void read_distilbert(const Node& node, Transformer& model) {
  read_sizes(node, {"n_layers", "dim", "n_heads", "vocab_size"}, model);
  read_encoder_body(node, model, heads_of("DistilBert", {"ForMaskedLM", add_masked}, add_none));
  model.ffn_hidden = node.whole("hidden_dim", kWidth);
  read_plain_activation(node, "activation", "gelu", model);
  model.hidden_dropout = node.number_or("dropout", 0.1, kFraction);
  model.attention_dropout = node.number_or("attention_dropout", 0.1, kFraction);
  for (const char* key : {"qa_dropout", "seq_classif_dropout"}) (void)node.number_or(key, 0.1, kFraction);
  require_switch(node, "sinusoidal_pos_embds", false, "fixed positions are not supported");
  require_switch(node, "tie_weights_", true, "an untied head of masked tokens is not supported");
}

// The last seven are read by no code: a second name of the width (rubert-tiny), and a pooler. Published BERT configs
// have them.
constexpr std::string_view kBertKeys[] = {"num_hidden_layers",
                                          "hidden_size",
                                          "num_attention_heads",
                                          "vocab_size",
                                          "intermediate_size",
                                          "max_position_embeddings",
                                          "type_vocab_size",
                                          "hidden_act",
                                          "hidden_dropout_prob",
                                          "attention_probs_dropout_prob",
                                          "position_embedding_type",
                                          "tie_word_embeddings",
                                          "directionality",
                                          "emb_size",
                                          "pooler_fc_size",
                                          "pooler_num_attention_heads",
                                          "pooler_num_fc_layers",
                                          "pooler_size_per_head",
                                          "pooler_type"};
constexpr std::string_view kDistilBertKeys[] = {
    "n_layers",    "dim",     "n_heads",           "vocab_size", "hidden_dim",          "max_position_embeddings",
    "activation",  "dropout", "attention_dropout", "qa_dropout", "seq_classif_dropout", "sinusoidal_pos_embds",
    "tie_weights_"};
}  // namespace

std::span<const ModelFamily> encoder_families() {
  static const std::vector<std::string_view> kElectraKeys = [] {
    std::vector<std::string_view> keys(std::begin(kBertKeys), std::end(kBertKeys));
    for (const std::string_view key : {"embedding_size", "generator_size"}) keys.push_back(key);
    return keys;
  }();
  static const ModelFamily kEncoders[] = {{"bert", kBertKeys, read_bert},
                                          {"roberta", kBertKeys, read_roberta},
                                          {"xlm-roberta", kBertKeys, read_xlm_roberta},
                                          {"electra", kElectraKeys, read_electra},
                                          {"distilbert", kDistilBertKeys, read_distilbert}};
  return kEncoders;
}

}  // namespace foretoken::io
