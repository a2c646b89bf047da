// Tests that the steady state of each kind of log is found, among pauses, restarts and lines that are cut.
#include "sim/study/diagnose/steady.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sim/io/import/log/read_log.h"

namespace foretoken::study {
namespace {

using io::log::Format;
using testing::HasSubstr;

const std::string kLogs = FORETOKEN_SOURCE_DIR "/sim/io/testdata/logs/";

// The steps are those that the fixtures were written with, before noise of at most one percent.
struct LogCase {
  const char* what;
  const char* file;
  Format format;
  double step_s;
};
constexpr LogCase kLogCases[] = {
    {"Megatron-LM of 2021, a mean of ten steps a line", "megatron_2021.out", Format::kMegatron, 3.302},
    {"Megatron-LM of 2025 with pauses, a restart and a cut line", "megatron_2025.log", Format::kMegatron, 5.0},
    {"Megatron-DeepSpeed, in seconds", "megatron_deepspeed.log", Format::kMegatron, 104.7},
    {"NeMo, lines of the console", "nemo.log", Format::kNemo, 6.42},
    {"NeMo, a progress bar redrawn", "nemo_progress.log", Format::kNemo, 2.75},
    {"DeepSpeed, rates and clocks give the batch of 64", "deepspeed.log", Format::kDeepSpeed, 0.62},
    {"torchtitan, three ranks in colours, 8 GPUs", "torchtitan.log", Format::kTorchtitan, 16 * 8192 / (7400.0 * 8)},
    {"Composer with its speed monitor", "composer.log", Format::kComposer, 1 / 0.82},
    {"nanotron, three digits and a letter", "nanotron.log", Format::kNanotron, 11.5},
    {"MLPerf with evaluations", "mlperf.txt", Format::kMlperf, 8.45},
    {"MLPerf with a throughput a block", "mlperf_throughput.txt", Format::kMlperf, 8 / 12.86},
    {"the Trainer, whose bars tell the start apart", "trainer.out", Format::kTrainer, 41},
};

io::log::TrainingLog read_log_fixture(const std::string& file) {
  io::Findings findings;
  auto log = io::log::read_log_file(kLogs + file, findings);
  EXPECT_TRUE(log) << (findings.complaints.empty() ? "" : findings.complaints.front().line());
  return log.value_or(io::log::TrainingLog{});
}

TEST(Steady, FindsTheStepOfEveryKindOfLog) {
  for (const LogCase& one : kLogCases) {
    SCOPED_TRACE(one.what);
    const io::log::TrainingLog log = read_log_fixture(one.file);
    EXPECT_EQ(log.format, one.format);
    const Steady steady = steady_state(log);
    ASSERT_EQ(steady.measured, Measured::kSeconds);
    EXPECT_NEAR(steady.median / one.step_s, 1, 0.01);
  }
}

TEST(Steady, TellsPausesStallsAndRestartsApart) {
  const io::log::TrainingLog log = read_log_fixture("megatron_2025.log");
  const Steady steady = steady_state(log);
  const auto count = [&](Unsteady reason) { return steady.left_out[static_cast<std::size_t>(reason)]; };
  EXPECT_EQ(count(Unsteady::kEvaluation), 0U) << "the first quarter is warm-up";
  EXPECT_EQ(count(Unsteady::kCheckpoint), 1U);
  EXPECT_EQ(count(Unsteady::kStall), 1U);
  EXPECT_EQ(count(Unsteady::kWarmUp), log.entries.size() / 4 + 1) << "and the first step after the restart";
  EXPECT_EQ(steady.restarts, 1U);
  EXPECT_EQ(log.broken_lines, 1U);
  EXPECT_EQ(log.timers.size(), 6U);
  EXPECT_EQ(log.timer_scope, io::log::TimerScope::kLeastAndMost);
  EXPECT_NEAR(steady.lost_s, 9 + 16, 1);
}

TEST(Steady, RanksThatSayTheSameCountOnce) {
  const io::log::TrainingLog log = read_log_fixture("torchtitan.log");
  EXPECT_EQ(log.entries.size(), 21U);
  EXPECT_EQ(log.repeated_lines, 42U);
  EXPECT_EQ(log.gpus, 8);
  EXPECT_EQ(log.sequence_length, 8192);
}

// Makes the log of `steps` steps of a second, with `change` made to the time of each.
template <class Change>
Steady steady_of_steps(int steps, Change change) {
  io::log::TrainingLog log;
  for (int step = 1; step <= steps; ++step) {
    const double wave = 1 + 0.004 * std::sin(step * 2.4);
    log.entries.push_back({.step = step, .line = static_cast<std::size_t>(step), .seconds = change(step, wave)});
  }
  return steady_state(log);
}

TEST(Steady, StallsAtEqualDistancesHaveAPeriod) {
  const Steady steady = steady_of_steps(200, [](int step, double time) { return step % 16 == 0 ? 1.8 * time : time; });
  ASSERT_TRUE(steady.stall_period_steps);
  EXPECT_EQ(*steady.stall_period_steps, 16);
  EXPECT_NEAR(steady.median, 1, 0.005);
}

TEST(Steady, DriftIsTheLastThirdOverTheFirst) {
  const Steady steady = steady_of_steps(400, [](int step, double time) { return time * (1 + 0.0002 * step); });
  const double first = 1 + 0.0002 * 150, last = 1 + 0.0002 * 350;  // centres of the outer thirds behind the warm-up
  EXPECT_NEAR(steady.drift, last / first - 1, 0.003);
}

TEST(Steady, UpToAThirdOfTheStepsMayStall) {
  const Steady steady = steady_of_steps(120, [](int step, double time) { return step % 3 == 0 ? 4 * time : time; });
  EXPECT_NEAR(steady.median, 1, 0.005);
}

TEST(Steady, OneEntryIsItsOwnSteadyState) {
  EXPECT_EQ(steady_of_steps(1, [](int, double) { return 2.5; }).median, 2.5);
  EXPECT_EQ(steady_of_steps(2, [](int step, double) { return step == 1 ? 9.0 : 2.5; }).median, 2.5);
}

struct RefusedLog {
  const char* what;
  const char* file;
  const char* complaint;
};
TEST(Steady, LogsWithoutTimesAreOneLine) {
  for (const RefusedLog& one :
       {RefusedLog{"Composer without its monitor", "composer_untimed.log", "try the callback speed_monitor"},
        RefusedLog{"MLPerf without statistics", "mlperf_untimed.txt", "\"gaudi-64\""},
        RefusedLog{"reinforcement learning", "rlhf.log", "reinforcement learning"},
        RefusedLog{"no such file", "none.log", "cannot be read"}, RefusedLog{"a folder", "", "cannot be read"}}) {
    SCOPED_TRACE(one.what);
    io::Findings findings;
    EXPECT_FALSE(io::log::read_log_file(kLogs + one.file, findings));
    ASSERT_EQ(findings.complaints.size(), 1U);
    EXPECT_THAT(findings.complaints.front().line(), HasSubstr(one.complaint));
  }
}

// A bar as tqdm draws it: a clock of whole seconds, and the mean that weighs the last step with 0.3.
struct DrawnBar {
  int total = 0;
  double seconds = 0, mean = 0, weight = 0;  // the sum of the weights corrects the mean at the start

  std::string step(int number, double time) {
    seconds += time;
    mean = 0.3 * time + 0.7 * mean;
    weight = 0.3 + 0.7 * weight;
    const double shown = mean / weight;
    const auto clock = static_cast<int>(seconds);
    return fmt::format("\r{:3d}%|####      | {}/{} [{:02d}:{:02d}<01:00, {:5.2f}{}]", 100 * number / total, number,
                       total, clock / 60, clock % 60, shown < 1 ? 1 / shown : shown, shown < 1 ? "it/s" : "s/it");
  }
};

double median_of_text(const std::string& text) {
  io::Findings findings;
  const auto log = io::log::read_log_text(text, "t.log", findings);
  EXPECT_TRUE(log) << (findings.complaints.empty() ? "" : findings.complaints.front().line());
  return log ? steady_state(*log).median : 0;
}

// Every twentieth step waits for an evaluation of more steps than the training has made.
TEST(Steady, ABarOfTheTrainingIsReadBesideThoseOfEvaluations) {
  for (const double step_s : {0.3, 1.4, 6.3, 57.7}) {
    SCOPED_TRACE(step_s);
    std::string text = "\rLoading checkpoint shards: 100%|####| 4/4 [00:08<00:00,  2.00s/it]\n";
    DrawnBar training{.total = 200};
    for (int step = 1; step <= 200; ++step) {
      double pause = step == 1 ? 30 : 0;
      if (step > 1 && step % 20 == 1) {
        DrawnBar evaluation{.total = 300};
        for (int at = 1; at <= 300; ++at) text += evaluation.step(at, 0.1);
        pause = evaluation.seconds;
      }
      text += training.step(step, step_s * (1 + 0.005 * std::sin(step)) + pause);
    }
    EXPECT_NEAR(median_of_text(text) / step_s, 1, 0.01);
    text += fmt::format("\n{{'train_runtime': {:.4f}, 'train_samples_per_second': {:.3f}}}\n", training.seconds,
                        200 * 64 / training.seconds);
    EXPECT_NEAR(median_of_text(text) / step_s, 1, 0.01) << "the mean of the run holds its evaluations";
    io::Findings findings;
    EXPECT_EQ(io::log::read_log_text(text, "t.log", findings)->global_batch, 64);
  }
}

TEST(Steady, ACommaMayStandForThePointOrBetweenThousands) {
  std::string ms, s, grouped;
  for (int step = 1; step < 20; ++step) {
    ms +=
        fmt::format(" iteration {}/ 100 | elapsed time per iteration (ms): 5002,123 | global batch size: 8 |\n", step);
    s += fmt::format(" iteration {}/ 100 | elapsed time per iteration (s): 5,002 | global batch size: 8 |\n", step);
    grouped +=
        fmt::format(" iteration {}/ 100 | elapsed time per iteration (ms): 5,002.1 | global batch size: 8 |\n", step);
  }
  EXPECT_NEAR(median_of_text(ms), 5.002, 0.001);
  EXPECT_NEAR(median_of_text(s), 5.002, 0.001);
  EXPECT_NEAR(median_of_text(grouped), 5.002, 0.001);
}

TEST(Steady, BarsOfOtherWorkStateNoStep) {
  for (const char* what : {"Evaluating: ", "Map (num_proc=8): ", "Loading checkpoint shards: "}) {
    DrawnBar bar{.total = 40};
    std::string text;
    for (int step = 1; step <= 40; ++step) {
      const std::string drawn = bar.step(step, 2);
      text += "\r" + std::string(what) + drawn.substr(1);
    }
    io::Findings findings;
    EXPECT_FALSE(io::log::read_log_text(text, "t.log", findings)) << what;
    ASSERT_EQ(findings.complaints.size(), 1U);
    EXPECT_THAT(findings.complaints.front().line(), HasSubstr("none of 40 lines"));
  }
}

TEST(Steady, WordsBeforeABarThatAreNotItsNameDoNotCount) {
  for (const char* front : {"[retrieval-7b] ", "[Test-run 3] ", "{'eval_loss': 1.0} "}) {
    DrawnBar bar{.total = 40};
    std::string text;
    for (int step = 1; step <= 40; ++step) text += "\r" + std::string(front) + bar.step(step, 2).substr(1);
    EXPECT_NEAR(median_of_text(text), 2, 0.02) << front;
  }
}

TEST(Steady, HostileTextsAreRefused) {
  for (const std::string& text :
       {std::string(), std::string(1 << 20, 'x'), std::string(1 << 16, '\0'), std::string("iteration 1/"),
        std::string(" iteration 1/ 9 | elapsed time per iteration (ms): 12"), std::string(":::MLLOG {\"key\": 1"),
        std::string(" iteration 99999999999999999999/ 9 | elapsed time per iteration (ms): 12 |"),
        std::string(" iteration 1/ 9 | elapsed time per iteration (ms): -12 |"),
        std::string(" iteration 1/ 9 | elapsed time per iteration (ms): nan |")}) {
    io::Findings findings;
    EXPECT_FALSE(io::log::read_log_text(text, "hostile", findings)) << text.substr(0, 80);
    EXPECT_EQ(findings.complaints.size(), 1U);
  }
}

}  // namespace
}  // namespace foretoken::study
