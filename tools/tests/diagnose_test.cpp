// Tests the command `foretoken diagnose` end to end: logs, traces, and files that are neither.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const std::string kLogFolder = FORETOKEN_SOURCE_DIR "/sim/io/testdata/logs/";
constexpr const char* kDiagnosed = R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 16,
  "parallelism": {"tensor": 2}, "batch": {"micro": 1, "global": 32, "sequence_length": 4096}})";

TEST(DiagnoseCommand, ALogAloneGivesItsSteadyState) {
  const Ran ran = run_foretoken({"diagnose", kLogFolder + "megatron_2025.log", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer.at("format"), "Megatron-LM");
  EXPECT_NEAR(answer.at("steady").at("step_time_s").get<double>() / 5.0, 1, 0.01);
  EXPECT_EQ(answer.at("steady").at("global_batch"), 256);
  EXPECT_FALSE(answer.contains("prediction"));
}

TEST(DiagnoseCommand, ASimulatedFaultIsNamedFromItsLog) {
  const TemporaryFolder folder;
  const std::string scenario = folder.put("my.json", kDiagnosed), log = folder.file("my.log");
  const std::string fault = R"(imperfections.slow_gpus=[{"gpu": 5, "slowdown": 1.1}])";
  ASSERT_EQ(run_foretoken({"simulate", scenario, "--set", fault, "--log", log}).status, 0);
  const Ran ran = run_foretoken({"diagnose", log, scenario, "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer.at("causes").at(0).at("cause"), "slow-rank") << ran.out;
  EXPECT_EQ(answer.at("told_apart_by"), "timers");
  EXPECT_GT(answer.at("causes").at(0).at("worth_s"), 0);
  EXPECT_THAT(answer.at("causes").at(0).at("words").get<std::string>(), HasSubstr("one rank is"));
}

TEST(DiagnoseCommand, ATraceIsSortedIntoKinds) {
  const TemporaryFolder folder;
  const std::string scenario = folder.put("my.json", kDiagnosed);
  const std::string trace = folder.put("rank-0.json", R"({"schemaVersion": 1, "distributedInfo": {"rank": 0},
    "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "ts": 100.0, "dur": 1000, "pid": 1, "tid": 1},
    {"ph": "X", "cat": "kernel", "name": "sm90_xmma_gemm_bf16", "ts": 110.5, "dur": 400, "pid": 0, "tid": 7, "args": {"device": 0}},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16", "ts": 460.5, "dur": 100, "pid": 0, "tid": 20, "args": {"device": 0}},
    {"ph": "X", "cat": "kernel", "name": "flash_fwd_kernel", "ts": 600.5, "dur": 200, "pid": 0, "tid": 7, "args": {"device": 0}}]})");
  const Ran ran = run_foretoken({"diagnose", trace, scenario, "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_NEAR(answer.at("step_time_s").get<double>(), 1000e-6, 1e-12);
  EXPECT_NEAR(answer.at("computing_s").get<double>(), 600e-6, 1e-12);
  EXPECT_NEAR(answer.at("exposed_communication_s").get<double>(), 50e-6, 1e-12);
  EXPECT_NEAR(answer.at("idle_s").get<double>(), 350e-6, 1e-12);
  EXPECT_EQ(answer.at("gaps"), 3);
  EXPECT_EQ(answer.at("kinds").at(0).at("kind"), "matrix products");
  EXPECT_EQ(answer.at("prediction").at("layers"), 32);
  EXPECT_EQ(run_foretoken({"diagnose", trace}).status, 0);
}

// Each stage of a pipeline has exposed communication of its own. GPT-3's first stage reads embeddings, its last one
// writes logits.
TEST(DiagnoseCommand, ATraceIsComparedWithItsOwnStage) {
  const TemporaryFolder folder;
  std::vector<double> exposed;
  for (const int rank : {0, 512, 1023}) {
    const std::string trace = folder.put("rank.json", R"({"distributedInfo": {"rank": )" + std::to_string(rank) +
                                                          R"(}, "traceEvents": [
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 0, "dur": 200, "pid": 0, "tid": 7, "args": {"device": 0}}]})");
    const Ran ran = run_foretoken({"diagnose", trace, "gpt3-175b-1024-a100", "--json"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json prediction = json::parse(ran.out).at("prediction");
    EXPECT_EQ(prediction.at("stage"), rank / 128);
    exposed.push_back(prediction.at("exposed_communication_s").get<double>());
  }
  EXPECT_NE(exposed[0], exposed[1]);
  EXPECT_NE(exposed[1], exposed[2]);
  for (const double seconds : exposed) EXPECT_GT(seconds, 0);
}

// Without progress bars the rate of steps tells the step; the ratio of both rates is the batch.
TEST(DiagnoseCommand, TheTrainersRateOfStepsIsAStep) {
  const TemporaryFolder folder;
  const std::string log = folder.put(
      "t.log", "{'train_runtime': 1600.0, 'train_samples_per_second': 1.6, 'train_steps_per_second': 0.05}\n");
  const Ran ran = run_foretoken({"diagnose", log, "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_NEAR(json::parse(ran.out).at("steady").at("step_time_s").get<double>(), 20, 1e-9);
  const std::string coarse = folder.put(
      "c.log", "{'train_runtime': 1600.0, 'train_samples_per_second': 102.4, 'train_steps_per_second': 0.05}\n");
  EXPECT_NEAR(
      json::parse(run_foretoken({"diagnose", coarse, "--json"}).out).at("steady").at("step_time_s").get<double>(), 20,
      1e-9);
}

// Returns bars of tqdm for steps 1, 2, ... of `seconds` each, out of `total`.
std::string bars_of(int total, int seconds) {
  std::string text;
  for (int step = 1; step <= total; ++step)
    text += fmt::format("{}%|#| {}/{} [{:02}:{:02}<00:00, {}.00s/it]\n", 100 * step / total, step, total,
                        step * seconds / 60, step * seconds % 60, seconds);
  return text;
}

// An evaluation may run longer than the training; its bar has no name of its own.
TEST(DiagnoseCommand, TheBarOfAnEvaluationIsNoTraining) {
  const TemporaryFolder folder;
  const auto step_of = [&](const std::string& text) {
    const Ran ran = run_foretoken({"diagnose", folder.put("t.log", text), "--json"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return json::parse(ran.out).at("steady").at("step_time_s").get<double>();
  };
  const std::string training = bars_of(20, 2), evaluation = bars_of(30, 5);
  EXPECT_NEAR(step_of(training + evaluation + "{'eval_loss': 1.2, 'eval_runtime': 150.1, 'epoch': 1.0}\n"), 2, 0.1);
  EXPECT_NEAR(step_of("***** Running training *****\n  Total optimization steps = 20\n" + training + evaluation), 2,
              0.1);
  EXPECT_NEAR(step_of(training + evaluation + "{'train_runtime': 40.0, 'train_steps_per_second': 0.5}\n"), 2, 0.1);
  const std::string log = folder.put("t.log", training + evaluation);
  EXPECT_NE(run_foretoken({"diagnose", log}).out.find("progress bar of 20 steps"), std::string::npos)
      << "nothing tells which one is the training";
  const std::string other = folder.put("o.log", "  Total optimization steps = 1,200\n" + training + evaluation);
  EXPECT_NE(run_foretoken({"diagnose", other}).out.find("progress bar of 20 steps"), std::string::npos)
      << "no bar has the stated number of steps";
}

TEST(DiagnoseCommand, ALongTimeIsShort) {
  const TemporaryFolder folder;
  std::string lines;
  for (int step = 1; step < 10; ++step)
    lines += " iteration " + std::to_string(step) +
             "/ 100 | elapsed time per iteration (ms): 8.9e9 | global batch size: 8 |\n";
  const Ran ran = run_foretoken({"diagnose", folder.put("big.log", lines)});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("8,900,000 s"));
  for (const std::string& line : lines_of(ran.out)) EXPECT_LE(line.size(), 100U) << line;
}

// A ratio to a step of no time is no number.
TEST(DiagnoseCommand, AMarkedStepOfNoTimeMarksNothing) {
  const TemporaryFolder folder;
  const Ran ran = run_foretoken({"diagnose", folder.put("t.json", R"({"traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "ts": 100, "dur": 0, "pid": 1, "tid": 1},
    {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 110, "dur": 400, "pid": 0, "tid": 7, "args": {"device": 0}}]})")});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("nan")));
  EXPECT_THAT(ran.out, HasSubstr("400.0 us"));
}

TEST(DiagnoseCommand, OtherFilesAreOneLine) {
  const TemporaryFolder folder;
  for (const Wrong& wrong : std::vector<Wrong>{
           {"prose", {"diagnose", folder.put("a.log", "hello\nworld\n")}, "none of 2 lines states the time of a step"},
           {"nothing",
            {"diagnose", folder.put("n.log", "")},
            "n.log: it is empty and does not state the time of a step"},
           {"a scenario", {"diagnose", folder.put("b.json", "{\"gpus\": 8}")}, "has no traceEvents"},
           {"broken JSON", {"diagnose", folder.put("c.json", "{\"traceEvents\": [")}, "is no JSON from byte"},
           {"a trace of the host", {"diagnose", folder.put("d.json", R"({"traceEvents": []})")}, "no kernels of a GPU"},
           {"kernels of no time",
            {"diagnose", folder.put("z.json", R"({"traceEvents": [
               {"ph": "X", "cat": "kernel", "name": "gemm", "ts": 1, "dur": 0, "pid": 0, "tid": 7}]})")},
            "has only kernels of 0 us"},
           {"deep JSON", {"diagnose", folder.put("e.json", "{\"a\":" + std::string(5000, '['))}, "nested deeper than"},
           {"no file",
            {"diagnose", folder.file("none.log")},
            "cannot be read: No such file or directory; expected the log"},
           {"a name that is too long",
            {"diagnose", std::string(300, 'x')},
            "cannot be read: File name too long; expected the log"},
           {"a device without end", {"diagnose", "/dev/zero"}, "/dev/zero: its first 256 MiB state no step"},
           {"RLHF", {"diagnose", kLogFolder + "rlhf.log"}, "reinforcement learning"},
           {"a key without a scenario",
            {"diagnose", kLogFolder + "nemo.log", "--set", "gpus=8"},
            "--set overrides a scenario"}}) {
    SCOPED_TRACE(wrong.what);
    const Ran ran = run_foretoken(wrong.arguments);
    EXPECT_EQ(ran.status, 2) << ran.out;
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(wrong.complaint));
  }
}

TEST(DiagnoseCommand, TimesAndRatesThatNoStepCanHaveDoNotCount) {
  const TemporaryFolder folder;
  const auto diagnosed = [&](const std::vector<std::string>& times) {
    std::string text;
    for (std::size_t at = 0; at < times.size(); ++at)
      text += fmt::format(" iteration {}/ 100 | elapsed time per iteration (ms): {} | global batch size: 8 |\n", at + 1,
                          times[at]);
    return run_foretoken({"diagnose", folder.put("train.log", text), "--json"});
  };
  for (const char* impossible : {"1e300", "1e-320", "1e13"}) {
    SCOPED_TRACE(impossible);
    const Ran alone = diagnosed(std::vector<std::string>(20, impossible));
    EXPECT_EQ(alone.status, 2) << alone.out;
    EXPECT_THAT(alone.err, HasSubstr("none of 20 lines states the time of a step"));
    std::vector<std::string> times(20, "100.0");
    times[15] = impossible;
    const Ran among = diagnosed(times);
    ASSERT_EQ(among.status, 0) << among.err;
    const json answer = json::parse(among.out);
    EXPECT_DOUBLE_EQ(answer.at("steady").at("step_time_s").get<double>(), 0.1);
    EXPECT_DOUBLE_EQ(answer.at("steady").at("lost_s").get<double>(), 0);
    EXPECT_THAT(answer.at("notes").dump(), HasSubstr("1 line states a time or a rate that no step can have"));
  }
  const std::string rates = "{'train_runtime': 1e-320, 'train_samples_per_second': 1e-320}\n";
  EXPECT_EQ(run_foretoken({"diagnose", folder.put("trainer.log", rates)}).status, 2);
}

// FORETOKEN_TRAINING_LOGS names a folder of real logs with an index.json: a list of {"file", "measured": {"step_s"}}.
// None of them stands in this repository.
TEST(DiagnoseCommand, RealLogsHaveTheirStatedSteps) {
  const char* const folder = std::getenv("FORETOKEN_TRAINING_LOGS");
  if (folder == nullptr) GTEST_SKIP() << "FORETOKEN_TRAINING_LOGS names no folder";
  for (const json& entry : json::parse(contents(std::string(folder) + "/index.json"))) {
    const std::filesystem::path file =
        std::filesystem::path(folder).parent_path() / entry.at("file").get<std::string>();
    SCOPED_TRACE(file.string());
    const Ran ran = run_foretoken({"diagnose", file.string(), "--json"});
    if (!entry.contains("measured") || !entry.at("measured").contains("step_s")) {
      EXPECT_THAT(ran.status, testing::AnyOf(0, 2)) << ran.err;
      continue;
    }
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json& stated = entry.at("measured").at("step_s");
    const double step =
        stated.is_number() ? stated.get<double>() : stated.at("median_after_first_quarter").get<double>();
    EXPECT_NEAR(json::parse(ran.out).at("steady").at("step_time_s").get<double>() / step, 1, 0.01);
  }
}

}  // namespace
}  // namespace foretoken::tools
