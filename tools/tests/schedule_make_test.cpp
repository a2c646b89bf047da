// Tests `schedule make`, and scenarios that have their schedule made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Ran simulate(std::vector<std::string> more) {
  std::vector<std::string> words{"simulate", "gpt3-175b-1024-a100", "--json", "--set",
                                 "parallelism.virtual_pipeline=1"};
  words.insert(words.end(), more.begin(), more.end());
  return run_foretoken(words);
}

TEST(ScheduleMake, AScenarioHasItsOrderMadeForItsOwnTimes) {
  const Ran made = simulate({"--set", "schedule.search=true"});
  ASSERT_EQ(made.status, 0) << made.err;
  const json answer = json::parse(made.out);
  EXPECT_EQ(answer["schedule"], "made");
  EXPECT_TRUE(answer["memory"]["fits"].get<bool>());
  for (const char* name : {"1f1b", "eager-1f1b", "zb-h1", "zb-h2"}) {
    const json other = json::parse(simulate({"--set", std::string("schedule=") + name}).out);
    if (!other["memory"]["fits"].get<bool>()) continue;
    EXPECT_LE(answer["step_time_s"].get<double>(), other["step_time_s"].get<double>()) << name;
  }
  EXPECT_EQ(simulate({"--set", "schedule.search=true"}).out, made.out) << "the same question has the same answer";
}

TEST(ScheduleMake, WrongUsesAreOneLine) {
  const Ran search = run_foretoken({"search", "gpt-7.5b-128-a100", "--free", "all", "--set", "schedule.search=true"});
  EXPECT_EQ(search.status, 2);
  EXPECT_THAT(search.err, HasSubstr("/schedule: expected the name of a schedule, found one to make"));
  const Ran no = simulate({"--set", "schedule.search=false"});
  EXPECT_EQ(no.status, 2);
  EXPECT_THAT(no.out + no.err, HasSubstr("expected true, found false; try the name of a schedule"));
  const Ran limit = run_foretoken({"schedule", "make", "--stages", "4", "--microbatches", "8", "--limit", "0.5"});
  EXPECT_EQ(limit.status, 2);
  EXPECT_THAT(limit.err, HasSubstr("--limit: expected at least the activations of one micro-batch (1), found 0.5"));
  const Ran endless =
      run_foretoken({"schedule", "make", "--stages", "4", "--microbatches", "8192", "--forward", "1e6"});
  EXPECT_EQ(endless.status, 2);
  EXPECT_THAT(endless.err, HasSubstr("expected at most 100 days of passes"));
}

// The tensors that wait for weights may be more than those that a forward stores.
TEST(ScheduleMake, MoreMayWaitForWeightsThanAForwardStores) {
  for (const char* part : {"1.5", "2"})
    for (const char* limit : {"2", "2.5", "3", "7"}) {
      const Ran ran = run_foretoken({"schedule", "make", "--stages", "4", "--microbatches", "12", "--kept-for-weights",
                                     part, "--limit", limit, "--json"});
      ASSERT_EQ(ran.status, 0) << part << " " << limit << ran.err;
      const json made = json::parse(ran.out);
      for (const json& held : made["peak_held"]) EXPECT_LE(held.get<double>(), std::stod(limit));
    }
}

TEST(ScheduleShow, PairsAreThoseOfSchedulesWithPairs) {
  const Ran ran = run_foretoken({"schedule", "show", "1f1b", "--stages", "4", "--microbatches", "8", "--pair", "3"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err, HasSubstr("--pair: expected a schedule that runs passes in pairs"));
}

TEST(ScheduleShow, BlockingMessagesAreThoseOfMegatronsSchedules) {
  for (const char* name : {"eager-1f1b", "zb-h1", "zb-h2"}) {
    const Ran ran = run_foretoken({"schedule", "show", name, "--stages", "4", "--microbatches", "8", "--blocking"});
    EXPECT_EQ(ran.status, 2) << name;
    EXPECT_THAT(ran.err, HasSubstr("--blocking: expected a schedule of Megatron"));
  }
  for (const char* name : {"looped-bfs", "interleaved-zb", "zb-v", "v-zb", "v-half", "v-min"})
    EXPECT_EQ(
        run_foretoken({"schedule", "show", name, "--stages", "4", "--microbatches", "8", "--chunks", "2", "--blocking"})
            .status,
        2);
}

// Evaluation saves no memory, so it need not throttle its forwards as v-min does.
TEST(ForwardOnly, EverySchedulesEvaluationTakesAboutAsLong) {
  std::map<std::string, double> seconds;
  for (const char* name : {"interleaved-1f1b", "zb-v", "v-half", "v-min"}) {
    const Ran ran = run_foretoken({"simulate", "gpt3-175b-1024-a100", "--json", "--set",
                                   std::string("schedule=") + name, "--set", "parallelism.virtual_pipeline=2"});
    seconds[name] = json::parse(ran.out)["forward_only_step_s"].get<double>();
  }
  for (const auto& [name, time] : seconds) EXPECT_NEAR(time / seconds["interleaved-1f1b"], 1, 0.1) << name;
}

// Sharded parameters have no pipeline: every schedule runs or is refused in one line.
TEST(ShardedJobs, TakeNoScheduleOfSeveralChunks) {
  for (const char* name : {"looped-bfs", "interleaved-zb", "zb-v", "v-half"}) {
    const Ran ran = run_foretoken({"simulate", "mpt-7b-8-a100-fsdp", "--set", std::string("schedule=") + name, "--set",
                                   "parallelism.virtual_pipeline=2"});
    EXPECT_EQ(ran.status, 2) << name;
    EXPECT_THAT(ran.err, HasSubstr("expected at least 2 pipeline stages"));
  }
}

}  // namespace
}  // namespace foretoken::tools
