// Tests recipes of NeMo AutoModel.
#include "sim/io/import/launch/nemo/automodel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::nemo {
namespace {

using testing::HasSubstr;

constexpr const char* kLlama =
    "step_scheduler: {global_batch_size: 64, local_batch_size: 2, max_steps: 9}\n"
    "dataset: {_target_: own.MockDataset, seq_len: 4096}\n"
    "model: {_target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained,\n"
    "  pretrained_model_name_or_path: meta-llama/Llama-3.1-70B, torch_dtype: bf16}\n";

Report read(const std::string& text) { return read_test_launch(text, "a.yaml"); }
Report read_llama(const std::string& more) { return read(kLlama + more); }

TEST(AutoModel, StatesBatchDegreesAndSharding) {
  const Report report = read_llama(
      "distributed: {strategy: fsdp2, dp_size: 4, tp_size: 2, cp_size: 1, activation_checkpointing: true}\n"
      "optimizer: {_target_: torch.optim.AdamW, lr: 1e-5}\nrng: {seed: 3}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.framework, "NeMo AutoModel");
  EXPECT_EQ(report.at("model"), "llama-3-70b");
  EXPECT_EQ(report.whole("gpus"), 4 * 2);
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.global"), 64);
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.whole("parallelism.tensor"), 2);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.at("recompute.granularity"), "full");
  EXPECT_EQ(report.at("precision_recipe.master"), "none") << "weights train in the type in which they are loaded";
  EXPECT_EQ(report.at("precision_recipe.reduce"), "fp32");
}

TEST(AutoModel, OlderRecipesNameTheManagerOfASharding) {
  const Report sharded = read_llama("distributed: {_target_: own.fsdp2.FSDP2Manager, tp_size: 1, dp_size: none}\n");
  EXPECT_EQ(refused_lines(sharded), "");
  EXPECT_EQ(sharded.at("precision_recipe.reduce"), "bf16");
  EXPECT_FALSE(sharded.has("gpus"));
  EXPECT_EQ(read_llama("distributed: {_target_: own.ddp.DDPManager}\n").whole("optimizer.zero_stage"), 0);
  EXPECT_EQ(read_llama("distributed: {strategy: megatron_fsdp, zero_dp_strategy: 2}\n").whole("optimizer.zero_stage"),
            2);
  EXPECT_EQ(read_llama("slurm: {nodes: 4, ntasks_per_node: 8}\n").whole("gpus"), 4 * 8);
}

TEST(AutoModel, APipelineHasItsOwnMicroBatchAndChunks) {
  const std::string piped =
      "distributed: {strategy: fsdp2, tp_size: 1, pp_size: 4, dp_size: 8, pipeline: {pp_schedule: interleaved1f1b,\n"
      "  pp_microbatch_size: 1, layers_per_stage: 6, round_virtual_stages_to_pp_multiple: ";
  const Report up = read_llama(piped + "up}}\n");
  EXPECT_EQ(up.whole("batch.micro"), 1);
  EXPECT_EQ(up.at("schedule"), "interleaved-1f1b");
  EXPECT_EQ(up.whole("parallelism.virtual_pipeline"), 4) << "80 layers make 14 chunks, 16 of four stages";
  EXPECT_EQ(up.whole("optimizer.zero_stage"), 2) << "gathered weights stay";
  EXPECT_EQ(read_llama(piped + "down}}\n").whole("parallelism.virtual_pipeline"), 3);
  EXPECT_THAT(refused_lines(up), HasSubstr("filled 4 times a step")) << "64 sequences of 8 ranks, 2 at a time";
}

TEST(AutoModel, AdaptersStandBesideTheProductsThatItNames) {
  const auto adapters = [](const std::string& words) { return read_llama("peft: {_target_: own.PeftConfig" + words); };
  const Report all = adapters(", match_all_linear: true, dim: 16}\n");
  EXPECT_EQ(refused_lines(all), "");
  EXPECT_EQ(all.whole("training.rank"), 16);
  EXPECT_EQ(all.at("training.targets"), Json::array({"all-linear"}));
  EXPECT_EQ(adapters(", exclude_modules: ['*lm_head*', '*.gate']}\n").at("training.targets"),
            Json::array({"all-linear"}));
  EXPECT_EQ(adapters(", target_modules: ['*.q_proj', '*v_proj']}\n").at("training.targets"),
            Json::array({"q_proj", "v_proj"}));
  EXPECT_THAT(refused_lines(adapters(", exclude_modules: ['*q_proj*']}\n")), HasSubstr("peft.exclude_modules"));
  EXPECT_EQ(read_llama("quantization: {load_in_4bit: true}\npeft: {match_all_linear: true}\n").at("training.method"),
            "qlora");
}

TEST(AutoModel, SizesOfTheRecipeAreAModel) {
  const Report report = read(
      "step_scheduler: {global_batch_size: 8, local_batch_size: 1}\ndataset: {seq_length: 2048}\n"
      "model: {_target_: own.from_config, dtype: float32, config: {_target_: transformers.Qwen3Config,\n"
      "  num_hidden_layers: 20, hidden_size: 1024, tie_word_embeddings: false}}\n"
      "optimizer: {_target_: own.FusedAdam, master_weights: true}\n");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model").at("model_type"), "qwen3");
  EXPECT_EQ(report.at("model").at("hidden_size"), 1024);
  EXPECT_EQ(report.at("model").at("tie_word_embeddings"), false);
  EXPECT_FALSE(report.has("precision_recipe.weights")) << "they are in fp32";
}

TEST(AutoModel, ExpertsAndOptimizersAreReadByName) {
  const Report report = read_llama(
      "distributed: {ep_size: 8}\noptimizer: {_target_: own.FusedAdam, master_weights: true}\n"
      "fp8: {enabled: false}\n");
  EXPECT_EQ(report.whole("parallelism.expert"), 8);
  EXPECT_EQ(report.at("precision_recipe.moments"), "fp32");
  EXPECT_EQ(report.at("precision_recipe.master"), "fp32");
  EXPECT_THAT(refused_lines(read_llama("optimizer: {_target_: flashoptim.FlashAdamW}\n")), HasSubstr("FlashAdamW"));
  EXPECT_THAT(refused_lines(read_llama("fp8: {enabled: true, recipe_name: rowwise}\n")), HasSubstr("rowwise"));
  EXPECT_THAT(refused_lines(read_llama("teacher_model: {_target_: own}\n")), HasSubstr("a second model runs"));
}

TEST(AutoModel, OtherTasksAreRefusedWhole) {
  const Report report =
      read("step_scheduler: {local_batch_size: 1}\nmodel: {_target_: own.NeMoAutoModelForImageTextToText.from}\n");
  EXPECT_TRUE(report.unread);
  EXPECT_THAT(refused_lines(report), HasSubstr("no plain training of a language model"));
}

}  // namespace
}  // namespace foretoken::io::launch::nemo
