// Tests words behind -- that a script takes as options of its own.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/import/launch/test_launch.h"

namespace foretoken::io::launch {
namespace {

constexpr const char* kFlagsBehindOptions =
    "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
    "--seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 8 --bf16 "
    "--vocab-size 50304 --tensor-model-parallel-size $TP";

Report read_with_options(const std::string& begin, const std::vector<std::string>& words) {
  Findings findings;
  Launch launch;
  launch.sets = {"cluster=dgx-h100-ndr"};
  launch.words = words;
  Report report = read_launch_text(begin + kFlagsBehindOptions + "\n", "train.sh", launch, findings);
  EXPECT_EQ(lines_of(findings.complaints), "");
  return report;
}

std::string loop_of(const std::string& branch) {
  return "TP=8\nMODEL=$1\nshift\nwhile [[ $# -gt 0 ]]; do\n" + branch + "\ndone\n";
}

TEST(OwnOptions, AreTakenAlsoWithTheValueOfTheDefault) {
  const std::string cases = loop_of("case $1 in --tp) TP=$2; shift 2;; --tp=*) TP=${1#*=}; shift;; *) exit 1;; esac");
  const std::string tests = loop_of("if [ \"$1\" == --tp ]; then TP=$2; shift 2; else exit 1; fi");
  for (const std::string& begin : {cases, tests})
    for (const char* value : {"8", "4"}) {
      const Report report = read_with_options(begin, {"gpt", "--tp", value});
      EXPECT_EQ(refused_lines(report), "") << begin << value;
      EXPECT_EQ(report.whole("parallelism.tensor"), std::stoi(value)) << begin;
    }
  EXPECT_EQ(refused_lines(read_with_options(cases, {"gpt", "--tp=8"})), "");
}

TEST(OwnOptions, LeaveOtherFlagsToTheTraining) {
  const std::string begin = loop_of("case $1 in --tp) TP=$2; shift 2;; *) shift;; esac");
  const Report report = read_with_options(begin, {"gpt", "--tp", "8", "--swiglu", "--seq-length", "512"});
  EXPECT_EQ(refused_lines(report), "");
  EXPECT_EQ(report.at("model.activation"), Json("swiglu"));
  EXPECT_EQ(report.whole("batch.sequence_length"), 512);
}

}  // namespace
}  // namespace foretoken::io::launch
