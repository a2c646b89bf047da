// Tests the summary: its words, and that it never leaves the screen.
#include "sim/report/text/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "sim/report/example_test_data.h"

namespace foretoken::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const std::vector<Hint> kHints = {{"foretoken explain toy", "where the time goes"},
                                  {"foretoken search toy --free all", "faster configurations"},
                                  {"foretoken simulate toy --details", "everything"}};

job::Job pipelined_job() {
  job::Job job;
  job.parallelism = {.tensor = 4, .pipeline = 2, .data = 2};
  job.schedule.name = "1f1b";
  job.gpus = 16;
  job.batch = {.micro = 1, .global = 32, .sequence_length = 2048};
  job.optimizer.zero_stage = 1;
  return job;
}

std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Summary, SaysWhatDecides) {
  Metrics m = example_metrics();
  m.interval = {.level = 0.9, .low = Seconds(9.5), .high = Seconds(11), .cases = 3, .outside = true};
  EXPECT_EQ(
      summary_text(pipelined_job(), {}, m, {.assumed = {"Sequences of 4096 tokens."}, .hints = kHints}, Paint(false)),
      "toy on 16 A100\n"
      "  TP 4, PP 2, DP 2, micro-batch 1, 1f1b, ZeRO 1\n"
      "  step        10.00 s               32 sequences of 2,048 tokens\n"
      "  interval    9.500 s to 11.00 s    90 % (3 cases), outside validated range\n"
      "  throughput  6,554 tokens/s        409.6 tokens/s per GPU\n"
      "  MFU         41.2 %                128.5 of 312 bf16 TFLOP/s per GPU\n"
      "  bubble      18.8 %                of the busiest stage's work; ideal 12.5 %\n"
      "  memory      49.0 of 79.0 GiB      fits; stage 0 is the fullest\n"
      "  whole run   1.45 years            90 %: 1.38-1.60 years; 300 billion tokens\n"
      "  cost        508,626 USD           90 %: 483,000-559,000\n"
      "  warning: the network was never measured\n"
      "  assumed: Sequences of 4096 tokens.\n"
      "\nWhere the time goes  stage 0, the busiest\n"
      "  compute                              6.000 s  60.0 %  ████████████████████████\n"
      "  tensor-parallel communication        2.000 s  20.0 %  ████████\n"
      "  bubble (waiting for another stage)   1.500 s  15.0 %  ██████\n"
      "  data-parallel communication         500.0 ms   5.0 %  ██\n"
      "\n"
      "  foretoken explain toy             where the time goes\n"
      "  foretoken search toy --free all   faster configurations\n"
      "  foretoken simulate toy --details  everything\n");
}

TEST(Summary, AJobThatDoesNotFitSaysSoFirst) {
  Metrics m = example_metrics();
  m.memory.fits = false;
  m.memory.capacity = Bytes(40 * kGiB);
  m.memory.advice = "recompute \"selective\": 36.0 GiB, step time +2.1 %";
  const auto lines = lines_of_text(summary_text(pipelined_job(), {}, m, {}, Paint(false)));
  EXPECT_EQ(lines[1], "  does not fit: 49.0 of 40.0 GiB; try foretoken search (numbers as if it did)");
  EXPECT_THAT(lines, testing::Contains("  memory      49.0 of 40.0 GiB      does not fit; stage 0 is the fullest"));
  EXPECT_THAT(lines, testing::Contains("  to make it fit: recompute \"selective\": 36.0 GiB, step time +2.1 %"));
}

TEST(Summary, LargeNumbersThatDoNotFitStayOnTheScreen) {
  Metrics m = example_metrics();
  m.memory.fits = false;
  m.memory.capacity = Bytes(40 * kGiB);
  m.memory.peak = Bytes(1234567 * kGiB);
  m.memory.outside_allocator = Bytes(0);
  const auto lines = lines_of_text(summary_text(pipelined_job(), {}, m, {}, Paint(false)));
  EXPECT_EQ(lines[1], "  does not fit: 1,234,567.0 of 40.0 GiB; try foretoken search (numbers as if it");
  EXPECT_EQ(lines[2], "  did)");
}

TEST(Summary, BarsEndAtTheEdgeOfTheScreen) {
  Metrics m = example_metrics();
  m.time.offload = 2.0 * m.time.compute;
  const std::string text = summary_text(pipelined_job(), {}, m, {}, Paint(false));
  EXPECT_THAT(text, HasSubstr("offload (copies, update on the host)"));
  for (const std::string& line : lines_of_text(text)) EXPECT_LE(columns_of(line), kScreenColumns) << line;
}

TEST(Summary, RemarksAreWholeWhereThereIsRoom) {
  Metrics m = example_metrics();
  m.memory.advice = "optimizer.zero_stage 1, recompute \"full\" and a smaller micro-batch: 36.0 GiB, step time +2.1 %";
  const std::string text = summary_text(pipelined_job(), {}, m, {}, Paint(false));
  EXPECT_THAT(text, HasSubstr("  to make it fit: optimizer.zero_stage 1, recompute \"full\" and a smaller\n"
                              "  micro-batch: 36.0 GiB, step time +2.1 %\n"));
}

TEST(Summary, AlmostFullMemoryIsNamed) {
  Metrics m = example_metrics();
  m.memory.capacity = Bytes(50 * kGiB);
  EXPECT_THAT(summary_text(pipelined_job(), {}, m, {}, Paint(false)), HasSubstr("tight, 98.0 % full: try it first"));
}

TEST(Summary, EverythingAtOnceFitsTheScreen) {
  Metrics m = example_metrics();
  m.interval = {.level = 0.9, .low = Seconds(0.123456), .high = Seconds(0.234567), .cases = 1234, .outside = true};
  m.name = std::string(200, 'n');
  m.memory.fits = false;
  m.memory.capacity = Bytes(40 * kGiB);
  m.memory.advice = std::string(60, 'a') + " " + std::string(60, 'b');
  for (int i = 0; i < 9; ++i) m.warnings.push_back("a long warning " + std::string(90, 'w') + " with an end");
  m.delays = {{.what = "GPU 3 (node 0) is 10 % slower", .without = Seconds(9)}};
  for (const auto& [axis, name] : kAxisNames) m.time.comm[axis] = Seconds(0.5);
  m.time.optimizer = m.time.other = m.time.host = Seconds(0.1);
  m.shown_gpus = PerStage<Gpu>(2, Gpu{1048575});
  job::Job job = pipelined_job();
  job.parallelism = {.tensor = 16, .pipeline = 128, .data = 1024, .context = 64};
  job.parallelism.virtual_pipeline = 16;
  job.parallelism.sequence_parallel = true;
  job.batch = {.micro = 1024, .global = 1048576, .sequence_length = 1048576};
  job.recompute.granularity = model::RecomputeGranularity::kSelective;
  const std::string text = summary_text(job, {}, m, {.assumed = {"one", "two"}, .hints = kHints}, Paint(false));
  EXPECT_EQ(lines_of_text(text).size(), kSummaryLines);
  for (const std::string& line : lines_of_text(text)) EXPECT_LE(columns_of(line), kScreenColumns) << line;
  EXPECT_THAT(text, HasSubstr("  and 12 more remarks: --details\n"));
  EXPECT_THAT(text, HasSubstr(" others "));
}

TEST(Summary, RemarksWithoutRoomAreCounted) {
  EXPECT_EQ(remarks_text({"one", "two"}, 0, Paint(false)), "  and 2 more remarks: --details\n");
  EXPECT_EQ(remarks_text({"one", "two"}, 1, Paint(false)), "  and 2 more remarks: --details\n");
}

TEST(Summary, LongTextsEndAtAClauseOrAWord) {
  EXPECT_EQ(one_line("short", 5), "short");
  EXPECT_EQ(one_line("a warning that is long: its reason is longer", 30), "a warning that is long ...");
  EXPECT_EQ(one_line("one two three four five", 15), "one two ...");
  EXPECT_EQ(one_line("a: one two three four five", 20), "a: one two three ...");
}

TEST(Summary, HintsStayInTheirColumns) {
  const std::string text = hints_text({{std::string(70, 'x'), "a use with no room"}, {"y", "a use"}}, Paint(false));
  EXPECT_THAT(lines_of_text(text), ElementsAre("  " + std::string(70, 'x'), "  y  a use"));
}

}  // namespace
}  // namespace foretoken::report
