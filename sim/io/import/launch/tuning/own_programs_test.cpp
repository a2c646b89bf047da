// Tests training programs of the user's own: their names of settings, and what nobody knows about them.
#include "sim/io/import/launch/tuning/own_programs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

Report read_own(const std::string& text) { return read_test_launch(text, "train.sh"); }

std::string questions_of_own(const Report& report) {
  std::string keys;
  for (const Asked& one : report.asked) keys += one.key + " ";
  return keys;
}

constexpr const char* kWholeTraining =
    "mpirun -np 16 --npernode 8 python examples/train.py --seq-length 4096 --micro-batch-size 1 --global-batch-size "
    "256 "
    "--train-iters 500 --lr 1e-5 --grad-clip-norm 1 --optimizer adam --bf16 --mixed-precision "
    "--base-model /hub/Qwen2-7B ";

// It has flags of alpaca-lora and of Megatron-LM, and is neither.
TEST(OwnPrograms, AWholeTrainingWithABaseModelIsNoAlpacaLora) {
  const Report report = read_own(std::string(kWholeTraining) + "--use-zero --zero-config ds.json --zero-stage 3");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_FALSE(report.has("training"));
  EXPECT_EQ(report.whole("batch.micro"), 1);
  EXPECT_EQ(report.whole("batch.global"), 256);
  EXPECT_EQ(report.whole("batch.sequence_length"), 4096);
  EXPECT_EQ(report.at("precision"), Json("bf16"));
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 3);
  EXPECT_EQ(report.whole("gpus"), 16);
}

TEST(OwnPrograms, UseZeroSaysNoStage) {
  for (const char* on : {"--use-zero", "--use-zero true"}) {
    const Report report = read_own(std::string(kWholeTraining) + on);
    EXPECT_FALSE(report.has("optimizer.zero_stage")) << on;
    const auto asked = std::ranges::find(report.asked, "optimizer.zero_stage", &Asked::key);
    ASSERT_NE(asked, report.asked.end()) << on;
    EXPECT_THAT(asked->because, HasSubstr("--use_zero says no stage"));
    EXPECT_EQ(refused_lines(report), "") << on;
  }
}

// The script writes the file.
TEST(OwnPrograms, AStageBesideAFileIsThatOfTheFile) {
  const std::string file = "cat > ds.json <<EOF\n{\"zero_optimization\": {\"stage\": 3}}\nEOF\n";
  const Report same = read_own(file + kWholeTraining + "--zero-config ds.json --zero-stage 3");
  EXPECT_EQ(refused_lines(same), "");
  EXPECT_EQ(same.whole("optimizer.zero_stage"), 3);
  const Report other = read_own(file + kWholeTraining + "--zero-config ds.json --zero-stage 2");
  EXPECT_EQ(refused_lines(other), "");
  EXPECT_FALSE(other.has("optimizer.zero_stage"));
  EXPECT_THAT(questions_of_own(other), HasSubstr("optimizer.zero_stage"));
  const Report named = read_own(std::string(kWholeTraining) + "--zero-config ds_zero3.json --zero-stage 3");
  EXPECT_EQ(refused_lines(named), "");
}

TEST(OwnPrograms, AFileThatNamesAStageDecidesBeforeTheFlag) {
  const Report report = read_own(std::string(kWholeTraining) + "--zero-config ds_zero2.json --zero-stage 3");
  EXPECT_EQ(report.whole("optimizer.zero_stage"), 2);
}

constexpr const char* kAdapters =
    "torchrun --nproc_per_node 2 train.py --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 "
    "--max_seq_length 2048 --bf16 --learning_rate 1e-4 ";

// Nobody knows the rank that a program of one's own takes.
TEST(OwnPrograms, ARankThatNoFlagStatesIsAskedFor) {
  for (const char* own : {"--use_peft", "--use_lora True", "--use_lora --q_lora"}) {
    const Report report = read_own(std::string(kAdapters) + own);
    EXPECT_THAT(questions_of_own(report), HasSubstr("training.rank")) << own;
    EXPECT_FALSE(report.has("training.rank")) << own;
  }
  const Report factory = read_own(std::string(kAdapters) + "--finetuning_type lora --stage sft --dataset d");
  EXPECT_EQ(factory.whole("training.rank"), 8);
}

// trl/trainer/model_config.py: lora_r is 16.
TEST(OwnPrograms, TheRankOfTrlIsAssumed) {
  const std::string rest =
      " --model_name_or_path Qwen/Qwen3-8B --per_device_train_batch_size 1 --max_length 2048 --use_peft ";
  for (const char* start : {"trl sft", "accelerate launch --num_processes 2 examples/scripts/sft.py",
                            "accelerate launch --num_processes 2 trl/scripts/sft.py",
                            "torchrun --nproc_per_node 2 examples/scripts/sft.py"}) {
    const Report usual = read_own(start + rest);
    EXPECT_EQ(usual.whole("training.rank"), 16) << start;
    EXPECT_TRUE(std::ranges::any_of(usual.assumed, [](const Assumed& one) { return one.key == "training.rank"; }));
    EXPECT_EQ(read_own(start + rest + "--lora_r 32").whole("training.rank"), 32) << start;
    EXPECT_FALSE(read_own(start + rest + "--lora_r $R").has("training.rank")) << start;
  }
  EXPECT_FALSE(read_own("accelerate launch --num_processes 2 my/sft.py" + rest).has("training.rank"));
}

TEST(OwnPrograms, ProductsBehindTrainableAreThoseOfTheAdapters) {
  const Report report = read_own(std::string(kAdapters) + "--lora_rank 16 --trainable q_proj,v_proj");
  EXPECT_EQ(report.at("training.targets"), (Json{"q_proj", "v_proj"}));
}

TEST(OwnPrograms, WeightsThatAreStoredInFewBitsAreRefused) {
  const Report report = read_own(
      "torchrun --nproc_per_node 2 finetune.py --model_name_or_path Qwen/Qwen-7B-Chat-Int4 --fp16 "
      "--per_device_train_batch_size 1 --model_max_length 512 --use_lora --lora_r 64 --q_lora");
  EXPECT_THAT(refused_lines(report), HasSubstr("already quantised (Int4)"));
}

TEST(OwnPrograms, NamesOfRecomputingAndPacking) {
  for (const char* name :
       {"--use_activation_checkpointing", "--activation_checkpointing true", "--grad_checkpointing"}) {
    const Report report = read_own(std::string("torchrun --nproc_per_node 2 train_fsdp.py --model_name_or_path "
                                               "Qwen/Qwen3-0.6B --bf16 --seq_len 512 --lr 1e-5 --micro_batch_size 1 "
                                               "--pack_sequences --attn_impl sdpa ") +
                                   name);
    EXPECT_EQ(refused_lines(report), "") << name;
    EXPECT_EQ(report.at("recompute.granularity"), Json("full")) << name;
    EXPECT_FALSE(report.names("packing")) << name;
  }
}

// LianjiaTech/BELLE, train/scripts/run_sft.sh: rank and products stand in a file.
TEST(OwnPrograms, TheFileOfLoraStatesRankAndProducts) {
  const std::string training =
      "torchrun --nproc_per_node 8 src/sft_train.py --model_name_or_path huggyllama/llama-7b --use_lora --bf16 "
      "--model_max_length 1024 --per_device_train_batch_size 1 --lora_config configs/lora_config_llama.json";
  const Report there = read_own(
      "cat > configs/lora_config_llama.json <<'END'\n{\"lora_r\": 24, \"lora_alpha\": 16,\n"
      "\"lora_target_modules\": [\"q_proj\", \"v_proj\"]}\nEND\n" +
      training);
  EXPECT_EQ(refused_lines(there), "");
  EXPECT_EQ(there.whole("training.rank"), 24);
  EXPECT_EQ(there.at("training.targets"), (Json{"q_proj", "v_proj"}));
  const Report missing = read_own(training);
  EXPECT_EQ(refused_lines(missing), "");
  const auto asked = std::ranges::find(missing.asked, "training.rank", &Asked::key);
  ASSERT_NE(asked, missing.asked.end());
  EXPECT_THAT(asked->because, HasSubstr("lora_config_llama.json, is not there"));
}

// huggingface/peft, src/peft/config.py: from_pretrained takes a folder.
TEST(OwnPrograms, TheFolderOfPeftHoldsItsConfiguration) {
  const std::string training =
      "torchrun --nproc_per_node 8 train.py --model_name_or_path Qwen/Qwen2.5-7B --use_peft True --bf16 True "
      "--model_max_length 1024 --per_device_train_batch_size 1 --peft_config_path ./conf/adapters/";
  const Report there = read_own(
      "cat > ./conf/adapters/adapter_config.json <<'END'\n"
      "{\"r\": 12, \"target_modules\": [\"q_proj\"], \"alpha_pattern\": {}, \"lora_bias\": false,\n"
      " \"megatron_core\": \"megatron.core\", \"eva_config\": null}\nEND\n" +
      training);
  EXPECT_EQ(refused_lines(there), "");
  EXPECT_EQ(there.whole("training.rank"), 12);
  EXPECT_EQ(there.at("training.targets"), (Json{"q_proj"}));
  const Report missing = read_own(training);
  const auto asked = std::ranges::find(missing.asked, "training.rank", &Asked::key);
  ASSERT_NE(asked, missing.asked.end());
  EXPECT_THAT(asked->because, HasSubstr("adapters/adapter_config.json, is not there"));
}

// Keys of the file count as the same flags do.
TEST(OwnPrograms, TheFileOfLoraHidesNothing) {
  const auto with = [](const std::string& file) {
    return read_own(
        "cat > lora.json <<'END'\n" + file +
        "\nEND\ntorchrun --nproc_per_node 8 src/sft_train.py --model_name_or_path huggyllama/llama-7b "
        "--use_lora --bf16 --model_max_length 1024 --per_device_train_batch_size 1 --lora_config lora.json");
  };
  const Report plain = with(
      R"({"r": 8, "lora_alpha": 16, "bias": "none", "task_type": "CAUSAL_LM", "modules_to_save": null,
          "use_dora": false, "layers_to_transform": null, "rank_pattern": {}})");
  EXPECT_EQ(refused_lines(plain), "");
  EXPECT_EQ(plain.whole("training.rank"), 8);
  const Report whole = with(R"({"r": 8, "modules_to_save": ["lm_head"]})");
  EXPECT_EQ(refused_lines(whole), "");
  EXPECT_EQ(whole.at("training.whole"), Json::array({"head"}));
  EXPECT_THAT(refused_lines(with(R"({"r": 8, "modules_to_save": ["lm_head", "score"]})")),
              HasSubstr("modules_to_save score: a classification head"));
  EXPECT_THAT(refused_lines(with(R"({"r": 8, "use_dora": true})")), HasSubstr("DoRA"));
  EXPECT_THAT(refused_lines(with(R"({"r": 8, "layers_to_transform": [1, 2]})")), HasSubstr("some layers only"));
  EXPECT_EQ(with(R"({"r": 8, "bits": 4})").at("training.method"), Json("qlora"));
}

TEST(OwnPrograms, AFileThatMergesAdaptersTrainsNothing) {
  const std::string merge = "model_name_or_path: huggyllama/llama-7b\nfinetuning_type: lora\ntemplate: llama2\n";
  EXPECT_THAT(refused_lines(read_test_launch(merge + "export_dir: out\n", "merge.yaml")),
              HasSubstr("export_dir: adapters are merged"));
  EXPECT_EQ(refused_lines(read_test_launch(merge + "stage: sft\ndo_train: true\nexport_dir: out\n", "train.yaml")), "");
}

// TRL's SFTConfig, written out whole.
TEST(OwnPrograms, LossesOfSftAreNoPreferences) {
  const std::string file =
      "model_name_or_path: Qwen/Qwen3-0.6B\nmax_length: 512\nper_device_train_batch_size: 2\nlearning_rate: 1e-5\n"
      "packing: false\npacking_strategy: bfd\nbf16: true\nuse_peft: true\nlora_r: 8\n";
  const auto refused = [&](const std::string& more) {
    return refused_lines(read_test_launch(file + more, "sft.yaml"));
  };
  EXPECT_EQ(refused("loss_type: nll\nlora_task_type: CAUSAL_LM\n"), "");
  EXPECT_THAT(refused("loss_type: sigmoid\n"), HasSubstr("loss_type: preferences"));
  EXPECT_THAT(refused("lora_task_type: SEQ_CLS\n"), HasSubstr("not a language model"));
}

TEST(OwnPrograms, StepsAreARunOfAProgram) {
  const Report report = read_own(
      "python -m dst.runners.train --model llama-2-7b --batch_size 4 --grad_accum 4 --seq_len 2048 --steps 500\n");
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
}

// The program that submits the job multiplies the processes of accelerate by its nodes.
TEST(OwnPrograms, NodesOfMasonMultiplyTheProcesses) {
  const std::string training =
      "accelerate launch --num_processes 8 open_instruct/finetune.py --model_name_or_path Qwen/Qwen2.5-7B "
      "--per_device_train_batch_size 1 --gradient_accumulation_steps 2 --max_seq_length 4096";
  const auto gpus = [&](const std::string& before) { return read_own(before + training).whole("gpus"); };
  EXPECT_EQ(gpus("python mason.py --num_nodes 2 --gpus 8 -- "), 16);
  EXPECT_EQ(gpus("python mason.py --num_nodes 1 --gpus 8 -- "), 8);
  EXPECT_EQ(gpus("python mason.py --gpus 8 -- "), 8);
  EXPECT_EQ(gpus(""), 8);
}

TEST(OwnPrograms, ABatchOfADeviceHasShortNames) {
  for (const char* const name : {"--per_device_bs", "--device_bs", "--per_gpu_bs"})
    EXPECT_EQ(read_own("torchrun --nproc_per_node 4 train_lora.py --model_name Qwen/Qwen3-4B " + std::string(name) +
                       " 2 --grad_accum 4 --max_seq_len 2048 --lr 1e-4 --epochs 1 --bf16")
                  .whole("batch.global"),
              32)
        << name;
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
