// Tests complaints about encoders in scenarios: masked tokens, heads, positions, optimizer. Each is one clear line.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

constexpr const char* kBert = R"({
  "model": "bert-large", "cluster": "dgx-1-v100-32gb-edr", "gpus": 8, "runtime": "deeplearningexamples-2020",
  "batch": {"micro": 8, "global": 4096, "sequence_length": 128, "masked_fraction": 0.15625},
  "precision": "fp16", "optimizer": {"name": "lamb"}})";

struct WrongScenarioOfBert {
  const char *name, *patch;  ///< merged over BERT; null removes a key
  const char* complaint;
};

constexpr const char* kRange = "expected a number above 0 and at most 1";

const WrongScenarioOfBert kWrong[] = {
    {"no token is masked", R"({"batch": {"masked_fraction": 0}})", "/batch/masked_fraction: RANGE, found 0"},
    {"a negative share", R"({"batch": {"masked_fraction": -0.15}})", "/batch/masked_fraction: RANGE, found -0.15"},
    {"a percentage", R"({"batch": {"masked_fraction": 15}})", "/batch/masked_fraction: RANGE, found 15"},
    {"a share in words", R"({"batch": {"masked_fraction": "15%"}})",
     "/batch/masked_fraction: RANGE, found a string \"15%\""},
    {"a list of shares", R"({"batch": {"masked_fraction": [0.15]}})", "/batch/masked_fraction: RANGE, found an array"},
    {"a switch", R"({"batch": {"masked_fraction": true}})", "/batch/masked_fraction: RANGE, found true"},
    {"swapped letters", R"({"batch": {"maksed_fraction": 0.15}})",
     "/batch/maksed_fraction: unknown key; did you mean \"masked_fraction\"?"},
    {"a decoder masks no tokens", R"({"model": "gpt2", "precision": "fp16"})",
     "/batch/masked_fraction: expected only for a model that predicts masked tokens, found it for \"gpt2\"; remove it"},
    {"a head of answers masks no tokens",
     R"({"model": {"base": "bert-large", "architectures": ["BertForQuestionAnswering"]}})",
     "/batch/masked_fraction: expected only for a model that predicts masked tokens, found it for \"bert-large "
     "(modified)\"; remove it"},
    {"ELECTRA's discriminator masks no tokens", R"({"model": "electra-base"})",
     "/batch/masked_fraction: expected only for a model that predicts masked tokens, found it for \"electra-base\"; "
     "remove it"},
    {"a body without a head",
     R"({"model": {"base": "bert-large", "architectures": ["BertModel"]}, "batch": {"masked_fraction": null}})",
     "/model: model \"bert-large (modified)\" has no head to train; try a class with a head, such as "
     "\"architectures\": "
     "[\"BertForMaskedLM\"]"},
    {"a sequence beyond the positions", R"({"batch": {"sequence_length": 1024}})",
     "/batch/sequence_length: expected at most 512, the learned positions of model \"bert-large\", found 1024"},
    {"a class of another family", R"({"model": {"base": "bert-large", "architectures": ["RobertaForMaskedLM"]}})",
     "/model/architectures/0: \"RobertaForMaskedLM\" is not supported; did you mean"},
    {"a number of heads that does not divide the hidden size",
     R"({"model": {"base": "bert-large", "num_attention_heads": 15}})",
     "/model: the hidden size 1024 is not divisible by the 15 attention heads"},
    {"no token types", R"({"model": {"base": "bert-large", "type_vocab_size": 0}})",
     "/model/type_vocab_size: expected a whole number from 1 to 16777216, found 0"},
    {"no layers", R"({"model": {"base": "bert-large", "num_hidden_layers": 0}})",
     "/model/num_hidden_layers: expected a whole number from 1 to 100000, found 0"},
    {"narrow tables of a BERT", R"({"model": {"base": "bert-large", "embedding_size": 128}})",
     "/model/embedding_size: unknown key"},
    {"tables of no width", R"({"model": {"base": "electra-base", "embedding_size": 0}})",
     "/model/embedding_size: expected a whole number from 1 to 16777216, found 0"},
    {"dropout above one", R"({"model": {"base": "bert-large", "hidden_dropout_prob": 2}})",
     "/model/hidden_dropout_prob: expected a number"},
    {"labels that are no number",
     R"({"model": {"base": "bert-large", "architectures": ["BertForTokenClassification"], "num_labels": "nine"}})",
     "/model/num_labels: expected a whole number from 1 to 1048576, found a string \"nine\""},
    {"a class that is no text", R"({"model": {"base": "bert-large", "architectures": [7]}})",
     "/model/architectures/0: expected a string, found 7"},
    {"a class that is no list", R"({"model": {"base": "bert-large", "architectures": "BertForMaskedLM"}})",
     "/model/architectures: expected an array, found a string \"BertForMaskedLM\""},
    {"another optimizer", R"({"optimizer": {"name": "lars"}})", "/optimizer/name: expected"},
    {"DeBERTa", R"({"model": {"model_type": "deberta-v2"}})",
     "/model/model_type: \"deberta-v2\" is not supported: it has scores of relative positions beside those of content"},
    {"ALBERT", R"({"model": {"model_type": "albert"}})",
     "/model/model_type: \"albert\" is not supported: it has layers that share their weights"},
    {"bf16 on Volta", R"({"precision": "bf16"})", "/precision: "},
    {"a runtime that is not there", R"({"runtime": "deeplearningexamples-2022"})",
     "/runtime: unknown runtime \"deeplearningexamples-2022\"; did you mean \"deeplearningexamples-2020\"?"},
    {"a batch that the GPUs do not share", R"({"batch": {"global": 4100}})", "/batch/global: "},
    {"layers that do not split", R"({"parallelism": {"pipeline": 7}, "gpus": 7})", "/parallelism/pipeline: "}};

TEST(WrongEncoders, EachIsOneLine) {
  for (const WrongScenarioOfBert& wrong : kWrong) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json value = nlohmann::json::parse(kBert);
    value.merge_patch(nlohmann::json::parse(wrong.patch));
    std::string expected = std::string("t.json: ") + wrong.complaint;
    if (const auto at = expected.find("RANGE"); at != std::string::npos) expected.replace(at, 5, kRange);
    const std::string found = thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); });
    EXPECT_EQ(found.substr(0, expected.size()), expected);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }
}

TEST(WrongEncoders, TheScenarioThatTheyChangeIsSound) {
  EXPECT_EQ(thrown_by([] { (void)read_scenario_text(kBert, "t.json"); }), "");
}

}  // namespace
}  // namespace foretoken::io
