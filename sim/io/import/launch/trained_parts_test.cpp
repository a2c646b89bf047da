// Tests which settings are taken to choose the weights that train.
#include "sim/io/import/launch/trained_parts.h"

#include <gtest/gtest.h>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

TEST(TrainedParts, SwitchesOfPartsChooseTheWeights) {
  for (const char* const part :
       {"train_router", "train_only_router", "router_only", "train_encoder", "train_modules", "tune_llm",
        "tune_language_model", "train_backbone", "trainable_llm", "update_embeddings", "tune_mm_mlp"})
    EXPECT_TRUE(says_what_trains(part)) << part;
  for (const char* const other : {"train_batch_size", "encoder_only", "freeze_llm", "train_file", "update_freq",
                                  "train_language", "num_train_epochs", "lora_target_modules", "head_dim"})
    EXPECT_FALSE(says_what_trains(other)) << other;
}

TEST(TrainedParts, AreRefusedOffToo) {
  const std::string command =
      "torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Llama-2-7b-hf --bf16 True "
      "--per_device_train_batch_size 2 --gradient_accumulation_steps 1 --max_seq_length 512 --learning_rate 1e-5 ";
  EXPECT_TRUE(read_test_launch(command + "--output_dir out", "train.sh").refused.empty());
  EXPECT_FALSE(read_test_launch(command + "--train_router True", "train.sh").refused.empty());
  EXPECT_FALSE(read_test_launch(command + "--tune_llm False", "train.sh").refused.empty());
  EXPECT_TRUE(read_test_launch(command + "--freeze_backbone False", "train.sh").refused.empty());
  EXPECT_TRUE(
      read_test_launch(R"({"model_name_or_path": "meta-llama/Llama-2-7b-hf", "bf16": true, "max_seq_length": 512,
                                   "per_device_train_batch_size": 2, "learning_rate": 1e-5, "train_modules": null})",
                       "train.json")
          .refused.empty())
      << "a key without a value says nothing";
}

}  // namespace
}  // namespace foretoken::io::launch
