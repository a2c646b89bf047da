// Tests scenarios of encoder-decoders: complaints about lengths, stages of the encoder and attention, each in one line;
// and dropout.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

constexpr const char* kT5Scenario = R"({
  "model": "t5-11b", "cluster": "dgx-a100-80gb-hdr", "gpus": 64, "runtime": "megatron-2022",
  "parallelism": {"tensor": 8, "pipeline": 4, "encoder_pipeline": 2},
  "batch": {"micro": 4, "global": 256, "sequence_length": 512, "decoder_sequence_length": 128}})";

struct WrongScenarioOfT5 {
  const char *name, *patch;  ///< merged over T5; null removes a key
  const char* complaint;
};

const WrongScenarioOfT5 kWrongT5[] = {
    {"no token in the decoder", R"({"batch": {"decoder_sequence_length": 0}})",
     "/batch/decoder_sequence_length: expected"},
    {"a length in words", R"({"batch": {"decoder_sequence_length": "short"}})",
     "/batch/decoder_sequence_length: expected"},
    {"a misspelt length", R"({"batch": {"decoder_seq_length": 128, "decoder_sequence_length": null}})",
     "/batch/decoder_seq_length: unknown key"},
    {"a decoder's length for a GPT", R"({"model": "gpt-22b", "parallelism": {"encoder_pipeline": null}})",
     "/batch/decoder_sequence_length: expected only for an encoder-decoder, found it for \"gpt-22b\"; remove it"},
    {"stages of an encoder for a GPT", R"({"model": "gpt-22b", "batch": {"decoder_sequence_length": null}})",
     "/parallelism/encoder_pipeline: expected only for an encoder-decoder, found it for \"gpt-22b\"; remove it"},
    {"no stage for the decoder", R"({"parallelism": {"encoder_pipeline": 4}})",
     "/parallelism/encoder_pipeline: expected 1 to 3, so that the decoder has a stage of pipeline 4, found 4"},
    {"no stage for the decoder of two", R"({"gpus": 32, "parallelism": {"pipeline": 2}})",
     "/parallelism/encoder_pipeline: expected 1, so that the decoder has a stage of pipeline 2, found 2"},
    {"stages of an encoder without a pipeline", R"({"parallelism": {"pipeline": 1}})",
     "/parallelism/encoder_pipeline: expected only with pipeline of at least 2, found 2; remove it"},
    {"an encoder that does not split", R"({"gpus": 128, "parallelism": {"pipeline": 8, "encoder_pipeline": 5}})",
     "/parallelism/encoder_pipeline: expected a divisor of the encoder's 24 layers, found 5"},
    {"a decoder that does not split", R"({"gpus": 128, "parallelism": {"pipeline": 8, "encoder_pipeline": 3}})",
     "/parallelism/encoder_pipeline: expected to leave a divisor of the decoder's 24 layers, found 3, which leaves 5 "
     "stages of pipeline 8"},
    {"several chunks", R"({"parallelism": {"virtual_pipeline": 2}})",
     "/parallelism/virtual_pipeline: expected 1: stages of encoder-decoder \"t5-11b\" hold one chunk, found 2"},
    {"ranks that share a sequence", R"({"parallelism": {"context": 2, "tensor": 4}, "attention": "unfused"})",
     "/parallelism/context: expected 1: model \"t5-11b\" has cross-attention"},
    {"fused attention with relative positions", R"({"attention": "flash"})",
     "/attention: expected \"unfused\": model \"t5-11b\" adds relative positions to its scores"},
    {"a stage of both halves", R"({"parallelism": {"encoder_pipeline": null, "layers_per_stage": [12, 18, 6, 12]}})",
     "/parallelism/layers_per_stage: expected a stage to end after the 24 layers of the encoder"},
    {"a list and a split", R"({"parallelism": {"layers_per_stage": [12, 12, 12, 12]}})",
     "/parallelism/encoder_pipeline: expected only without layers_per_stage"},
    {"more tokens than positions", R"({"model": "nemo-t5-3b", "batch": {"decoder_sequence_length": 1024}})",
     "/batch/decoder_sequence_length: expected at most 512, the learned positions of model \"nemo-t5-3b\", found 1024"},
    {"a decoder that tensor ranks do not share",
     R"({"parallelism": {"sequence_parallel": true}, "batch": {"decoder_sequence_length": 114}})",
     "/batch/decoder_sequence_length: with sequence_parallel, expected a multiple of tensor 8, found 114"},
    {"embedding and head as layers", R"({"parallelism": {"embedding_and_head_as_layers": true}})",
     "/parallelism/embedding_and_head_as_layers: expected false"},
    {"sequences packed into one", R"({"model": "bart-large", "batch": {"packed": 100}, "attention": "flash"})",
     "/batch/packed: expected only for one sequence a sample: halves of encoder-decoder \"bart-large\" are not packed, "
     "found 100; remove it"},
    {"as many virtual tokens as the encoder has", R"({"training": {"method": "p-tuning", "virtual_tokens": 512}})",
     "/training/virtual_tokens: expected fewer than the 512 tokens of batch.sequence_length"},
    {"Adafactor on the host", R"({"runtime": "deepspeed", "optimizer": {"name": "adafactor", "zero_stage": 1},
                                  "offload": {"optimizer": "cpu"}})",
     "/offload/optimizer: expected optimizer adam: no runtime has adafactor on the host"},
    {"another optimizer", R"({"optimizer": {"name": "adafactr"}})", "/optimizer/name: expected"}};

TEST(WrongHalves, EachIsOneLine) {
  for (const WrongScenarioOfT5& wrong : kWrongT5) {
    SCOPED_TRACE(wrong.name);
    nlohmann::json value = nlohmann::json::parse(kT5Scenario);
    value.merge_patch(nlohmann::json::parse(wrong.patch));
    const std::string expected = std::string("t.json: ") + wrong.complaint;
    const std::string found = thrown_by([&] { (void)read_scenario_text(value.dump(), "t.json"); });
    EXPECT_EQ(found.substr(0, expected.size()), expected);
    EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 1) << found;
  }
}

// T5 states one number for all three places.
TEST(WrongHalves, DropoutOverridesAllPlaces) {
  nlohmann::json value = nlohmann::json::parse(kT5Scenario);
  EXPECT_EQ(read_scenario_text(value.dump(), "t.json").job.model.activation_dropout, 0.1);
  value["dropout"] = 0;
  const model::Transformer model = read_scenario_text(value.dump(), "t.json").job.model;
  EXPECT_EQ(model.hidden_dropout, 0);
  EXPECT_EQ(model.attention_dropout, 0);
  EXPECT_EQ(model.activation_dropout, 0);
  value["model"] = "nemo-t5-11b";
  value["dropout"] = 0.2;
  EXPECT_EQ(read_scenario_text(value.dump(), "t.json").job.model.activation_dropout, 0) << "it has none there";
}

TEST(WrongHalves, TheScenarioThatTheyChangeIsSound) {
  EXPECT_EQ(thrown_by([] { (void)read_scenario_text(kT5Scenario, "t.json"); }), "");
}

}  // namespace
}  // namespace foretoken::io
