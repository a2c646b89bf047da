// Tests counts of GPUs and hosts that a script takes from its machine.
#include "sim/io/import/launch/shell/counted_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "sim/io/import/launch/shell/script.h"
#include "sim/io/json/test_text.h"

namespace foretoken::io::shell {
namespace {

// The value of N behind a script, with the GPUs of a node that the user states.
std::string counted(const std::string& text, std::int64_t devices = 0) {
  Findings findings;
  const auto script = read_script_text(text, "run.sh", testing::TempDir(), {.devices = devices}, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  const Texts* const found = script ? script->variables.find("N") : nullptr;
  return found == nullptr || found->empty() ? "(unset)" : is_unknown(found->front()) ? "(unknown)" : found->front();
}

TEST(CountedOutput, GpusOfANodeAreThoseThatTheUserStates) {
  for (const char* command :
       {"python -c \"import torch; print(torch.cuda.device_count());\"",
        "python3 -c 'import torch;print(torch.cuda.device_count())'", "nvidia-smi -L | wc -l",
        "nvidia-smi --list-gpus | wc -l", "nvidia-smi --query-gpu=name --format=csv,noheader | wc -l"}) {
    const std::string text = "N=$(" + std::string(command) + ")";
    EXPECT_EQ(counted(text, 8), "8") << command;
    EXPECT_EQ(counted(text), "(unknown)") << command;
    EXPECT_EQ(counted("#SBATCH --gres=gpu:4\n" + text, 8), "4") << command;
  }
  for (const char* other : {"python -c \"import torch; print(torch.cuda.device_count() // 2)\"",
                            "python -c \"import torch; print(1); print(torch.cuda.device_count())\"", "python gpus.py",
                            "nvidia-smi | wc -l"})
    EXPECT_EQ(counted("N=$(" + std::string(other) + ")", 8), "(unknown)") << other;
}

TEST(CountedOutput, TorchCountsVisibleDevices) {
  const std::string visible = "export CUDA_VISIBLE_DEVICES=0,1\nN=";
  EXPECT_EQ(counted(visible + "$(python -c 'import torch; print(torch.cuda.device_count())')", 8), "2");
  EXPECT_EQ(counted(visible + "$(nvidia-smi -L | wc -l)", 8), "8") << "it lists all GPUs of the node";
}

TEST(CountedOutput, HostsOfSlurmAreItsNodes) {
  const std::string job = "#SBATCH --nodes=6\n";
  EXPECT_EQ(counted(job + "N=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" | wc -l)"), "6");
  EXPECT_EQ(counted(job + "HOSTS=($(scontrol show hostnames $SLURM_JOB_NODELIST))\nN=${#HOSTS[@]}"), "6");
  EXPECT_EQ(counted(job + "HOSTS=($(scontrol show hostnames $SOME))\nN=${#HOSTS[@]}"), "(unknown)");
  EXPECT_EQ(counted("HOSTS=($(scontrol show hostnames $SLURM_JOB_NODELIST))\nN=${#HOSTS[@]}"), "(unknown)");
}

// sbatch(1): SLURM_TASKS_PER_NODE=2(x3),1
TEST(Slurm, TasksOfEqualNodesAreOnePart) {
  const std::string tasks = "N=$SLURM_TASKS_PER_NODE";
  EXPECT_EQ(counted("#SBATCH -N 2 --ntasks-per-node=8\n" + tasks), "8(x2)");
  EXPECT_EQ(counted("#SBATCH -N 2 --ntasks-per-node=8\nN=${SLURM_TASKS_PER_NODE%%(*}"), "8");
  EXPECT_EQ(counted("#SBATCH -N 1 --ntasks-per-node=8\n" + tasks), "8");
  EXPECT_EQ(counted("#SBATCH -N 4 -n 20 --ntasks-per-node=8\n" + tasks), "(unknown)") << "8 are a limit";
  EXPECT_EQ(counted("#SBATCH -N 4\n" + tasks), "(unknown)");
}

// ABCI User Guide, "Available Resource Types": rt_F and rt_AF are whole nodes.
TEST(OtherJobs, GridEngineCountsWholeNodes) {
  EXPECT_EQ(counted("#!/bin/bash\n#$ -l rt_AF=6\n#$ -l h_rt=1:00:00\nN=$NHOSTS"), "6");
  EXPECT_EQ(counted("#$-l rt_F=3,h_rt=1:00:00\nN=$((NHOSTS * 4))"), "12");
  EXPECT_EQ(counted("#$ -l rt_F=3\nN=$(cat $SGE_JOB_HOSTLIST | wc -l)"), "3");
  EXPECT_EQ(counted("#$ -l rt_G.small=1\nN=$NHOSTS"), "(unset)") << "a part of a node";
}

// pbs_resources(7B), mpiprocs: a host stands in the file for each process of its chunks.
TEST(OtherJobs, TheFileOfHostsOfPbsHasALineForEachProcess) {
  const std::string lines = "\nN=$(wc -l < $PBS_NODEFILE)", hosts = "\nN=$(sort -u \"$PBS_NODEFILE\" | wc -l)";
  EXPECT_EQ(counted("#PBS -l select=4:ngpus=8" + lines), "4");
  EXPECT_EQ(counted("#PBS -l select=4:ngpus=8:mpiprocs=8" + lines), "32");
  EXPECT_EQ(counted("#PBS -l select=2:ncpus=8+1:ncpus=4:mpiprocs=2" + lines), "4");
  EXPECT_EQ(counted("#PBS -l select=4:mpiprocs=8\n#PBS -l place=scatter" + hosts), "4");
  EXPECT_EQ(counted("#PBS -l select=4:mpiprocs=8" + hosts), "(unknown)") << "chunks may share a host";
  EXPECT_EQ(counted("#PBS -l select=1:mpiprocs=8" + hosts), "1");
  EXPECT_EQ(counted("#PBS -l select=4:mpiprocs=many" + lines), "(unknown)");
}

// dash(1), "Parameter Expansion": an argument that is not there makes a variable empty.
TEST(UnstatedArguments, LeaveTheirVariablesToTheDefaults) {
  for (const auto& [text, value] :
       {std::pair("N=${2}\nN=${N:-4}", "4"), std::pair("A=$1; N=${A:-4}", "4"), std::pair("N=$1; : ${N:=2}", "2"),
        std::pair("A=$1$2; N=$((${A:-3} * 2))", "6"), std::pair("A=$1; N=a${A:+b}", "a"),
        std::pair("N=$1; [[ -z $N ]] && N=5", "5"), std::pair("N=$1; if [ ! -n \"$N\" ]; then N=6; fi", "6"),
        std::pair("A=$1; N=$A", "(unknown)"), std::pair("A=$1; N=${A-4}", "(unknown)"),
        std::pair("A=$1/x; N=${A:-4}", "(unknown)"), std::pair("A=$(date); N=${A:-4}", "(unknown)")})
    EXPECT_EQ(counted(text), value) << text;
  Findings findings;
  const auto stated = read_script_text("N=$1; N=${N:-4}", "run.sh", ".", {.arguments = {"7"}}, findings);
  ASSERT_TRUE(stated.has_value());
  EXPECT_EQ(stated->variables.find("N")->front(), "7");
}

}  // namespace
}  // namespace foretoken::io::shell
