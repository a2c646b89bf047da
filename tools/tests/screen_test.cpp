// Tests the screen of `foretoken simulate`: what it must show, and that it is one screen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/text/layout.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(Screen, SimulateFitsOneScreenAndEndsWithCommandsToRun) {
  for (const std::string name : {"llama-3-8b-8-h200", "gpt-1t-3072-a100", "mt-nlg-530b-280-a100-selective-sp"}) {
    const Ran ran = run_foretoken({"simulate", name});
    const std::vector<std::string> lines = lines_of(ran.out);
    ASSERT_LE(lines.size(), 25U) << ran.out;
    for (const std::string& line : lines) EXPECT_LE(report::columns_of(line), 80U) << line;
    ASSERT_GE(lines.size(), 4U);
    EXPECT_EQ(lines[lines.size() - 4], "");
    for (std::size_t at = lines.size() - 3; at < lines.size(); ++at)
      EXPECT_THAT(lines[at], StartsWith("  foretoken ")) << lines[at];
    EXPECT_THAT(lines.back(), StartsWith("  foretoken simulate " + name + " --details"));
  }
}

TEST(Screen, SimulateNamesWhatChangesTheMeaningOfItsNumbers) {
  EXPECT_THAT(run_foretoken({"simulate", "llama-3-8b-8-h200", "--set", "profile=h800-sxm5-80gb"}).out,
              HasSubstr("\n  costs scaled from h100-sxm5-80gb: gemm bf16, attention, collectives over"));
  EXPECT_THAT(run_foretoken({"simulate", "llama-3-8b-8-h200"}).out, Not(HasSubstr("costs scaled")));
  const std::string large = run_foretoken({"simulate", "llama-2-7b-8-a100", "--set", "batch.micro=8"}).out;
  EXPECT_THAT(lines_of(large).at(1), StartsWith("  does not fit: "));
  EXPECT_THAT(large, HasSubstr("\n  foretoken search llama-2-7b-8-a100 --set batch.micro=8 --free all\n"));
  EXPECT_THAT(run_foretoken({"simulate", "llama-2-7b-8-a100", "--set", "stragglers=true"}).out,
              HasSubstr("\n  warning: stragglers: "));
  const Ran open = run_foretoken({"simulate", "--model", "llama-2-7b", "--cluster", "dgx-h100-ndr", "--gpus", "8"});
  EXPECT_THAT(open.out, HasSubstr("\n  assumed: Sequences of 4096 tokens"));
  EXPECT_THAT(open.out, HasSubstr("\n  foretoken search --model llama-2-7b --cluster dgx-h100-ndr --gpus 8"));
}

}  // namespace
}  // namespace foretoken::tools
