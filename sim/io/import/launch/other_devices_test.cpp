// Tests that scripts for devices that are no GPUs are refused, whatever they start.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kTrainerRun =
    "torchrun --nproc_per_node 8 run_clm.py --do_train --model_name_or_path gpt2 --per_device_train_batch_size 8 "
    "--block_size 1024 --bf16 --output_dir out";
constexpr const char* kSwiftRun = "NPROC_PER_NODE=8 swift sft --model Qwen/Qwen3-8B --max_length 2048";
constexpr const char* kMegatronRun =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
    "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --bf16";

std::string refused_with(const std::string& lines, const char* run) {
  return refused_lines(read_test_launch(lines + "\n" + run, "train.sh"));
}

TEST(OtherDevices, ScriptsForAscendAreRefusedWhateverTheyStart) {
  for (const char* run : {kTrainerRun, kSwiftRun, kMegatronRun})
    for (const char* line :
         {"NPUS_PER_NODE=8", "source /usr/local/Ascend/ascend-toolkit/set_env.sh", "source ~/ascend-toolkit/set_env.sh",
          "export ASCEND_RT_VISIBLE_DEVICES=0,1", "source tests/env_npu.sh", "pip install torch-npu==2.1.0",
          "python -c 'import torch_npu'", "export PYTHONPATH=/root/MindSpeed:$PYTHONPATH"}) {
      SCOPED_TRACE(line);
      EXPECT_THAT(refused_with(line, run), HasSubstr("ascend: the script is for Ascend NPUs"));
    }
}

TEST(OtherDevices, VariablesOfHcclAloneTellTheDevice) {
  const std::string own = "export HCCL_CONNECT_TIMEOUT=1200";
  EXPECT_THAT(refused_with(own, kTrainerRun), HasSubstr("hccl: the collectives of Ascend or Gaudi"));
  EXPECT_EQ(refused_with(own + "\nexport NCCL_DEBUG=INFO", kTrainerRun), "") << "a script for both";
}

TEST(OtherDevices, LibrariesOfCollectivesTellTheDevice) {
  EXPECT_THAT(refused_with("", (std::string(kMegatronRun) + " --distributed-backend ccl").c_str()),
              HasSubstr("--distributed-backend ccl: the collectives of Intel's devices"));
  EXPECT_THAT(refused_with("", (std::string(kTrainerRun) + " --ddp_backend hccl").c_str()),
              HasSubstr("--ddp-backend hccl: the collectives of Ascend or Gaudi"));
  EXPECT_EQ(refused_with("", (std::string(kMegatronRun) + " --distributed-backend nccl").c_str()), "");
}

// docs/user/import.md: what stands only in a branch that may not run does not count.
TEST(OtherDevices, TheCommandThatIsReadTellsTheLibrary) {
  const auto with = [](const char* run, const char* flag, const char* library) {
    return std::string(run) + " " + flag + " " + library + "\n";
  };
  for (const auto& [run, flag] :
       {std::pair(kTrainerRun, "--ddp_backend"), std::pair(kMegatronRun, "--distributed-backend")})
    for (const char* other : {"hccl", "cncl", "mccl"}) {
      const std::string first = with(run, flag, other), second = with(run, flag, "nccl");
      const std::string branches = "if command -v npu-smi; then\n" + first + "else\n" + second + "fi\n";
      EXPECT_EQ(refused_lines(read_test_launch(branches, "train.sh")), "") << other;
      const auto chosen = [&](const std::string& text, const char* row) {
        Findings findings;
        return refused_lines(read_launch_text(text, "train.sh", {.row = row}, findings));
      };
      EXPECT_EQ(chosen(branches, "2"), "");
      EXPECT_THAT(chosen(branches, "1"), HasSubstr(other));
      EXPECT_EQ(chosen(first + second, "2"), "") << "the other training does not count";
      EXPECT_THAT(chosen("if command -v npu-smi; then\n" + first + "fi\n", ""), HasSubstr(other)) << "no other command";
    }
}

TEST(OtherDevices, ScriptsForBothAreNot) {
  for (const char* run : {kTrainerRun, kSwiftRun, kMegatronRun})
    for (const char* line :
         {"if [ -x \"$(command -v npu-smi)\" ]; then export ASCEND_RT_VISIBLE_DEVICES=0; else export A=0; fi",
          "source /home/ascendant/settings.sh", "source /home/input/env.sh", "cd /root/MindSpeed-LLM",
          "if [ -f /usr/local/Ascend/set_env.sh ]; then source /usr/local/Ascend/set_env.sh; fi"}) {
      SCOPED_TRACE(line);
      EXPECT_THAT(refused_with(line, run), Not(HasSubstr("ascend")));
    }
}

TEST(OtherDevices, MaxTextIsRefused) {
  for (const char* run :
       {"python3 MaxText/train.py MaxText/configs/our.yml run_name=a",
        "python3 -m MaxText.train src/MaxText/configs/our.yml", "python -m maxtext.trainers.pretrain"})
    EXPECT_THAT(refused_with("export LIBTPU_INIT_ARGS=--xla", run), HasSubstr("MaxText: a training of MaxText")) << run;
  for (const char* other : {"cp -r maxtext old", "python3 tools/maxtext_to_hf.py --in a", "python3 maxtext/convert.py"})
    EXPECT_THAT(refused_with(other, kTrainerRun), Not(HasSubstr("MaxText"))) << other;
}

}  // namespace
}  // namespace foretoken::io::launch
