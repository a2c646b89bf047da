// Tests `foretoken simulate --share-cluster` from outside.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

/// Two jobs of four and eight nodes. A leaf has two nodes, and its ports up carry a quarter of its ports down.
const std::vector<std::string> kJobs = {
    "simulate",
    "gpt-1.7b-32-a100",
    "gpt-3.6b-64-a100",
    "--share-cluster",
    "--set",
    R"(cluster={"base": "selene", "fabric": {"rail_optimized": false, "switch_radix": 20, "oversubscription": 4}})"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(ShareClusterCommand, NamesWhatEachJobLosesAndWhere) {
  // The same job twice: both reduce their gradients at the same time.
  std::vector<std::string> twins = kJobs;
  twins[2] = twins[1];
  const Ran ran = run_foretoken(with(twins, {"--json", "--nodes", "0,2,4,6", "--nodes", "1,3,5,7"}));
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json result = json::parse(ran.out);
  ASSERT_EQ(result.at("jobs").size(), 2U);
  EXPECT_EQ(result.at("jobs")[0].at("nodes"), json({0, 2, 4, 6}));
  for (const json& job : result.at("jobs")) EXPECT_GT(job.at("slowdown"), 1.0);
  ASSERT_FALSE(result.at("shared_bottlenecks").empty());
  EXPECT_THAT(result.at("shared_bottlenecks")[0].at("link").get<std::string>(), HasSubstr("leaf"));
  EXPECT_EQ(result.at("shared_bottlenecks")[0].at("jobs"), json({0, 1}));
}

TEST(ShareClusterCommand, JobsOneAfterAnotherHaveLeavesOfTheirOwn) {
  const Ran ran = run_foretoken(kJobs);
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("0-3"));
  EXPECT_THAT(ran.out, HasSubstr("4-11"));
  EXPECT_THAT(ran.out, HasSubstr("No link was full with traffic of several jobs."));
}

TEST(ShareClusterCommand, WarningsAreThoseOfTheirJobs) {
  const std::vector<std::string> idle = with(kJobs, {"--set", "overlap.p2p=true"});
  const std::string warning = "overlap.p2p is ignored";
  const Ran ran = run_foretoken(idle);
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json result = json::parse(run_foretoken(with(idle, {"--json"})).out);
  for (const json& job : result.at("jobs")) {
    EXPECT_THAT(ran.out, HasSubstr("\n  - " + job.at("name").get<std::string>() + ": " + warning));
    EXPECT_THAT(job.at("warnings")[0].get<std::string>(), testing::StartsWith(warning));
  }
}

std::vector<Wrong> wrong_shares(const TemporaryFolder& folder) {
  const auto on_cluster = [&](const char* name, const std::string& pcie) {
    return folder.put(
        name, R"({"model": "gpt2-medium", "gpus": 8, "batch": {"micro": 1, "global": 8, "sequence_length": 1024},
        "cluster": {"base": "dgx-a100-80gb-hdr", "node": {"pcie_gb_per_s": )" +
                  pcie + "}}}");
  };
  return {
      {"one job", {"simulate", "gpt-1.7b-32-a100", "--share-cluster"}, "expected at least two scenarios, found 1"},
      {"one list for two", with(kJobs, {"--nodes", "0-3"}), "expected a list for each of the 2 scenarios, found 1"},
      {"too few nodes", with(kJobs, {"--nodes", "0-2", "--nodes", "4-11"}), "needs 4 nodes, found 3"},
      {"a node of both", with(kJobs, {"--nodes", "0-3", "--nodes", "3-10"}), "node 3 is given twice"},
      {"no list", with(kJobs, {"--nodes", "0-3", "--nodes", "node[4-11]"}), "expected numbers and ranges like 0-3,8"},
      {"a range backwards", with(kJobs, {"--nodes", "3-0", "--nodes", "4-11"}),
       "expected numbers and ranges like 0-3,8"},
      {"an endless range", with(kJobs, {"--nodes", "0-999999999999", "--nodes", "4-11"}),
       "expected numbers and ranges"},
      {"two clusters",
       {"simulate", "gpt-1.7b-32-a100", "llama-3-70b-64-h100", "--share-cluster"},
       "expected one cluster, found selene of gpt-1.7b"},
      {"two clusters of one name",
       {"simulate", on_cluster("a.json", "29"), on_cluster("b.json", "30"), "--share-cluster"},
       "expected one cluster, found two that differ, dgx-a100-80gb-hdr (modified) of a and"},
      {"nodes of two kinds",
       {"simulate", "llama-3-8b-16-a100-h100", "llama-3-8b-16-a100-h100", "--share-cluster"},
       "expected nodes of one kind, found several in "},
      {"nodes of one job alone", {"simulate", "gpt-1.7b-32-a100", "--nodes", "0-3"}, "--share-cluster"},
      {"a trace", with(kJobs, {"--trace", "x"}), "--trace"}};
}

TEST(ShareClusterCommand, WhatIsWrongIsOneLine) {
  const TemporaryFolder folder;
  for (const Wrong& wrong : wrong_shares(folder)) expect_refused(wrong);
}

}  // namespace
}  // namespace foretoken::tools
