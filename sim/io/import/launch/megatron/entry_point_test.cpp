// Tests what the name of a program says about its model.
#include "sim/io/import/launch/megatron/entry_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::megatron {
namespace {

Report started(const std::string& program, const std::string& flags) {
  return read_test_launch("torchrun --nproc_per_node 8 " + program +
                              " --num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 "
                              "--seq-length 2048 --max-position-embeddings 2048 --micro-batch-size 1 "
                              "--global-batch-size 128 --vocab-size 32000 --fp16 " +
                              flags,
                          "train.sh");
}

bool asks_for(const Report& report, const char* key) {
  return std::ranges::find(report.asked, key, &Asked::key) != report.asked.end();
}

TEST(EntryPoint, OfAnotherModelMayBuildItsLayersInItsCode) {
  for (const char* program : {"pretrain_llama.py", "finetune_llama2.py", "tools/pretrain_baichuan.py"}) {
    const Report report = started(program, "");
    for (const char* key : {"model.activation", "model.normalization", "model.position_embedding_type",
                            "model.add_bias_linear", "model.untie_embeddings_and_output_weights"}) {
      EXPECT_TRUE(asks_for(report, key)) << program << " " << key;
      EXPECT_FALSE(report.has(key)) << program << " " << key;
    }
  }
}

TEST(EntryPoint, WhoseFlagsStateOnePartStatesThemAll) {
  const Report report = started("pretrain_llama.py", "--swiglu");
  EXPECT_FALSE(asks_for(report, "model.normalization"));
  EXPECT_EQ(report.at("model.normalization"), nlohmann::ordered_json("LayerNorm"));
  EXPECT_FALSE(asks_for(started("pretrain_gpt.py", ""), "model.activation"));
}

TEST(EntryPoint, OfAnotherMethodIsRefusedByItsName) {
  for (const char* program : {"/home/me/Megatron-DeepSpeed/dpo_training.py", "train_reward.py",
                              "-m tools.rlhf.train_ppo", "pretrain_gpt_distill.py", "distill_bert.py"})
    EXPECT_NE(refused_lines(started(program, "")).find("preferences, rewards or distillation, not plain training"),
              std::string::npos)
        << program;
  EXPECT_NE(refused_lines(started("generate_samples.py", "")).find("it generates, by its name"), std::string::npos);
  for (const char* program : {"/home/me/dpo/pretrain_gpt.py", "-m tools.rlhf.pretrain_gpt", "pretrain_dpoxy.py",
                              "pretrain_gpt_generation.py", "rewarded/train.py"})
    EXPECT_EQ(refused_lines(started(program, "")), "") << program;
}

// alibaba/Pai-Megatron-Patch, megatron_patch/model/glm130b/transformer.py, ParallelMLP: 4 * hidden * 2 // 3.
TEST(EntryPoint, TheProgramOfGlmHasAWidthOfItsOwn) {
  constexpr const char* kFlags = "--geglu --generation-length 128";
  const Report glm = started("examples/pretrain_megatron_glm130b.py", kFlags);
  EXPECT_EQ(glm.whole("model.ffn_hidden_size"), 4 * 4096 * 2 / 3) << "whatever --ffn-hidden-size says";
  EXPECT_EQ(refused_lines(glm), "");
  const Report other = started("pretrain_gpt.py", kFlags);
  EXPECT_EQ(other.whole("model.ffn_hidden_size"), 11008);
  EXPECT_NE(refused_lines(other).find("--generation-length: inference"), std::string::npos);
}

}  // namespace
}  // namespace foretoken::io::launch::megatron
