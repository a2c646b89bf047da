// Tests Ctrl-C in long commands: what is done is kept and counted, in all of them alike.
#include "tools/output/long_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>

#include "sim/io/scenario/read_residuals.h"
#include "sim/job/job.h"
#include "sim/study/otherwise/explain.h"
#include "sim/study/otherwise/schedules.h"
#include "sim/study/otherwise/variants.h"
#include "sim/study/otherwise/whatif.h"
#include "sim/study/plan/plan.h"
#include "tools/options/scenario_argument.h"
#include "tools/tests/run_binary_test.h"
#include "validate/validate.h"

namespace foretoken::tools {
namespace {

using testing::SizeIs;

// Stops work after some of its items, and counts as a command does.
struct StopsAfter {
  std::size_t items;
  std::atomic<bool> stop = false;
  std::size_t done = 0, total = 0;

  Watch watch() {
    return {.progress =
                [this](std::size_t now, std::size_t all) {
                  done = now;
                  total = all;
                  stop = now >= items;
                },
            .stop = &stop};
  }
};

const trust::Evidence& evidence() {
  static const trust::Evidence read = io::read_shipped_residuals();
  return read;
}

TEST(LongWork, CtrlCAsksTheWorkToEndAndGivesOneStatus) {
  LongWork work("rows");
  const Watch watch = work.watch();
  watch.show(0, 3);
  EXPECT_FALSE(watch.stopped());
  std::raise(SIGINT);
  EXPECT_TRUE(watch.stopped());
  watch.show(2, 3);
  testing::internal::CaptureStderr();
  EXPECT_EQ(work.marked(R"({"rows": []})"), R"({"complete": false, "done": 2, "wanted": 3,"rows": []})");
  EXPECT_EQ(work.status(0), kInterrupted);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "Interrupted: 2 of 3 rows are done.\n");
}

TEST(LongWork, CtrlCAfterTheLastItemChangesNothing) {
  LongWork work("rows");
  work.watch().show(3, 3);
  std::raise(SIGINT);
  EXPECT_EQ(work.status(1), 1);
}

TEST(LongWork, AnotherWorkBeginsWithoutTheCtrlCOfTheFirst) {
  {
    LongWork first("rows");
    std::raise(SIGINT);
    EXPECT_TRUE(first.watch().stopped());
  }
  LongWork second("rows");
  EXPECT_FALSE(second.watch().stopped());
}

TEST(StoppedWork, WhatifKeepsTheCombinationsThatAreDone) {
  StopsAfter two{.items = 2};
  const study::WhatIf whatif =
      study::what_if({.scenario = scenario_source("llama-2-7b-8-a100"),
                      .sets = {},
                      .keys = {study::parse_varied("batch.micro=1,2,4"), study::parse_varied("recompute=none,full")},
                      .tornado = true},
                     evidence(), two.watch());
  EXPECT_THAT(whatif.rows, SizeIs(2));
  EXPECT_TRUE(whatif.best.has_value());
  EXPECT_THAT(whatif.tornado, SizeIs(0));
  EXPECT_EQ(two.done, 2U);
  EXPECT_GT(two.total, 6U) << "combinations, and properties of the hardware";
}

TEST(StoppedWork, CompareKeepsTheSchedulesThatAreDone) {
  const study::ScenarioSource source = scenario_source("gpt-145b-1536-a100");
  const job::Job job = source.read({}).job;
  StopsAfter one{.items = 1};
  const auto tried = study::try_schedules(source, {}, job, study::usual_schedules(job), evidence(), one.watch());
  EXPECT_THAT(tried, SizeIs(1));
  EXPECT_GT(one.total, 3U);
}

TEST(StoppedWork, SensitivitiesKeepThePropertiesThatAreDone) {
  const job::Job job = scenario_source("llama-2-7b-8-a100").read({}).job;
  StopsAfter two{.items = 2};
  EXPECT_THAT(study::sensitivities(job, 0.1, 1, two.watch()), SizeIs(2));
  EXPECT_EQ(two.total, study::sensitivity_count(job));
  EXPECT_EQ(study::sensitivities(job, 0.1).size(), study::sensitivity_count(job));
  StopsAfter none{.items = 0};
  EXPECT_THAT(study::explain(scenario_source("llama-2-7b-8-a100").read({}), evidence(), 0.1, none.watch()).hardware,
              SizeIs(0));
}

TEST(StoppedWork, APlanKeepsTheRowsThatAreDone) {
  StopsAfter one{.items = 1};
  study::PlanQuestion question{.scenario = scenario_source("llama-2-7b-8-a100"),
                               .sets = {"parallelism.data=null"},
                               .clusters = {"dgx-a100-80gb-hdr", "dgx-h100-ndr"},
                               .space = {},
                               .assumptions = {},
                               .deadline_days = {},
                               .budget = {}};
  question.space.gpus = {8, 16};
  question.assumptions.tokens = 1e9;
  const study::Plan plan = study::make_plan(question, one.watch());
  EXPECT_THAT(plan.rows, SizeIs(1));
  EXPECT_EQ(plan.asked, 4U);
  EXPECT_EQ(one.total, 4U);
  EXPECT_TRUE(plan.smallest.has_value());
}

TEST(StoppedWork, AValidationKeepsTheRowsThatAreDoneAndChecksNoBoundOfAPart) {
  StopsAfter three{.items = 3};
  const validate::Validation validation = validate::run_validation({"mt-nlg", "bloom"}, 1, three.watch());
  ASSERT_THAT(validation.sets, SizeIs(1));
  EXPECT_THAT(validation.sets[0].cases, SizeIs(3));
  EXPECT_THAT(validation.broken, SizeIs(0));
  EXPECT_GT(three.total, 3U);
}

TEST(StoppedWork, PartsOfAReportKeepTheVariantsThatAreDone) {
  const study::ScenarioSource source = scenario_source("gpt-145b-1536-a100");
  const job::Job job = source.read({}).job;
  std::atomic<bool> stop = true;
  const Watch watch{.stop = &stop};
  EXPECT_THAT(study::other_schedules(source, {}, job, evidence(), watch), SizeIs(0));
  EXPECT_THAT(study::other_sizes(source, {}, job, evidence(), watch), SizeIs(0));
}

TEST(LongWork, AReportSaysWhatItWrote) {
  const TemporaryFolder folder;
  const Ran ran = run_foretoken({"report", "llama-2-7b-8-a100", "-o", folder.file("r.html")});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.err, testing::HasSubstr("Wrote " + folder.file("r.html") + "."));
}

}  // namespace
}  // namespace foretoken::tools
