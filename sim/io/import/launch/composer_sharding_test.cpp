// Tests sections fsdp_config: every key in them is mapped, noted, ignored or refused.
#include "sim/io/import/launch/composer_sharding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

Report read_foundry_with(const std::string& section, const std::string& more = "precision: amp_bf16\n") {
  return read_test_launch(
      "max_seq_len: 2048\nglobal_train_batch_size: 64\ndevice_train_microbatch_size: 4\n"
      "model: {name: mpt_causal_lm, d_model: 1024, n_heads: 8, n_layers: 12}\n" +
          more + "fsdp_config: {" + section + "}\n",
      "train.yaml");
}

std::string noted(const Report& report, const std::string& key) {
  const auto found = std::ranges::find(report.assumed, key, &Assumed::key);
  return found == report.assumed.end() ? "" : found->because;
}

bool is_ignored(const Report& report, const std::string& key) {
  return std::ranges::find(report.ignored, key, &Ignored::setting) != report.ignored.end();
}

TEST(ComposerSharding, CpuOffloadStopsComposer) {
  const Report report = read_foundry_with("cpu_offload: true");
  EXPECT_THAT(refused_lines(report), HasSubstr("fsdp_config.cpu_offload: Composer stops there"));
  EXPECT_EQ(report.at("offload.parameters"), Json("cpu"));
  EXPECT_EQ(refused_lines(read_foundry_with("cpu_offload: false")), "");
}

TEST(ComposerSharding, ReplicasOfSharesAreRefusedByName) {
  EXPECT_THAT(refused_lines(read_foundry_with("data_parallel_replicate_degree: 8")),
              HasSubstr("fsdp_config.data_parallel_replicate_degree: 8 replicas of sharded weights"));
  EXPECT_EQ(refused_lines(read_foundry_with("data_parallel_replicate_degree: 1, data_parallel_shard_degree: -1")), "");
  const Report copies = read_foundry_with("data_parallel_replicate_degree: 16, data_parallel_shard_degree: 1");
  EXPECT_EQ(refused_lines(copies), "");
  EXPECT_EQ(copies.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(copies.whole("gpus"), 16);
  EXPECT_EQ(read_foundry_with("data_parallel_shard_degree: 32").whole("gpus"), 32);
  EXPECT_THAT(refused_lines(read_foundry_with("data_parallel_shard_degree: 32", "gpu_num: 16\n")),
              HasSubstr("make up 32 GPUs, found 16"));
}

TEST(ComposerSharding, LowPrecisionGradientsStayIn16Bits) {
  const Report report = read_foundry_with("keep_low_precision_grads: true");
  EXPECT_EQ(report.at("precision_recipe.gradients"), Json(2));
  EXPECT_EQ(report.at("precision_recipe.reduce"), Json(4)) << "DEFAULT reduces in fp32";
  const Report pure = read_foundry_with("keep_low_precision_grads: true, mixed_precision: PURE");
  EXPECT_EQ(pure.at("precision_recipe.reduce"), Json(2));
  EXPECT_FALSE(read_foundry_with("keep_low_precision_grads: false").has("precision_recipe.gradients"));
}

TEST(ComposerSharding, TypesMayStandInASection) {
  const auto read = [](const std::string& types) { return read_foundry_with("mixed_precision: {" + types + "}"); };
  EXPECT_EQ(read("param_dtype: bf16, reduce_dtype: bf16, buffer_dtype: bf16").at("precision_recipe.reduce"), Json(2));
  EXPECT_EQ(read("param_dtype: bf16").at("precision_recipe.reduce"), Json(2)) << "PyTorch takes that of the weights";
  EXPECT_FALSE(read("param_dtype: bf16, reduce_dtype: fp32").has("precision_recipe.reduce"));
  EXPECT_THAT(refused_lines(read("reduce_dtype: bf16")), HasSubstr("FULL"));
  EXPECT_THAT(refused_lines(read_foundry_with("mixed_precision: {param_dtype: bf16}", "precision: fp32\n")),
              HasSubstr("gathered in 16 bits while the trainer's precision is fp32"));
  EXPECT_THAT(refused_lines(read_foundry_with("mixed_precision: HALF")), HasSubstr("expected DEFAULT, PURE or FULL"));
}

TEST(ComposerSharding, TheOrderOfGathersIsNoted) {
  const Report report = read_foundry_with(
      "backward_prefetch: NONE, forward_prefetch: true, limit_all_gathers: false, backward_prefetch_limit: 2");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_THAT(noted(report, "fsdp_config.backward_prefetch"), HasSubstr("the pass takes longer"));
  EXPECT_THAT(noted(report, "fsdp_config.forward_prefetch"), HasSubstr("a layer ahead"));
  EXPECT_THAT(noted(report, "fsdp_config.limit_all_gathers"), HasSubstr("more memory"));
  EXPECT_THAT(noted(report, "fsdp_config.backward_prefetch_limit"), HasSubstr("more memory"));
  EXPECT_THAT(refused_lines(read_foundry_with("backward_prefetch: SIDEWAYS")),
              HasSubstr("fsdp_config.backward_prefetch"));
}

TEST(ComposerSharding, KeysOfLoadingAreIgnoredAndOthersRefused) {
  const Report report = read_foundry_with("load_monolith_rank0_only: true, use_orig_params: true, verbose: true");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(is_ignored(report, "fsdp_config.load_monolith_rank0_only"));
  EXPECT_THAT(refused_lines(read_foundry_with("process_group: node")), HasSubstr("fsdp_config.process_group"));
  EXPECT_THAT(refused_lines(read_foundry_with("shard_embeddings: 4")), HasSubstr("fsdp_config.shard_embeddings"));
  EXPECT_THAT(refused_lines(read_foundry_with("auto_wrap: false")), HasSubstr("fsdp_config.auto_wrap"));
  EXPECT_EQ(read_foundry_with("sharding_strategy: _HYBRID_SHARD_ZERO2").whole("optimizer.zero_stage"), 2);
}

Report read_axolotl_with(const std::string& rest) {
  return read_test_launch(
      "base_model: NousResearch/Meta-Llama-3-8B\nsequence_len: 2048\nmicro_batch_size: 1\n"
      "gradient_accumulation_steps: 1\nbf16: true\ntf32: true\n" +
          rest,
      "a.yaml");
}

TEST(FsdpKeys, OfAxolotlAreAllListed) {
  const Report report = read_axolotl_with(
      "fsdp: [full_shard, auto_wrap]\nfsdp_config: {fsdp_sharding_strategy: FULL_SHARD, fsdp_backward_prefetch: "
      "NO_PREFETCH, fsdp_state_dict_type: FULL_STATE_DICT, fsdp_use_orig_params: false}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(is_ignored(report, "tf32"));
  EXPECT_TRUE(is_ignored(report, "fsdp_config.fsdp_state_dict_type"));
  EXPECT_THAT(noted(report, "fsdp_config.fsdp_backward_prefetch"), HasSubstr("the pass takes longer"));
  EXPECT_THAT(refused_lines(read_axolotl_with("fsdp_version: 2\nfsdp_config: {mixed_precision_policy: fp32}\n")),
              HasSubstr("fsdp_config.mixed_precision_policy"));
}

TEST(FsdpKeys, WordsOfTheTrainerWinOverTheSection) {
  EXPECT_EQ(read_axolotl_with("fsdp: [shard_grad_op, auto_wrap]\n").whole("optimizer.zero_stage"), 2);
  EXPECT_EQ(read_axolotl_with("fsdp: [full_shard, offload]\n").at("offload.parameters"), Json("cpu"));
  const Report hybrid = read_axolotl_with("fsdp: [hybrid_shard]\n");
  EXPECT_EQ(hybrid.whole("optimizer.zero_stage"), 3);
  EXPECT_THAT(noted(hybrid, "fsdp"), HasSubstr("sharded over all its GPUs"));
}

}  // namespace
}  // namespace foretoken::io::launch
