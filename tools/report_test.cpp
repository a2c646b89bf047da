// foretoken report from outside: whole files, the same bytes, sizes, scenarios of every kind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Report, IsWholeAndTheSameEveryTime) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "gpt-22b-8-a100-sp", "-o", folder.file("a.html")}).status, 0);
  const std::string first = contents(folder.file("a.html"));
  ASSERT_EQ(run_foretoken({"report", "gpt-22b-8-a100-sp", "-o", folder.file("a.html")}).status, 0);
  EXPECT_EQ(first, contents(folder.file("a.html")));
  EXPECT_THAT(first, testing::EndsWith("</html>\n"));
  EXPECT_THAT(folder.names(), ElementsAre("a.html"));
}

TEST(Report, ATrillionParametersOn3072GpusStayBelowTwoMegabytes) {
  const TemporaryFolder folder;
  ASSERT_EQ(run_foretoken({"report", "gpt-1t-3072-a100", "-o", folder.file("big.html")}).status, 0);
  const std::string page = contents(folder.file("big.html"));
  EXPECT_LT(page.size(), 2'000'000U);
  EXPECT_THAT(page, HasSubstr("Training gpt-1t on 450 billion tokens with 3,072"));
}

TEST(Report, StandardInputAndOverridesAreReproducible) {
  const TemporaryFolder folder;
  const std::string scenario =
      R"({"model":"llama-2-7b","cluster":"dgx-a100-80gb-hdr","gpus":1,"batch":{"micro":1,"global":1,"sequence_length":4096}})";
  const Ran ran = run_foretoken({"report", "-", "--set", "name=\"it's 7B\"", "-o", folder.file("r.html")}, scenario);
  EXPECT_EQ(ran.status, 0) << ran.err;
  const std::string page = contents(folder.file("r.html"));
  EXPECT_THAT(page, HasSubstr("--set 'name=&quot;it'\\''s 7B&quot;'"));
  EXPECT_THAT(page, HasSubstr("\"name\": \"it's 7B\""));
}

TEST(Report, WhatDoesNotFitIsSaidAndWritten) {
  const TemporaryFolder folder;
  const Ran ran = run_foretoken(
      {"report", "gpt3-175b-1024-a100", "--set", "recompute=none", "--require-fit", "-o", folder.file("r.html")});
  EXPECT_EQ(ran.status, 1);
  EXPECT_THAT(contents(folder.file("r.html")), HasSubstr("does not fit on 1,024"));
}

TEST(Report, AWrongScenarioLeavesNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_foretoken({"report", "gpt3-175b-1024-a100", "--set", "gpus=7", "-o", folder.file("r.html")}).status, 2);
  EXPECT_THAT(folder.names(), testing::IsEmpty());
}

}  // namespace
}  // namespace foretoken::tools
