// Tests commands of NeMo 2 and Megatron-Bridge whose words name a recipe and change it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;

Report read_recipe(const std::string& command) { return read_test_launch(command, "train.sh"); }

std::string asked_about(const Report& report, const char* key) {
  const auto found = std::ranges::find(report.asked, key, &Asked::key);
  return found == report.asked.end() ? "" : found->because;
}

TEST(ProgramKeys, KeysOfTheModelBesideARecipeAreMappedOverItOrRefused) {
  const auto with = [](const std::string& words) {
    return read_recipe(
        "torchrun --nproc_per_node 8 run_recipe.py --recipe llama3_8b_pretrain_config train.global_batch_size=64 "
        "train.micro_batch_size=1 model.tensor_model_parallel_size=2 " +
        words);
  };
  const Report vocabulary = with("model.vocab_size=1000");
  EXPECT_EQ(vocabulary.at("model"), Json({{"base", "llama-3-8b"}, {"vocab_size", 1000}}));
  EXPECT_EQ(refused_lines(vocabulary), "");
  const Report experts = with("model.num_moe_experts=16 model.kv_channels=64");
  EXPECT_THAT(refused_lines(experts), HasSubstr("model.num_moe_experts: it changes the recipe's model"));
  EXPECT_THAT(refused_lines(experts), HasSubstr("model.kv_channels: it changes the recipe's model"));
  EXPECT_EQ(experts.at("model"), "llama-3-8b");
  EXPECT_THAT(refused_lines(with("model.vocab_size=$(count)")),
              HasSubstr("model.vocab_size: it changes the recipe's model: its value is the output of `count`"));
  const Report nemo = read_recipe(
      "nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8 data.micro_batch_size=2 "
      "model.config.kv_channels=64 model.config.num_moe_experts=8 model.config.vocab_size=1000");
  EXPECT_EQ(nemo.at("model.vocab_size"), 1000);
  EXPECT_THAT(refused_lines(nemo), HasSubstr("model.kv_channels"));
  EXPECT_THAT(refused_lines(nemo), HasSubstr("model.num_moe_experts"));
}

TEST(ProgramKeys, ACommandOfNemoNamesItsRecipeWithAnyKeys) {
  const std::string begin = "nemo llm pretrain --factory ";
  const Report counts = read_recipe(begin + "llama3_8b trainer.num_nodes=2 trainer.devices=8");
  EXPECT_EQ(counts.framework, "NeMo");
  EXPECT_EQ(counts.at("model"), "llama-3-8b");
  EXPECT_EQ(counts.at("gpus"), 16);
  EXPECT_NE(asked_about(counts, "batch.micro"), "");
  const Report degree = read_recipe(begin + "llama3_8b trainer.strategy.tensor_model_parallel_size=2");
  EXPECT_EQ(degree.at("parallelism.tensor"), 2);
  const Report batch = read_recipe(begin + "'llama3_70b(num_nodes=2, num_gpus_per_node=4)' data.global_batch_size=64");
  EXPECT_EQ(batch.at("model"), "llama-3-70b");
  EXPECT_EQ(batch.at("batch.global"), 64);
  EXPECT_EQ(batch.at("gpus"), 8);
  EXPECT_EQ(read_recipe(begin + "'llama3_70b(num_nodes=2,num_gpus_per_node=4)' trainer.num_nodes=3").at("gpus"), 12);
  const Report others = read_recipe(begin + "llama3_8b optim.config.lr=1e-4 log.ckpt=null optim.config.use_magic=4");
  EXPECT_THAT(refused_lines(others), HasSubstr("optim.config.use_magic: no key here stands for it"));
  for (const char* key : {"optim.config.lr", "log.ckpt"}) EXPECT_TRUE(others.names(key)) << key;
  const Report alone = read_recipe(begin + "llama3_70b");
  EXPECT_EQ(alone.at("model"), "llama-3-70b");
  EXPECT_NE(asked_about(alone, "gpus"), "");
  EXPECT_NE(asked_about(read_recipe("nemo llm finetune --factory llama3_8b"), "training.method"), "");
}

TEST(ProgramKeys, TheOptimizerOfNemoIsThatOfMegatron) {
  const auto with = [](const std::string& words) {
    return read_recipe("nemo llm pretrain --factory llama3_8b trainer.num_nodes=2 trainer.devices=8 " + words);
  };
  const Report whole = with("optim.config.use_distributed_optimizer=false optim.config.bf16=true");
  EXPECT_EQ(whole.whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(whole.at("precision"), Json("bf16"));
  EXPECT_EQ(refused_lines(whole), "");
  EXPECT_FALSE(whole.names("model.megatron_amp_O2")) << "a key of NeMo 1";
  EXPECT_EQ(with("optim.config.use_distributed_optimizer=True").whole("optimizer.zero_stage"), 1);
  EXPECT_THAT(refused_lines(with("optim.config.bf16=false")), HasSubstr("optim.config.bf16"));
}

TEST(ProgramKeys, TheStageOfAdaptersBeginsKeysOfNemosLauncher) {
  const Report report = read_test_launch(
      "python3 main.py stages=[peft] peft=llama/squad peft.trainer.num_nodes=1 peft.trainer.devices=8 "
      "peft.model.micro_batch_size=1 peft.model.global_batch_size=128 peft.model.tensor_model_parallel_size=2",
      "run.sh");
  EXPECT_EQ(report.framework, "NeMo");
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_FALSE(report.has("training.rank")) << "it is asked for";
}

TEST(ProgramKeys, ProfilesOfNemosLauncherAreIgnored) {
  const Report report = read_test_launch(
      "python3 main.py training.trainer.num_nodes=1 training.trainer.devices=8 training.model.micro_batch_size=1 "
      "training.model.chakra_profile.enabled=True training.model.chakra_profile.start_step=2",
      "run.sh");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_TRUE(report.names("model.chakra_profile.start_step"));
}

TEST(ProgramKeys, FineTuningOfNemo1StatesItsLengthAndItsAdapters) {
  const auto with = [](const std::string& words) {
    return read_test_launch(
        "torchrun --nproc_per_node=8 megatron_gpt_finetuning.py trainer.devices=8 trainer.num_nodes=1 "
        "trainer.precision=bf16 model.micro_batch_size=1 model.global_batch_size=32 "
        "model.tensor_model_parallel_size=2 model.data.train_ds.max_seq_length=512 " +
            words,
        "run.sh");
  };
  const Report whole = with("model.peft.peft_scheme=none model.restore_from_path=/a/Mistral-7B-v0.1.nemo");
  EXPECT_EQ(refused_lines(whole), "");
  EXPECT_EQ(whole.whole("batch.sequence_length"), 512);
  EXPECT_EQ(whole.at("model"), Json("mistral-7b"));
  EXPECT_FALSE(whole.has("training"));
  const Report lora = with("model.peft.peft_scheme=lora model.peft.lora_tuning.adapter_dim=64");
  EXPECT_EQ(refused_lines(lora), "");
  EXPECT_EQ(lora.whole("training.rank"), 64);
  EXPECT_FALSE(lora.has("training.targets")) << "they are asked for";
  EXPECT_EQ(with("model.peft.peft_scheme=lora model.peft.lora_tuning.target_modules=[attention,mlp_fc2]")
                .at("training.targets"),
            Json::array({"linear_qkv", "linear_proj", "linear_fc2"}));
  EXPECT_EQ(lora.at("runtime"), Json("megatron-lora"));
  EXPECT_THAT(refused_lines(with("model.peft.peft_scheme=ptuning")), HasSubstr("ptuning"));
  EXPECT_THAT(refused_lines(with("model.peft.peft_scheme=lora model.peft.lora_tuning.weight_tying=True")),
              HasSubstr("weight_tying"));
}

TEST(ProgramKeys, ARecipeOfBridgeStatesWhatNoWordStates) {
  const auto with = [](const std::string& recipe) {
    return read_test_launch("torchrun --nproc_per_node=8 run_recipe.py --recipe " + recipe +
                                " train.global_batch_size=8 train.micro_batch_size=1 model.seq_length=2048",
                            "run.sh");
  };
  const Report report = with("llama3_8b_sft_config");
  EXPECT_EQ(report.framework, "Megatron-Bridge");
  EXPECT_EQ(report.at("model"), Json("llama-3-8b"));
  EXPECT_EQ(report.whole("batch.global"), 8);
  EXPECT_THAT(refused_lines(with("qwen3_vl_8b_sft_config")), HasSubstr("multimodal"));
  const auto layers = [&](const char* recipe) { return with(recipe).at("model").value("num_hidden_layers", 0); };
  EXPECT_EQ(layers("qwen3_600m_sft_yarn_128k_config"), 28) << "Qwen3-0.6B";
  EXPECT_EQ(layers("qwen25_500m_pretrain_config"), 24) << "Qwen2.5-0.5B";
  EXPECT_EQ(layers("qwen3_1p7b_sft_config"), 28) << "Qwen3-1.7B";
}

}  // namespace
}  // namespace foretoken::io::launch
