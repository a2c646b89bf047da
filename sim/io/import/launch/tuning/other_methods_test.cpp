// Tests programs that do not train plainly.
#include "sim/io/import/launch/tuning/other_methods.h"

#include <gmock/gmock.h>

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

}  // namespace
}  // namespace foretoken::io::launch::tuning
