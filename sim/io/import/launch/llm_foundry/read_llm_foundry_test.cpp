// Tests configurations of llm-foundry, and of programs made after it.
#include "sim/io/import/launch/llm_foundry/read_llm_foundry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::llm_foundry {
namespace {

using testing::HasSubstr;

Report read_model(const std::string& model) {
  return read_test_launch(
      "max_seq_len: 2048\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: 4\n"
      "precision: amp_bf16\nfsdp_config: {sharding_strategy: FULL_SHARD}\nmodel: {" +
          model + "}\n",
      "train.yaml");
}

TEST(ReadLlmFoundry, ALlamaHasNamesOfMpt) {
  const std::string sizes =
      "name: mosaic_llama2_370m, d_model: 1024, n_heads: 8, n_layers: 24, intermediate_size: 2816, vocab_size: 32000, "
      "max_seq_len: 2048, init_std: 0.02, rms_norm_eps: 1e-5, attn_pdrop: 0.0";
  const Report report = read_model(sizes + ", l0_module: null");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("model_type", ""), "llama");
  EXPECT_EQ(report.at("model").value("num_hidden_layers", 0), 24);
  EXPECT_EQ(report.at("model").value("intermediate_size", 0), 2816);
  EXPECT_THAT(refused_lines(read_model(sizes + ", l0_module: {target_model: {d_model: 512}}")),
              HasSubstr("model.l0_module: masks that prune"));
}

// The shape of llmshearing/configs/llama2 as its scripts complete it.
TEST(ReadLlmFoundry, AModelOfLlmShearingIsReadWithThePathOfItsWeights) {
  const Report report = read_model(
      "name: mosaic_llama2_1.3b, path: models/a/state_dict.pt, init_device: cpu, tokenizer_name: hf-7B, "
      "d_model: 2048, n_heads: 16, n_layers: 24, intermediate_size: 5504, max_seq_len: 4096, vocab_size: 32000, "
      "init_std: 0.02, attn_pdrop: 0.0, resid_pdrop: 0.0, emb_pdrop: 0.0, attn_impl: flash, rms_norm_eps: 1e-5, "
      "l0_module: null");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").value("num_hidden_layers", 0), 24);
}

TEST(ReadLlmFoundry, AnEncoderOfTheCodesOwnIsRefusedByItsName) {
  const Report report =
      read_model("name: flex_bert, pretrained_model_name: bert-base-uncased, model_config: {num_hidden_layers: 22}");
  EXPECT_THAT(refused_lines(report), HasSubstr("model.name: \"flex_bert\""));
  EXPECT_FALSE(report.has("model")) << "the sizes of bert-base are not those of the model";
}

}  // namespace
}  // namespace foretoken::io::launch::llm_foundry
