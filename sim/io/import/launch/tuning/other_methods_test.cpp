// Tests programs that do not train plainly.
#include "sim/io/import/launch/tuning/other_methods.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch::tuning {
namespace {

using testing::HasSubstr;

constexpr const char* kExample = "python run_clm.py --model_name_or_path gpt2 --output_dir out --block_size 512 ";

TEST(OtherMethods, AnExampleWithoutDoTrainOnlyEvaluates) {
  for (const char* flags : {"--do_eval --per_device_eval_batch_size 4", "--do_predict --learning_rate 1e-4",
                            "--do_train False --do_eval --per_device_train_batch_size 4"})
    EXPECT_THAT(refused_lines(read_test_launch(std::string(kExample) + flags, "eval.sh")),
                HasSubstr("do_eval: it evaluates a model"))
        << flags;
  EXPECT_EQ(refused_lines(read_test_launch(std::string(kExample) + "--do_train --do_eval --bf16", "train.sh")), "");
}

TEST(OtherMethods, OnlyTheExamplesNeedDoTrain) {
  for (const char* program : {"run_sft.py", "run_train.py", "run_pretraining.py"})
    EXPECT_EQ(refused_lines(read_test_launch(std::string("python ") + program +
                                                 " --model_name_or_path gpt2 --output_dir out --block_size 512 "
                                                 "--per_device_train_batch_size 2 --bf16 --do_eval",
                                             "train.sh")),
              "")
        << program;
  EXPECT_THAT(refused_lines(read_test_launch(
                  "python run_summarization.py --model_name_or_path gpt2 --per_device_train_batch_size 2 --do_eval",
                  "eval.sh")),
              HasSubstr("do_eval"));
}

std::string factory_and(const std::string& other) {
  return "cat > ft.yaml <<END\nmodel_name_or_path: gpt2\nstage: sft\nfinetuning_type: full\ncutoff_len: 512\n"
         "per_device_train_batch_size: 2\ngradient_accumulation_steps: 4\nbf16: true\nEND\n" +
         other + "CUDA_VISIBLE_DEVICES=0,1 llamafactory-cli train ft.yaml\n";
}

TEST(OtherMethods, ACommandThatDoesNotTrainIsLeftOutBesideAConfiguration) {
  for (const char* other : {"python run_clm.py --do_predict\n", "python score_reward.py out\n"}) {
    const Report report = read_test_launch(factory_and(other), "train.sh");
    EXPECT_EQ(refused_lines(report), "") << other;
    EXPECT_EQ(report.whole("batch.micro"), 2) << other;
    EXPECT_EQ(report.whole("gpus"), 2) << other;
  }
  EXPECT_THAT(refused_lines(read_test_launch("python score_reward.py out", "train.sh")), HasSubstr("reward"));
}

TEST(OtherMethods, AnAllowedEvaluationIsReadOn) {
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr"};
  launch.allow = {"do_eval"};
  const Report report = read_launch_text(
      "torchrun --nproc_per_node 8 run_clm.py --model_name_or_path gpt2 --output_dir out --block_size 512 "
      "--per_device_train_batch_size 2 --gradient_accumulation_steps 1 --bf16 --do_eval\n",
      "eval.sh", launch, findings);
  EXPECT_EQ(report.framework, "Hugging Face Trainer");
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_EQ(report.whole("batch.micro"), 2);
  EXPECT_EQ(report.whole("batch.sequence_length"), 512);
  EXPECT_TRUE(report.complete());
  EXPECT_EQ(report.refused.size(), 1U);
}

TEST(OtherMethods, ARowOfOneTrainingAsksForNothingElse) {
  Findings findings;
  Launch launch;
  launch.row = "2";
  const Report report = read_launch_text(std::string(kExample) + "--do_eval\n" + kExample + "--do_train --bf16\n",
                                         "train.sh", launch, findings);
  ASSERT_EQ(report.asked.size(), 1U);
  EXPECT_EQ(report.asked[0].because, "the script starts one training; leave --row out");
}

TEST(OtherMethods, ACommandThatOnlyPredictsIsNoTraining) {
  const std::string command =
      "llamafactory-cli train --model_name_or_path Qwen/Qwen3-8B --finetuning_type lora --lora_rank 8 --cutoff_len "
      "512 ";
  const Report report = read_test_launch(command + "--do_train False --do_predict --per_device_train_batch_size 4\n" +
                                             command + "--do_train --per_device_train_batch_size 2 --bf16",
                                         "train.sh");
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.whole("batch.micro"), 2);
}

TEST(OtherMethods, ABatchOfEvaluationStatesNoneOfTraining) {
  const Report report = read_test_launch(
      std::string(kExample) + "--do_train --bf16 --learning_rate 1e-4 --per_device_eval_batch_size 2", "train.sh");
  EXPECT_EQ(report.whole("batch.micro"), 8) << "the Trainer's default";
}

TEST(OtherMethods, AHeadForClassesIsNoneForTheVocabulary) {
  EXPECT_THAT(refused_lines(read_test_launch(
                  "python run_glue.py --model_name_or_path bert-base-uncased --task_name sst2 --max_seq_length 128 "
                  "--per_device_train_batch_size 32 --do_train --fp16",
                  "train.sh")),
              HasSubstr("glue: a head for classes by the name of the program, run_glue.py"));
}

TEST(OtherMethods, ARewardModelMayPadAtNoPlace) {
  EXPECT_THAT(refused_lines(read_test_launch(
                  "deepspeed --num_gpus 8 main.py --model_name_or_path facebook/opt-1.3b --max_seq_len 512 "
                  "--per_device_train_batch_size 4 --num_padding_at_beginning 0 --zero_stage 0 --deepspeed",
                  "train.sh")),
              HasSubstr("num_padding_at_beginning: a reward model"));
}

TEST(OtherMethods, ModelsOfSpeechAreRefused) {
  EXPECT_THAT(refused_lines(read_test_launch(
                  "python run_speech.py --model_name_or_path openai/whisper-tiny --per_device_train_batch_size 4 "
                  "--do_train --bf16",
                  "train.sh")),
              HasSubstr("model_name_or_path: speech: not a language model"));
}

TEST(OtherMethods, AProgramNamedAfterLoraIsAskedForItsRank) {
  const std::string flags = " --model_name_or_path gpt2 --per_device_train_batch_size 2 --bf16 --block_size 512";
  const auto asks = [&](const std::string& words) {
    const Report report = read_test_launch(words, "train.sh");
    return std::ranges::any_of(report.asked, [](const Asked& one) { return one.key == "training.method"; });
  };
  EXPECT_TRUE(asks("torchrun --nproc_per_node 8 lora_finetune.py" + flags));
  EXPECT_TRUE(asks("torchrun --nproc_per_node 8 my/finetune_qlora.py" + flags));
  EXPECT_FALSE(asks("torchrun --nproc_per_node 8 lora_finetune.py --lora_r 8" + flags));
  EXPECT_FALSE(asks("torchrun --nproc_per_node 8 exploration.py" + flags)) << "lora is no word of its own there";
}

TEST(OtherMethods, ProgramsOfColossalAiAreNotThoseOfOpenRlhf) {
  const Report report = read_test_launch(
      "torchrun train_sft.py --pretrain gpt2 --strategy colossalai_zero2 --per_device_train_batch_size 3 --bf16",
      "train.sh");
  EXPECT_THAT(refused_lines(report), HasSubstr("ColossalAI"));
}

}  // namespace
}  // namespace foretoken::io::launch::tuning
