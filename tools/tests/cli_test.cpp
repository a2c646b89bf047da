// Tests the program from outside: exit statuses, complaints, files left behind, and identical answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>

#include "sim/report/text/layout.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

const std::vector<Wrong> kWrong = {
    {"no command", {}, "foretoken: expected a command: simulate, compare"},
    {"misspelt command", {"simluate"}, "foretoken: unknown command \"simluate\"; did you mean \"simulate\"?"},
    {"misspelt command below",
     {"schedule", "shw"},
     "foretoken schedule: unknown command \"shw\"; did you mean \"show\"?"},
    {"misspelt option",
     {"simulate", "gpt-22b-8-a100-full", "--jsn"},
     "foretoken simulate: unknown option \"--jsn\"; did you mean \"--json\"?"},
    {"no scenario", {"simulate"}, "foretoken simulate: SCENARIO is required, or --model, --cluster and --gpus"},
    {"misspelt scenario", {"simulate", "gpt-22b-8-a100-ful"}, "did you mean \"gpt-22b-8-a100-full\"?"},
    {"misspelt fidelity",
     {"simulate", "gpt-22b-8-a100-full", "--fidelity", "kernl"},
     "expected stage or kernel, found \"kernl\"; did you mean \"kernel\"?"},
    {"no threads", {"simulate", "x", "--threads", "0"}, "expected a whole number from 1 to 256, found \"0\""},
    {"NaN",
     {"schedule", "show", "1f1b", "--stages", "2", "--microbatches", "2", "--forward", "nan"},
     "expected a number"},
    {"a folder", {"simulate", "/tmp"}, "/tmp: is a directory; expected a file"},
    {"misspelt key",
     {"simulate", "gpt-22b-8-a100-full", "--set", "modle=gpt2"},
     "--set modle=gpt2: unknown key; did you mean \"model\"?"},
    {"two traces",
     {"simulate", "a", "b", "--trace", "t"},
     "--trace and other files of a step take one scenario, found 2"},
    {"unknown schedule",
     {"compare", "gpt3-175b-1024-a100", "--schedules", "gpip"},
     "--schedules gpip: unknown schedule; did you mean \"gpipe\"?"},
    {"a schedule twice", {"compare", "gpt3-175b-1024-a100", "--schedules", "1f1b,1f1b"}, "it stands twice"},
    {"a schedule by two names",
     {"compare", "gpt3-175b-1024-a100", "--schedules", "interleaved:2,interleaved-1f1b:2"},
     "it is the same as interleaved:2"},
    {"an engine twice", {"compare", "llama-3-70b-chat-8-h100", "--engines", "vllm,vllm"}, "it stands twice"},
    {"chunks of a flat schedule", {"compare", "gpt3-175b-1024-a100", "--schedules", "1f1b:2"}, "has one chunk a stage"},
    {"impossible shape",
     {"schedule", "show", "interleaved-1f1b", "--stages", "4", "--microbatches", "6", "--chunks", "2"},
     "expected 6 micro-batches to fill groups of 4"},
    {"a report on a folder", {"report", "gpt3-175b-1024-a100", "-o", "/tmp"}, "/tmp: cannot be written"},
    {"standard output by a dash",
     {"schedule", "show", "1f1b", "--stages", "2", "--microbatches", "2", "--csv", "-"},
     "-: expected a file to write; try /dev/stdout"},
    {"chunks that a V does not take",
     {"schedule", "show", "zb-v", "--stages", "4", "--microbatches", "8", "--chunks", "3"},
     "expected 2 chunks a stage (virtual pipeline), found 3; try 2 chunks"},
    {"a report without a scenario", {"report"}, "foretoken report: SCENARIO is required"},
    {"nothing to vary", {"whatif", "gpt3-175b-1024-a100"}, "expected --vary KEY=VALUE,VALUE,... or --tornado"},
    {"a varied key without values", {"whatif", "gpt3-175b-1024-a100", "--vary", "batch.micro"}, "expected KEY=VALUE,"},
    {"a misspelt varied key",
     {"whatif", "gpt3-175b-1024-a100", "--vary", "batch.mirco=1,2"},
     "gpt3-175b-1024-a100.json: batch.mirco: unknown key; did you mean \"micro\"?"},
    {"a key varied twice",
     {"whatif", "gpt3-175b-1024-a100", "--vary", "gpus=8", "--vary", "gpus=16"},
     "--vary names gpus twice"},
    {"unknown model", {"models", "show", "gpt3"}, "unknown model \"gpt3\"; did you mean \"gpt3-175b\"?"},
    {"no scenario on standard input",
     {"simulate", "-"},
     "-: standard input has no scenario; expected one scenario a line"},
    {"passes longer than the clock",
     {"schedule", "show", "1f1b", "--stages", "8", "--microbatches", "100", "--forward", "1e9"},
     "expected at most 100 days of passes and messages in all, found 9.26e+03"},
    {"unknown shell", {"completion", "tcsh"}, "expected bash, zsh or fish, found \"tcsh\""},
};

TEST(Cli, WrongInputIsOneClearLineAndStatus2) {
  for (const Wrong& wrong : kWrong) expect_refused(wrong);
}

TEST(Cli, MoreGpusThanMemoryHoldsIsOneClearLineAndStatus2) {
  const std::vector<std::string> arguments = {
      "simulate", "llama-3-405b-1024-h100", "--unfolded", "--set", "gpus=1048576", "--set", "parallelism.data=4096",
      "--set",    "batch.global=131072"};
  const Ran ran = run_foretoken(arguments);
  EXPECT_EQ(ran.status, 2);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("/gpus: all 1048576 GPUs together would take more than "), HasSubstr("try a folded run"),
                    Not(HasSubstr("--collectives"))));  // the tasks take more without flows
  EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
#ifndef FORETOKEN_SANITIZED  // sanitizers need all addresses
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{.rlim_cur = 200'000'000, .rlim_max = before.rlim_max},
      medium{.rlim_cur = 1'000'000'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);  // the program inherits it
  const Ran starved = run_foretoken({"simulate", "llama-3-405b-1024-h100", "--unfolded", "--set", "gpus=16384", "--set",
                                     "parallelism.data=64", "--set", "batch.global=2048"});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &medium), 0);
  const Ran counted = run_foretoken({"simulate", "llama-3-405b-1024-h100", "--unfolded", "--set", "gpus=16384", "--set",
                                     "parallelism.data=64", "--set", "batch.global=65536"});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(counted.status, 2);
  EXPECT_EQ(lines_of(counted.err).size(), 1U) << counted.err;
  EXPECT_THAT(counted.err, HasSubstr("more than 1 GB of memory; try a folded run"));
  EXPECT_EQ(starved.status, 2);
  EXPECT_THAT(starved.err, HasSubstr("more than 0.2 GB of memory; try a folded run"));
  EXPECT_EQ(lines_of(starved.err).size(), 1U) << starved.err;
#endif
}

TEST(Cli, ARunSaysWhatItTakesForGrantedOfTheFabric) {
  const auto output_of = [](const std::string& over, std::vector<std::string> more) {
    std::vector<std::string> arguments = {"simulate", "gpt-1.7b-32-a100", "--set",
                                          R"(cluster={"base":"selene","fabric":{"oversubscription":)" + over + "}}"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_foretoken(arguments).out;
  };
  const auto worst_case = HasSubstr("fabric oversubscribed 2:1: a worst case");
  EXPECT_THAT(output_of("2", {"--details"}), worst_case);
  EXPECT_THAT(output_of("2", {"--json"}), worst_case);
  EXPECT_THAT(output_of("2", {"--details", "--unfolded", "--collectives", "analytic"}), worst_case);
  EXPECT_THAT(output_of("1", {"--json"}), Not(HasSubstr("oversubscribed")));
  EXPECT_THAT(output_of("2", {"--json", "--unfolded"}), Not(HasSubstr("oversubscribed")));
  EXPECT_THAT(output_of("2", {"--set", "gpus=8", "--set", "parallelism.data=8"}), Not(HasSubstr("oversubscribed")))
      << "nothing leaves the node";
  const auto dragonfly = [&](const std::string& routing, std::vector<std::string> more) {
    more.insert(more.end(), {"--json", "--set", R"(cluster.fabric={"kind":"dragonfly","routing":")" + routing + "\"}"});
    return output_of("1", more);
  };
  EXPECT_THAT(dragonfly("adaptive", {}), HasSubstr("between two groups, a best case"));
  EXPECT_THAT(dragonfly("adaptive", {"--unfolded"}), HasSubstr("dragonfly: adaptive routes; between groups"));
  EXPECT_THAT(dragonfly("ecmp", {"--unfolded"}), HasSubstr("dragonfly: only minimal routes, a worst case"));
}

TEST(Cli, NothingIsLeftBehindWhenItGoesWrong) {
  const TemporaryFolder folder;
  const auto leaves_nothing = [&](std::vector<std::string> arguments) {
    EXPECT_EQ(run_foretoken(arguments).status, 2);
    EXPECT_THAT(folder.names(), IsEmpty());
  };
  const std::string trace = folder.file("trace.json"), svg = folder.file("gantt.svg");
  leaves_nothing({"simulate", "gpt-22b-8-a100-full", "--set", "gpus=7", "--trace", trace, "--svg", svg});
  leaves_nothing({"simulate", "gpt-22b-8-a100-full", "--trace", trace, "--svg", "/nonexistent/gantt.svg"});
  leaves_nothing({"simulate", "gpt-22b-8-a100-full", "--trace", trace, "--svg", "/dev/full"});
  leaves_nothing({"schedule", "show", "1f1b", "--stages", "0", "--microbatches", "2", "--svg", svg});
}

TEST(Cli, AFullDiskIsOneClearLine) {
  const Ran ran = run_foretoken({"simulate", "gpt-22b-8-a100-full"}, "", "/dev/full");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.err, "standard output: cannot be written: No space left on device\n");
}

TEST(Cli, AClosedPipeEndsQuietly) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const TemporaryFolder folder;
  const Ran ran = run_foretoken({"simulate", "gpt-22b-8-a100-full"}, "", "/dev/fd/" + std::to_string(ends[1]));
  ::close(ends[1]);
  EXPECT_EQ(ran.status, 0);
  EXPECT_THAT(ran.err, IsEmpty());
}

TEST(Cli, JsonLinesInOrderAndAWrongOneOnItsLine) {
  const std::string good = contents(FORETOKEN_SOURCE_DIR "/scenarios/gpt-22b-8-a100-full.json");
  const std::string line = json::parse(good).dump();
  const Ran ran = run_foretoken({"simulate", "-", "--json"}, line + "\n\n{\"gpus\": 8}\n" + line + "\n");
  EXPECT_EQ(ran.status, 2);
  const std::vector<std::string> lines = lines_of(ran.out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(json::parse(lines[0]).contains("step_time_s"));
  EXPECT_EQ(lines[0], lines[2]);
  const json wrong = json::parse(lines[1]);
  EXPECT_THAT(wrong["error"].get<std::string>(), HasSubstr("-:3: /model: missing"));
  EXPECT_THAT(ran.err, HasSubstr("-:3: /model: missing"));
}

TEST(Cli, FilesAreWrittenForOneLineOnly) {
  const TemporaryFolder folder;
  const std::string line = json::parse(contents(FORETOKEN_SOURCE_DIR "/scenarios/gpt-22b-8-a100-full.json")).dump();
  const std::string trace = folder.file("trace.json");
  const Ran two = run_foretoken({"simulate", "-", "--trace", trace}, line + "\n" + line + "\n");
  EXPECT_EQ(two.status, 2);
  EXPECT_EQ(two.err, "foretoken simulate: --trace and other files of a step take one scenario, found 2\n");
  EXPECT_THAT(folder.names(), IsEmpty());
  EXPECT_EQ(run_foretoken({"simulate", "-", "--trace", trace}, "\n" + line + "\n").status, 0);
  EXPECT_EQ(folder.names().size(), 1U);
}

TEST(Cli, AnyNumberOfThreadsGivesTheSameBytes) {
  std::vector<std::string> arguments = {"simulate", "--json"};
  for (const char* name : {"gpt-22b-8-a100-full", "nonexistent", "gpt-18b-256-a100", "llama-2-7b-8-a100",
                           "gpt3-175b-64-a100-full", "gpt-7.5b-128-a100"})
    arguments.emplace_back(name);
  const Ran one = run_foretoken(arguments), again = run_foretoken(arguments);
  arguments.insert(arguments.end(), {"--threads", "2"});
  const Ran two = run_foretoken(arguments);
  arguments.back() = "5";
  const Ran five = run_foretoken(arguments);
  EXPECT_EQ(lines_of(one.out).size(), 6U);
  for (const Ran* other : {&again, &two, &five}) {
    EXPECT_EQ(one.out, other->out);
    EXPECT_EQ(one.err, other->err);
    EXPECT_EQ(other->status, 2);
  }
}

TEST(Cli, IntervalsHoldThePredictionAndGrowWithTheirLevel) {
  double last = 0;
  for (const char* level : {"50", "80", "90", "95"}) {
    const json answer =
        json::parse(run_foretoken({"simulate", "gpt3-175b-1024-a100", "--json", "--interval", level}).out);
    const double low = answer["step_time_s_interval"][0], high = answer["step_time_s_interval"][1];
    EXPECT_LE(low, answer["step_time_s"].get<double>());
    EXPECT_GE(high, answer["step_time_s"].get<double>());
    EXPECT_GT(high - low, last);
    EXPECT_GT(answer["interval"]["cases"].get<int>(), 0);
    last = high - low;
  }
  EXPECT_THAT(run_foretoken({"simulate", "gpt3-175b-1024-a100", "--interval", "91"}).err, HasSubstr("found \"91\""));
}

TEST(Cli, ExplainAddsUpAndStaysShort) {
  const json answer = json::parse(run_foretoken({"explain", "gpt3-175b-1024-a100", "--json"}).out);
  double sum = answer["ideal_s"];
  for (const json& step : answer["waterfall"]) sum += step["time_s"].get<double>();
  EXPECT_NEAR(sum, answer["step_time_s"].get<double>(), 1e-9);
  for (const json& each : answer["hardware"])
    if (each["property"].get<std::string>().find("rate") != std::string::npos) {
      EXPECT_LE(each["step_change"].get<double>(), 0) << each;
    }
  EXPECT_LE(lines_of(run_foretoken({"explain", "gpt3-175b-1024-a100"}).out).size(), 40U);
}

TEST(Cli, RequireFitSaysNoWith1) {
  const std::vector<std::string> tight = {"simulate", "gpt-22b-8-a100-full", "--json", "--set",
                                          R"(cluster.gpu={"base": "a100-sxm4-80gb", "memory_bytes": 17179869184})"};
  EXPECT_EQ(run_foretoken(tight).status, 0);
  std::vector<std::string> asked = tight;
  asked.emplace_back("--require-fit");
  EXPECT_EQ(run_foretoken(asked).status, 1);
  EXPECT_EQ(run_foretoken({"simulate", "gpt-22b-8-a100-full", "--require-fit"}).status, 0);
}

TEST(Cli, FidelitiesAgree) {
  for (const char* name : {"gpt-22b-8-a100-selective-sp", "gpt-18b-256-a100"}) {
    const double stage = json::parse(run_foretoken({"simulate", name, "--json"}).out)["step_time_s"].get<double>();
    const double kernel =
        json::parse(run_foretoken({"simulate", name, "--json", "--fidelity", "kernel"}).out)["step_time_s"]
            .get<double>();
    EXPECT_NEAR(kernel / stage, 1, 0.01) << name;
  }
}

TEST(Cli, TextInAFileFitsTheColumnsWithoutColours) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"simulate", "gpt3-175b-1024-a100", "--details"},
                                             {"compare", "gpt3-175b-1024-a100"},
                                             {"clusters", "list"},
                                             {"simulate", "--help"},
                                             {"schedule", "show", "--help"},
                                             {"calibrate", "fit", "--help"}}) {
    SCOPED_TRACE(arguments[0] + " " + arguments[1]);
    const Ran ran = run_foretoken(arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_GT(lines_of(ran.out).size(), 1U);
    for (const std::string& line : lines_of(ran.out)) EXPECT_LE(report::columns_of(line), 100U) << line;
    EXPECT_EQ(ran.out.find('\x1b'), std::string::npos) << "no colours into a file";
  }
}

TEST(Cli, CompareExplainsWhatIsImpossible) {
  const Ran ran = run_foretoken({"compare", "gpt-18b-256-a100", "--json"});
  EXPECT_EQ(ran.status, 0) << ran.err;  // one pipeline stage: nothing to interleave
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["schedules"].size(), 7U);
  EXPECT_TRUE(answer["schedules"][0]["impossible"].is_null());
  EXPECT_THAT(answer["schedules"][3]["impossible"].get<std::string>(), HasSubstr("at least 2 pipeline stages"));
  EXPECT_EQ(run_foretoken({"compare", "gpt-18b-256-a100", "--schedules", "interleaved:2"}).status, 1);
}

TEST(Cli, KeysUnderANameChangeWhatItNames) {
  const std::vector<std::string> words{"simulate", "llama-2-7b-8-a100", "--set"};
  const auto ran = [&](const char* set) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {set, "--json"});
    return run_foretoken(all);
  };
  for (const char* const wrong : {"cluster.gpu.x=1", "profile.x=1", "cluster.gpu.sms=no"}) {
    const Ran refused = ran(wrong);
    EXPECT_EQ(refused.status, 2) << wrong;
    EXPECT_EQ(lines_of(refused.err).size(), 1U) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(std::string("--set ") + wrong));
  }
  const Ran small = ran("cluster.gpu.memory_bytes=1073741824");
  ASSERT_EQ(small.status, 0) << small.err;
  EXPECT_FALSE(nlohmann::json::parse(small.out)["memory"]["fits"].get<bool>());
}

TEST(Cli, TheTableOfLinksHasJsonAndNoDrawing) {
  const Ran links = run_foretoken({"clusters", "show", "links", "--json"});
  ASSERT_EQ(links.status, 0) << links.err;
  EXPECT_FALSE(nlohmann::json::parse(links.out).at("links").empty());
  const TemporaryFolder folder;
  const Ran drawn = run_foretoken({"clusters", "show", "links", "--svg", folder.file("x.svg")});
  EXPECT_EQ(drawn.status, 2);
  EXPECT_EQ(drawn.err, "--svg: links are a table and have no drawing; expected the name of a cluster\n");
}

TEST(Cli, GpusThatAPlacementNamesTwiceAreOneLine) {
  std::string places = "0";
  for (int rank = 1; rank < 8; ++rank) places += ",0";
  const Ran ran = run_foretoken({"simulate", "llama-2-7b-8-a100", "--set", "imperfections.placement=[" + places + "]"});
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("expected every GPU once, found GPU 0 again, and 6 more"));
}

TEST(Cli, KindsOfNodesThatComeAgainAreNamedOnce) {
  const Ran ran =
      run_foretoken({"simulate", "-", "--details"}, R"({"model": "gpt2-medium", "gpus": 3, "cluster": {"groups": [)"
                                                    R"({"cluster": "dgx-a100-80gb-hdr", "gpus": 1}, )"
                                                    R"({"cluster": "dgx-h100-ndr", "gpus": 1}, )"
                                                    R"({"cluster": "dgx-a100-80gb-hdr", "gpus": 1}]}, )"
                                                    R"("parallelism": {"pipeline": 3}, )"
                                                    R"("batch": {"micro": 1, "global": 8, "sequence_length": 1024}})");
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("profiles a100-sxm4-80gb and h100-sxm5-80gb*"), HasSubstr("A100+H100)")));
}

TEST(Cli, CompareWarnsOnceAndSaysOfWhichSchedules) {
  const Ran ran = run_foretoken({"compare", "gpt3-175b-1024-a100", "--set", "stragglers=true", "--schedules",
                                 "gpipe,1f1b,interleaved:3", "--no-gantt"});
  EXPECT_EQ(ran.status, 0) << ran.err;
  const std::string warnings = ran.out.substr(std::min(ran.out.find("\nWarnings\n"), ran.out.size()));
  EXPECT_THAT(warnings, HasSubstr("\n  - gpipe, 1f1b: overlap.p2p is ignored: "));
  EXPECT_THAT(warnings, HasSubstr("\n  - stragglers: a runtime's numbers "));
  const std::vector<std::string> lines = lines_of(warnings);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.starts_with("  - "); }),
            2);
}

TEST(Cli, CompareReadsStandardInputOnce) {
  const std::string text = contents(FORETOKEN_SOURCE_DIR "/scenarios/gpt3-175b-1024-a100.json");
  const Ran ran = run_foretoken({"compare", "-", "--schedules", "gpipe,1f1b", "--json"}, text);
  EXPECT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["best"], "1f1b");
  EXPECT_GT(answer["schedules"][0]["result"]["memory"]["peak_bytes"].get<double>(),
            answer["schedules"][1]["result"]["memory"]["peak_bytes"].get<double>());
}

// ELECTRA says of each token whether it was replaced, and so has no products with its vocabulary.
TEST(Cli, AnEncoderWithoutThatHeadHasNoOutputEmbedding) {
  EXPECT_THAT(run_foretoken({"models", "show", "electra-base"}).out, HasSubstr("(no output embedding)"));
  EXPECT_THAT(run_foretoken({"models", "show", "distilbert-base"}).out, HasSubstr("(tied to the embedding)"));
  EXPECT_THAT(run_foretoken({"models", "show", "llama-3-8b"}).out, HasSubstr("(not tied)"));
}

TEST(Cli, SchedulesShownPlainAreValid) {
  for (const char* name : {"gpipe", "gpipe-fifo", "1f1b"}) {
    const Ran plain = run_foretoken({"schedule", "show", name, "--stages", "4", "--microbatches", "6", "--plain"});
    EXPECT_EQ(run_foretoken({"schedule", "check", "-"}, plain.out).status, 0) << name;
  }
  const Ran csv = run_foretoken({"schedule", "check", "-"}, "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  EXPECT_EQ(csv.status, 0) << csv.err;
  for (const std::string& line : lines_of(csv.out)) EXPECT_LE(line.size(), 100U);
  const Ran invalid = run_foretoken({"schedule", "check", "-"}, "F0 F1 B0 B1\nB0 F0 F1 B1  # out of order\n");
  EXPECT_EQ(invalid.status, 1);
  EXPECT_THAT(invalid.out, HasSubstr("stage 1: B0 comes before its forward F0"));
  EXPECT_EQ(run_foretoken({"schedule", "check", "-"}, "F0 B0\nF0 b0\n").status, 2);
  EXPECT_EQ(run_foretoken({"schedule", "check", "-"}, "").status, 2);
  EXPECT_EQ(run_foretoken({"schedule", "check", "-"}, "F2147483647 B0\n").status, 2);
}

TEST(Cli, ScheduleShowTellsTheClosedForm) {
  const json shown = json::parse(run_foretoken({"schedule", "show", "1f1b", "--stages", "4", "--microbatches", "8",
                                                "--forward", "2", "--backward", "5", "--json"})
                                     .out);
  EXPECT_DOUBLE_EQ(shown["makespan_s"].get<double>(), (8 + 4 - 1) * 7e-3);
  EXPECT_DOUBLE_EQ(shown["bubble_fraction"].get<double>(), 3.0 / 8);
  EXPECT_DOUBLE_EQ(shown["ideal_bubble_fraction"].get<double>(), 3.0 / 8);
  EXPECT_EQ(shown["peak_in_flight"], json({4, 3, 2, 1}));
  EXPECT_EQ(shown["orders"][3][0], "F0");
  EXPECT_DOUBLE_EQ(shown["start_s"][3][0].get<double>(), 6e-3);
}

TEST(Cli, TracesAndDrawingsAreWholeFiles) {
  constexpr const char* kScenario = "gpt-18b-256-a100";  // larger traces take half a minute to parse
  const TemporaryFolder folder;
  const std::string trace = folder.file("trace.json"), svg = folder.file("gantt.svg");
  for (const char* fidelity : {"stage", "kernel"}) {
    const Ran ran = run_foretoken({"simulate", kScenario, "--trace", trace, "--svg", svg, "--fidelity", fidelity});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(json::parse(contents(trace))["metadata"]["fidelity"], fidelity);
    EXPECT_THAT(contents(svg), StartsWith("<svg "));
    EXPECT_EQ(folder.names().size(), 2U);
  }
}

TEST(Cli, HelpAndVersion) {
  EXPECT_THAT(run_foretoken({"--version"}).out, StartsWith("foretoken "));
  const Ran help = run_foretoken({"schedule", "show", "--help"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("Usage: foretoken schedule show [OPTIONS] NAME"));
  EXPECT_THAT(help.out, HasSubstr("Examples:"));
}

}  // namespace
}  // namespace foretoken::tools
