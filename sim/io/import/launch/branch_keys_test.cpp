// Tests flags that only one branch of an open condition holds.
#include "sim/io/import/launch/branch_keys.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::IsSupersetOf;

std::vector<std::string> asked_keys(const std::string& text) {
  std::vector<std::string> keys;
  for (const Asked& one : read_test_launch(text, "train.sh").asked) keys.push_back(one.key);
  return keys;
}

std::string branches(const std::string& shared, const std::string& condition, const std::string& more) {
  return "if " + condition + "; then A=\"" + shared + "\"; else A=\"" + shared + " " + more + "\"; fi\n";
}

constexpr const char* kRest =
    " --model_name_or_path meta-llama/Llama-2-7b-hf --gradient_checkpointing True --bf16 True --do_train "
    "--learning_rate 2e-5 --output_dir out";

TEST(BranchKeys, AFlagOfOneBranchOpensItsKey) {
  struct Case {
    const char *shared, *more, *around;
    std::vector<std::string> keys;
  };
  const Case cases[] = {
      {"--nproc_per_node 8",
       "--nnodes 2",
       "torchrun $A run_clm.py --per_device_train_batch_size 4 --gradient_accumulation_steps 2 --block_size 2048",
       {"gpus"}},
      {"--per_device_train_batch_size 4 --block_size 512",
       "--gradient_accumulation_steps 16 --block_size 4096",
       "torchrun --nproc_per_node 8 run_clm.py $A",
       {"batch.global", "batch.sequence_length"}},
      {"--per_device_train_batch_size 4",
       "--optim adafactor",
       "torchrun --nproc_per_node 8 run_clm.py $A --block_size 512 --gradient_accumulation_steps 2",
       {"optimizer.name"}},
      {"--per_device_train_batch_size 4",
       "--per_device_train_batch_size 8",
       "torchrun --nproc_per_node 8 run_clm.py $A --block_size 512 --gradient_accumulation_steps 2",
       {"batch.micro"}}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.more);
    EXPECT_THAT(asked_keys(branches(one.shared, "[ -f x ]", one.more) + one.around + kRest), IsSupersetOf(one.keys));
    EXPECT_THAT(asked_keys("A=\"" + std::string(one.shared) + "\"\n" + one.around + kRest),
                testing::Each(testing::Not(testing::AnyOfArray(one.keys))));
  }
}

TEST(BranchKeys, AModelOfOneBranchIsAskedFor) {
  const std::string run =
      "torchrun --nproc_per_node 8 run_clm.py $A --do_train --gradient_checkpointing True --bf16 True --block_size 512 "
      "--gradient_accumulation_steps 2 --output_dir out";
  const std::string text = branches("--per_device_train_batch_size 4 --model_name_or_path gpt2", "[ -f x ]",
                                    "--model_name_or_path meta-llama/Llama-2-7b-hf");
  EXPECT_THAT(asked_keys(text + run),
              testing::Contains(testing::AnyOf(std::string("model"), testing::StartsWith("model."))));
}

TEST(BranchKeys, OtherFlagsOpenNothing) {
  const std::string run =
      "torchrun --nproc_per_node 8 run_clm.py $A --block_size 512 --gradient_accumulation_steps 2" + std::string(kRest);
  EXPECT_THAT(asked_keys(branches("--per_device_train_batch_size 4", "[ -f x ]", "--save_steps 5 --seed 1") + run),
              testing::ElementsAreArray(asked_keys("A='--per_device_train_batch_size 4'\n" + run)));
}

TEST(BranchKeys, ABranchOnAnArgumentIsNotTaken) {
  const Report report = read_test_launch(
      "A='--nproc_per_node 8'\n[ \"$1\" = big ] && A=\"$A --nnodes 2\"\ntorchrun $A run_clm.py "
      "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --block_size 512" +
          std::string(kRest),
      "train.sh");
  EXPECT_EQ(report.whole("gpus"), 8);
  EXPECT_TRUE(std::ranges::any_of(report.assumed, [](const Assumed& one) {
    return one.key == "gpus" && one.because.find("a branch on argument 1 of the script") != std::string::npos;
  }));
}

TEST(BranchKeys, MegatronsLaunchersAndBatchToo) {
  const std::string run =
      "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 --num-attention-heads 16 "
      "--seq-length 2048 --max-position-embeddings 2048 --vocab-size 50304 --bf16 $A";
  EXPECT_THAT(
      asked_keys(branches("--micro-batch-size 1 --global-batch-size 64", "[ -f x ]", "--global-batch-size 128") + run),
      testing::Contains("batch.global"));
}

// The words behind --bf16 are gone where nothing sets them.
TEST(OpenFlags, QuestionsDoNotDependOnTheOrderOfWords) {
  for (const char* flags : {"$ARGS --bf16", "--bf16 $ARGS", "--fp16 $ARGS", "--bf16 ${ARGS[@]}",
                            "--num-layers 4 --bf16 $ARGS", "--bf16 --data-path \"$DATA\"", "--lr 1 $ARGS"})
    EXPECT_THAT(asked_keys("torchrun --nproc_per_node 8 pretrain_gpt.py " + std::string(flags)),
                IsSupersetOf({"parallelism.tensor", "recompute.granularity"}))
        << flags;
}

TEST(BranchKeys, ACopyOfAnUnsetVariableNamesIt) {
  const Report report = read_test_launch(
      "num_node=$NHOSTS\nall=$num_node\nmpirun -n $((8 * all)) python pretrain_gpt.py --num-layers 24 --hidden-size "
      "2048 --num-attention-heads 16 --seq-length 2048 --micro-batch-size 1 --bf16",
      "run.sh");
  const auto gpus = std::ranges::find(report.asked, "gpus", &Asked::key);
  ASSERT_NE(gpus, report.asked.end());
  EXPECT_NE(gpus->because.find("NHOSTS, which the script does not set"), std::string::npos) << gpus->because;
}

}  // namespace
}  // namespace foretoken::io::launch
