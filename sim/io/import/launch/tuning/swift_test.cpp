// Tests ms-swift's command line: the names and the defaults of its versions 2 and 3.
#include "sim/io/import/launch/tuning/swift.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/read_launch.h"
#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

Report read_swift(const std::string& text) { return read_test_launch(text, "sft.sh"); }

TEST(Swift, Version3HasLoraAndSixteenSequences) {
  const Report report = read_swift(
      "CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 swift sft --model Qwen/Qwen3-8B --dataset 'a#500' --torch_dtype "
      "bfloat16 --per_device_train_batch_size 1 --lora_rank 8 --lora_alpha 32 --target_modules all-linear "
      "--max_length 2048 --system 'You are helpful' --model_author swift --split_dataset_ratio 0.01");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 36);
  EXPECT_EQ(report.at("training.method"), Json("lora"));
  EXPECT_EQ(report.whole("training.rank"), 8);
  EXPECT_EQ(report.whole("gpus"), 2);
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_EQ(report.whole("batch.sequence_length"), 2048);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.at("recompute.granularity"), Json("full")) << "gradient_checkpointing is on by default";
}

TEST(Swift, LinesCiteItsOwnNames) {
  const Report report = read_swift(
      "CUDA_VISIBLE_DEVICES=0 swift sft --model Qwen/Qwen3-8B --train_type lora --target_modules all-linear "
      "--gradient_checkpointing true --max_length 1024 --torch_dtype bfloat16 --gradient_accumulation_steps 2");
  const auto from = [&](const char* key) {
    const auto found = std::ranges::find(report.mapped, key, &Mapped::key);
    return found == report.mapped.end() ? "" : found->from;
  };
  EXPECT_EQ(from("training.method"), "train_type");
  EXPECT_EQ(from("training.targets"), "target_modules");
  EXPECT_EQ(from("model"), "model");
  EXPECT_EQ(from("recompute.granularity"), "gradient_checkpointing");
}

TEST(Swift, Version2HasItsOwnNames) {
  const Report report = read_swift(
      "torchrun --nproc_per_node=4 swift/cli/sft.py --model_id_or_path Qwen/Qwen1.5-7B-Chat --sft_type full "
      "--template_type qwen --dtype fp16 --batch_size 2 --gradient_accumulation_steps 4 --max_length 1024 "
      "--gradient_checkpointing false");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.global"), 32);
  EXPECT_EQ(report.at("precision"), Json("fp16"));
  EXPECT_EQ(report.at("recompute.granularity"), Json("none"));
  EXPECT_FALSE(report.has("training.method"));
}

TEST(Swift, OtherLibrariesOfFourBitsAreRefused) {
  const std::string run =
      "torchrun --nproc_per_node=2 swift/cli/sft.py --model Qwen/Qwen2.5-7B --train_type lora --lora_rank 8 "
      "--torch_dtype bfloat16 --max_length 1024 --per_device_train_batch_size 1 ";
  EXPECT_NE(refused_lines(read_swift(run + "--quant_method hqq --quant_bits 4")).find("hqq of 4 bits"),
            std::string::npos);
  EXPECT_EQ(read_swift(run + "--quant_method bnb --quant_bits 4").at("training.method"), Json("qlora"));
  EXPECT_EQ(read_swift(run + "--quantization_bit 0").at("training.method"), Json("lora"));
}

TEST(Swift, Version1StartsAProgramOfItsOwn) {
  const Report report = read_swift(
      "CUDA_VISIBLE_DEVICES=0,1 torchrun --nproc_per_node=2 src/llm_sft.py --model_type qwen-14b-chat --sft_type lora "
      "--quantization_bit 4 --bnb_4bit_comp_dtype bf16 --lora_rank 8 --lora_target_modules ALL --dtype bf16 "
      "--max_length 1024 --batch_size 1 --gradient_accumulation_steps $(expr 16 / 2)");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 40);
  EXPECT_EQ(report.at("training.method"), Json("qlora"));
  EXPECT_EQ(report.whole("batch.global"), 16);
  EXPECT_EQ(report.whole("gpus"), 2);
  EXPECT_EQ(report.at("training.targets"), Json({"all-linear"}));
  const Report usual = read_swift(
      "CUDA_VISIBLE_DEVICES=0 python llm_sft.py --model_type qwen-7b-chat --dtype bf16 "
      "--sft_type lora --max_length 1024");
  EXPECT_EQ(usual.at("training.targets"), Json::array({"c_attn"})) << "the default before version 3";
}

TEST(Swift, WhatItDoesOtherwiseIsRefused) {
  const auto with = [](const std::string& flags) {
    return refused_lines(
        read_swift("NPROC_PER_NODE=2 swift sft --model Qwen/Qwen3-8B --dataset a --max_length 2048 " + flags));
  };
  EXPECT_THAT(with("--train_type longlora"), HasSubstr("longlora"));
  EXPECT_THAT(with("--task_type embedding"), HasSubstr("not a language model"));
  EXPECT_THAT(with("--sequence_parallel_size 4"), HasSubstr("sequence parallelism"));
  EXPECT_THAT(refused_lines(read_swift("swift rlhf --rlhf_type dpo --model Qwen/Qwen3-8B")), HasSubstr("preference"));
}

// swift/utils/torch_utils.py, get_device_map: without torchrun the layers are dealt out to all visible devices.
TEST(Swift, OneProcessForSeveralDevicesIsRefused) {
  const std::string flags = "swift sft --model Qwen/Qwen3-8B --train_type lora --dataset a --max_length 2048";
  const Report shared = read_swift("CUDA_VISIBLE_DEVICES=0,1,2,3 " + flags);
  EXPECT_THAT(refused_lines(shared), HasSubstr("CUDA_VISIBLE_DEVICES: one process for 4 GPUs"));
  EXPECT_FALSE(shared.has("gpus"));
  EXPECT_EQ(refused_lines(read_swift("CUDA_VISIBLE_DEVICES=3 " + flags)), "");
  EXPECT_EQ(refused_lines(read_swift("CUDA_VISIBLE_DEVICES=0,1 NPROC_PER_NODE=2 " + flags)), "");
  const Report file = read_swift("CUDA_VISIBLE_DEVICES=0,1 accelerate launch --config_file none.json swift/cli/sft.py" +
                                 flags.substr(std::string("swift sft").size()));
  EXPECT_EQ(refused_lines(file), "") << "the file of accelerate states the processes";
  EXPECT_FALSE(file.has("gpus"));
}

TEST(Swift, Version2NamesItsModelByType) {
  const Report report = read_swift("CUDA_VISIBLE_DEVICES=0 swift sft --model_type qwen1half-7b-chat --sft_type lora");
  EXPECT_THAT(report.json().dump(), HasSubstr("qwen1half-7b-chat"));
  EXPECT_EQ(read_swift("CUDA_VISIBLE_DEVICES=0 swift sft --model_type qwen2-7b-instruct --sft_type lora")
                .whole("model.num_hidden_layers"),
            28);
}

TEST(Swift, Version2HasALengthByDefault) {
  const std::string start =
      "CUDA_VISIBLE_DEVICES=0 swift pt --model_id_or_path Qwen/Qwen2-7B --sft_type full --dataset a";
  const Report usual = read_swift(start);
  EXPECT_EQ(usual.whole("batch.sequence_length"), 2048);
  EXPECT_TRUE(std::ranges::any_of(usual.assumed, [](const Assumed& one) { return one.key == "max_length"; }));
  const Report open = read_swift(start + " --max_length -1");
  EXPECT_FALSE(open.has("batch.sequence_length"));
  ASSERT_EQ(open.asked.size(), 1U);
  EXPECT_EQ(open.asked.front().because, "max_length -1 is no limit; state --seq N");
}

TEST(Swift, GpusFollowTheDevicesOfTheLaunchersThatReadThem) {
  EXPECT_EQ(read_swift("export CUDA_VISIBLE_DEVICES=0,1,2\nllamafactory-cli train --stage sft --model_name_or_path "
                       "Qwen/Qwen3-8B --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --bf16")
                .whole("gpus"),
            3);
}

TEST(Swift, FilesOfPluginsAreNoProgram) {
  const Report report = read_swift(
      "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --deepspeed zero3 --external_plugins 'plugins/own.py' "
      "--train_type lora --lora_rank 16 --per_device_train_batch_size 1 --gradient_accumulation_steps 16 "
      "--max_length 8192 --torch_dtype bfloat16");
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 36);
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.whole("batch.global"), 128);
}

TEST(Swift, ProcessesThatHoldSeveralDevicesAreRefused) {
  const Report report = read_swift(
      "NPROC_PER_NODE=2 CUDA_VISIBLE_DEVICES=0,1,2,3 swift sft --model_type qwen1half-32b-chat --sft_type lora "
      "--dataset a --max_length 2048");
  EXPECT_THAT(refused_lines(report), HasSubstr("CUDA_VISIBLE_DEVICES: 2 processes for 4 GPUs"));
  EXPECT_EQ(report.whole("model.num_hidden_layers"), 64);
  const auto by_accelerate = [](const std::string& options) {
    return refused_lines(read_swift("CUDA_VISIBLE_DEVICES=0,1,2,3 accelerate launch " + options +
                                    " swift/cli/sft.py --model Qwen/Qwen3-8B --max_length 2048"));
  };
  EXPECT_THAT(by_accelerate("--num_processes 1"), HasSubstr("one process for 4 GPUs"));
  EXPECT_THAT(by_accelerate("--num_processes 2"), HasSubstr("--num_processes states them"));
  EXPECT_EQ(by_accelerate("--num_processes 4"), "");
  EXPECT_EQ(by_accelerate("--num_processes 1 --gpu_ids 0"), "");
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
