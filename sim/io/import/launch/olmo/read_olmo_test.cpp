// Tests configurations of OLMo that Composer ran, in spring 2023.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::olmo {
namespace {

Report read_first_olmo(const std::string& model, const std::string& rest) {
  return read_test_launch(
      "run_name: a\nmodel: {d_model: 1024, n_heads: 16, n_layers: 24, mlp_ratio: 4, max_sequence_length: 2048, "
      "vocab_size: 50257, init_device: meta" +
          model +
          "}\noptimizer: {name: decoupled_adamw, learning_rate: 1e-4}\nscheduler: {name: cosine_with_warmup}\n"
          "algorithms: {gradient_clipping: {clipping_type: norm, clipping_threshold: 1.0}}\nn_gpus: null\n"
          "global_train_batch_size: 64\ndevice_train_batch_size: auto\ndevice_train_microbatch_size: 2\n"
          "device_train_grad_accum: auto\nprecision: amp_bf16\n" +
          rest + "\n",
      "first.yaml");
}

TEST(FirstOlmo, IsReadWithItsSectionOfComposer) {
  const Report report = read_first_olmo(
      ", alibi: true, alibi_bias_max: 8.0, flash_attention: false",
      "fsdp_config: {sharding_strategy: FULL_SHARD, mixed_precision: DEFAULT, activation_checkpointing: true}");
  EXPECT_EQ(report.framework, "OLMo");
  EXPECT_EQ(refused_lines(report), "");
  ASSERT_EQ(report.asked.size(), 1U);
  EXPECT_EQ(report.asked.front().key, "gpus");
  EXPECT_EQ(report.whole("model.ffn_hidden_size"), 4 * 1024) << "gelu, not a gated MLP";
  EXPECT_FALSE(report.has("model.activation"));
  EXPECT_EQ(report.at("model.position_embedding_type"), "alibi");
  EXPECT_EQ(report.at("model.untie_embeddings_and_output_weights"), false);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("recompute.granularity"), "full");
  EXPECT_EQ(report.at("attention"), "unfused");
  EXPECT_FALSE(report.has("precision_recipe.reduce"));
}

TEST(FirstOlmo, RunsDdpWithoutTheSection) {
  const Report report = read_first_olmo("", "fsdp_config: null");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(report.at("recompute.granularity"), "none");
  EXPECT_EQ(read_first_olmo("", "fsdp_config: {mixed_precision: PURE}").whole("precision_recipe.reduce"), 2);
}

TEST(FirstOlmo, RefusesOtherLayersByName) {
  EXPECT_NE(refused_lines(read_first_olmo(", attention_layer_norm: true", "")).find("model.attention_layer_norm"),
            std::string::npos);
}

}  // namespace
}  // namespace foretoken::io::launch::olmo
