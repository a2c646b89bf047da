// Tests published parameter counts of encoders, the heads that a class adds, and complaints about classes.
//
// Counts are those of transformers' classes, as model cards and papers of the checkpoints print them: 110M and 340M for
// BERT (arXiv:1810.04805 section 3), 125M and 355M for RoBERTa, 14M, 110M and 335M for ELECTRA, 66M for DistilBERT.
#include "sim/io/model/encoder_families.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sim/io/model/test_model.h"
#include "sim/model/counts/parameters.h"

namespace foretoken::io {
namespace {

struct PublishedEncoder {
  const char* name;
  const char* config;
  std::int64_t parameters;
};

constexpr PublishedEncoder kPublishedEncoders[] = {
    {"bert-base-uncased, body and pooler",
     R"({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 12, "hidden_size": 768,
         "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2})",
     109'482'240},
    {"bert-base-uncased with both heads of its pre-training",
     R"({"model_type": "bert", "architectures": ["BertForPreTraining"], "num_hidden_layers": 12,
         "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522,
         "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2})",
     110'106'428},
    {"bert-base-uncased, masked tokens only",
     R"({"model_type": "bert", "architectures": ["BertForMaskedLM"], "num_hidden_layers": 12, "hidden_size":
         768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "hidden_act":
         "gelu", "max_position_embeddings": 512, "type_vocab_size": 2})",
     109'514'298},
    {"bert-base-cased, body and pooler",
     R"({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 12, "hidden_size": 768,
         "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 28996, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2})",
     108'310'272},
    {"bert-base-multilingual-cased, body and pooler",
     R"({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 12, "hidden_size": 768,
         "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 119547, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2})",
     177'853'440},
    {"bert-large-uncased, body and pooler",
     R"({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 24, "hidden_size": 1024,
         "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 30522, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2})",
     335'141'888},
    {"bert-large-uncased with both heads of its pre-training",
     R"({"model_type": "bert", "architectures": ["BertForPreTraining"], "num_hidden_layers": 24,
         "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 30522,
         "hidden_act": "gelu", "max_position_embeddings": 512, "type_vocab_size": 2})",
     336'226'108},
    {"bert-large-cased, body and pooler",
     R"({"model_type": "bert", "architectures": ["BertModel"], "num_hidden_layers": 24, "hidden_size": 1024,
         "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 28996, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2})",
     333'579'264},
    {"roberta-base, body and pooler",
     R"({"model_type": "roberta", "architectures": ["RobertaModel"], "num_hidden_layers": 12, "hidden_size":
         768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265, "hidden_act":
         "gelu", "max_position_embeddings": 514, "type_vocab_size": 1})",
     124'645'632},
    {"roberta-base, masked tokens",
     R"({"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "num_hidden_layers": 12,
         "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 50265,
         "hidden_act": "gelu", "max_position_embeddings": 514, "type_vocab_size": 1})",
     124'697'433},
    {"roberta-large, body and pooler",
     R"({"model_type": "roberta", "architectures": ["RobertaModel"], "num_hidden_layers": 24, "hidden_size":
         1024, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 50265, "hidden_act":
         "gelu", "max_position_embeddings": 514, "type_vocab_size": 1})",
     355'359'744},
    {"roberta-large, masked tokens",
     R"({"model_type": "roberta", "architectures": ["RobertaForMaskedLM"], "num_hidden_layers": 24,
         "hidden_size": 1024, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 50265,
         "hidden_act": "gelu", "max_position_embeddings": 514, "type_vocab_size": 1})",
     355'412'057},
    {"xlm-roberta-base, body and pooler",
     R"({"model_type": "xlm-roberta", "architectures": ["XLMRobertaModel"], "num_hidden_layers": 12,
         "hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 250002,
         "hidden_act": "gelu", "max_position_embeddings": 514, "type_vocab_size": 1})",
     278'043'648},
    {"electra-small-discriminator, body",
     R"({"model_type": "electra", "architectures": ["ElectraModel"], "num_hidden_layers": 12, "hidden_size":
         256, "num_attention_heads": 4, "intermediate_size": 1024, "vocab_size": 30522, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2, "embedding_size": 128})",
     13'483'008},
    {"electra-base-discriminator, body",
     R"({"model_type": "electra", "architectures": ["ElectraModel"], "num_hidden_layers": 12, "hidden_size":
         768, "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522, "hidden_act":
         "gelu", "max_position_embeddings": 512, "type_vocab_size": 2, "embedding_size": 768})",
     108'891'648},
    {"electra-large-discriminator, body",
     R"({"model_type": "electra", "architectures": ["ElectraModel"], "num_hidden_layers": 24, "hidden_size":
         1024, "num_attention_heads": 16, "intermediate_size": 4096, "vocab_size": 30522, "hidden_act":
         "gelu", "max_position_embeddings": 512, "type_vocab_size": 2, "embedding_size": 1024})",
     334'092'288},
    {"electra-base-generator, body: tables wider than the layers",
     R"({"model_type": "electra", "architectures": ["ElectraModel"], "num_hidden_layers": 12, "hidden_size":
         256, "num_attention_heads": 4, "intermediate_size": 1024, "vocab_size": 30522, "hidden_act": "gelu",
         "max_position_embeddings": 512, "type_vocab_size": 2, "embedding_size": 768})",
     33'511'168},
    {"distilbert-base-uncased, body",
     R"({"model_type": "distilbert", "architectures": ["DistilBertModel"], "n_layers": 6, "dim": 768,
         "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
         "tie_weights_": true})",
     66'362'880},
    {"distilbert-base-uncased, masked tokens",
     R"({"model_type": "distilbert", "architectures": ["DistilBertForMaskedLM"], "n_layers": 6, "dim": 768,
         "n_heads": 12, "hidden_dim": 3072, "vocab_size": 30522, "max_position_embeddings": 512,
         "tie_weights_": true})",
     66'985'530}};

TEST(EncoderFamilies, ParameterCountsOfPublishedEncoders) {
  for (const PublishedEncoder& published : kPublishedEncoders) {
    SCOPED_TRACE(published.name);
    std::string complaints;
    const model::Transformer model = read_model_text(published.config, complaints);
    EXPECT_EQ(complaints, "");
    EXPECT_TRUE(model.encoder);
    EXPECT_EQ(static_cast<std::int64_t>(model::total_parameters(model)), published.parameters);
  }
}

/// A BERT of two layers with `more` keys.
std::string small_bert(const std::string& more) {
  return R"({"model_type": "bert", "num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2,
             "intermediate_size": 32, "vocab_size": 100, "max_position_embeddings": 16)" +
         more + "}";
}

std::int64_t parameters_of(const std::string& more) {
  std::string complaints;
  const model::Transformer model = read_model_text(small_bert(more), complaints);
  EXPECT_EQ(complaints, "");
  return static_cast<std::int64_t>(model::total_parameters(model));
}

// In symbols: h = 8 hidden, V = 100 words, n labels.
TEST(EncoderFamilies, EveryClassAddsItsHead) {
  const std::int64_t h = 8, words = 100, pooler = h * h + h;
  const std::int64_t body = parameters_of(R"(, "architectures": ["BertModel"])") - pooler;
  const std::int64_t masked = pooler + 2 * h + words;
  EXPECT_EQ(parameters_of(""), body + masked + pooler + 2 * h + 2);
  EXPECT_EQ(parameters_of(R"(, "architectures": ["BertForMaskedLM"])"), body + masked);
  EXPECT_EQ(parameters_of(R"(, "architectures": ["BertForQuestionAnswering"])"), body + 2 * h + 2);
  EXPECT_EQ(parameters_of(R"(, "architectures": ["BertForTokenClassification"], "num_labels": 9)"), body + 9 * h + 9);
  EXPECT_EQ(parameters_of(R"(, "architectures": ["BertForSequenceClassification"],
                             "id2label": {"0": "a", "1": "b", "2": "c"})"),
            body + pooler + 3 * h + 3);
  EXPECT_EQ(parameters_of(R"(, "architectures": ["BertForNextSentencePrediction"])"), body + pooler + 2 * h + 2);
}

struct WrongEncoder {
  std::string more, complaint;
};

TEST(EncoderFamilies, WrongConfigsGetOneLine) {
  const std::string classes =
      "; there are BertForPreTraining, BertModel, BertForMaskedLM and 4 more (docs/user/scenarios.md)\n";
  const WrongEncoder cases[] = {
      {R"(, "architectures": ["BertLMHeadModel"])",
       "t.json: /architectures/0: \"BertLMHeadModel\" is not supported" + classes},
      {R"(, "architectures": ["BertForMaskedLm"])",
       "t.json: /architectures/0: \"BertForMaskedLm\" is not supported; did you mean \"BertForMaskedLM\"?\n"},
      {R"(, "is_decoder": true)",
       "t.json: /is_decoder: expected false, found true: this model_type is supported as an encoder\n"},
      {R"(, "position_embedding_type": "relative_key")",
       "t.json: /position_embedding_type: expected \"absolute\", found \"relative_key\"\n"},
      {R"(, "tie_word_embeddings": false)",
       "t.json: /tie_word_embeddings: expected true, found false: an untied head of masked tokens is not supported\n"},
      {R"(, "num_labels": 0)", "t.json: /num_labels: expected a whole number from 1 to 1048576, found 0\n"},
      {R"(, "embedding_size": 4)", "t.json: /embedding_size: unknown key"},
      {R"(, "type_vocab_size": 0)", "t.json: /type_vocab_size: expected"},
      {R"(, "hidden_act": "mish")", "t.json: /hidden_act: expected"},
      {R"(, "hidden_dropout_prob": 1.5)", "t.json: /hidden_dropout_prob: expected"}};
  for (const auto& [more, complaint] : cases) {
    SCOPED_TRACE(more);
    std::string found;
    (void)read_model_text(small_bert(more), found);
    EXPECT_EQ(found.substr(0, complaint.size()), complaint);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1);
  }
}

TEST(EncoderFamilies, DebertaIsRefusedByName) {
  std::string complaints;
  (void)read_model_text(R"({"model_type": "deberta"})", complaints);
  EXPECT_EQ(complaints,
            "t.json: /model_type: \"deberta\" is not supported: it has scores of relative positions beside those of "
            "content\n");
}

}  // namespace
}  // namespace foretoken::io
