// Tests `foretoken search` from outside: files, kills, full disks, closed pipes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "sim/base/test_sanitized.h"
#include "sim/report/text/layout.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kQuestion =
    R"({"name": "small", "model": {"base": "llama-3-8b", "num_hidden_layers": 12}, "cluster": "dgx-h100-ndr",
        "gpus": 16, "batch": {"global": 32, "sequence_length": 4096}, "parallelism": {"context": 1}})";

TEST(SearchCommand, RanksAndItsWinnerSimulatesToWhatItSays) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion), best = folder.file("best.json");
  const Ran searched = run_foretoken({"search", question, "--json", "--top", "4", "--write", best});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const json answer = json::parse(searched.out);
  ASSERT_EQ(answer["ranked"].size(), 4u);
  double before = 0;
  for (const json& row : answer["ranked"]) {
    EXPECT_GE(row["step_time_s"].get<double>(), before);
    before = row["step_time_s"];
    EXPECT_EQ(row["step_time_s"], row["result"]["step_time_s"]);
    EXPECT_EQ(row["step_time_s_interval"], row["result"]["step_time_s_interval"]);
    EXPECT_LT(row["step_time_s_interval"][0], row["step_time_s"]);
    EXPECT_GT(row["step_time_s_interval"][1], row["step_time_s"]);
    EXPECT_TRUE(row["fits"]);
  }
  EXPECT_GE(answer["difference"]["comparisons"], 5 - 1e-9);
  EXPECT_LT(answer["difference"]["comparisons"], answer["difference"]["runs"]);
  EXPECT_LT(answer["difference"]["half"], answer["difference"]["nine_in_ten"]);
  const Ran simulated = run_foretoken({"simulate", best, "--json", "--require-fit"});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  const json simulated_best = json::parse(simulated.out);
  EXPECT_EQ(simulated_best["step_time_s"], answer["ranked"][0]["step_time_s"]);
  EXPECT_EQ(simulated_best["step_time_s_interval"], answer["ranked"][0]["step_time_s_interval"]);
}

constexpr const char* kExperts =
    R"({"name": "experts", "model": {"base": "qwen3-30b-a3b", "num_hidden_layers": 8}, "cluster": "dgx-h100-ndr",
        "gpus": 16, "batch": {"global": 32, "micro": 1, "sequence_length": 4096}, "recompute": "none",
        "parallelism": {"context": 1}})";

TEST(SearchCommand, WinnersAreLaunchedByTheirRuntime) {
  const Ran searched = run_foretoken({"search", "llama-2-7b-8-a100", "--set", "runtime=deepspeed", "--free",
                                      "offload.optimizer", "--fix", "offload.optimizer=cpu"});
  EXPECT_THAT(searched.out, HasSubstr("\nMegatron-DeepSpeed  the best"));
  EXPECT_THAT(searched.out, AllOf(HasSubstr("\ncat <<EOT > ds_config.json\n"), HasSubstr("\nEOT\n"),
                                  HasSubstr("\"offload_optimizer\": {"), HasSubstr("--cpu-optimizer "),
                                  Not(HasSubstr("--optimizer-cpu-offload"))));
  const Ran sharded = run_foretoken({"search", "mpt-7b-8-a100-fsdp", "--free", "batch.micro"});
  EXPECT_THAT(sharded.out, AllOf(HasSubstr("--use-megatron-fsdp"),
                                 HasSubstr("! Runtime pytorch-fsdp has no launch file here: these are Megatron-LM's")));
  const json winner = json::parse(run_foretoken({"search", "llama-2-7b-8-a100", "--json"}).out)["winner"];
  EXPECT_EQ(winner["format"], "megatron");
  EXPECT_EQ(winner["lost"], json::array());
}

TEST(SearchCommand, AnswersAboutExpertsCarryTheirChoices) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kExperts), best = folder.file("best.json");
  const Ran searched = run_foretoken({"search", question, "--json", "--write", best});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const json answer = json::parse(searched.out);
  for (const char* const key : {"parallelism.expert", "parallelism.expert_tensor", "moe.dispatcher", "moe.overlap"})
    EXPECT_THAT(answer["searched"], testing::Contains(key));
  const json& first = answer["ranked"][0];
  EXPECT_GT(first["expert"], 1);
  EXPECT_EQ(first["dispatcher"], "hybridep");
  EXPECT_EQ(first["overlap"]["exchanges"], true);
  EXPECT_EQ(answer["pareto"]["points"][0]["expert_tensor"], first["expert_tensor"]);
  const std::string flags = answer["winner"]["megatron"].dump();
  EXPECT_THAT(flags, AllOf(HasSubstr("--expert-model-parallel-size " + first["expert"].dump()),
                           HasSubstr("--moe-flex-dispatcher-backend hybridep"),
                           HasSubstr("--overlap-moe-expert-parallel-comm")));
  const json written = json::parse(run_foretoken({"simulate", best, "--json"}).out);
  EXPECT_EQ(written["step_time_s"], first["step_time_s"]);
  const std::string text = run_foretoken({"search", question}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("  EP"), HasSubstr("dispatch"), HasSubstr("E exchanges of experts")));
  for (const std::string& line : lines_of(text)) EXPECT_LE(report::columns_of(line), 100U) << line;
  const json fixed = json::parse(run_foretoken({"search", best, "--free", "parallelism.expert", "--fix",
                                                "moe.dispatcher=all-gather", "--fix", "moe.overlap=false", "--json"})
                                     .out);
  EXPECT_THAT(fixed["searched"], AllOf(testing::Contains("parallelism.expert"), Not(testing::Contains("moe.overlap"))));
  for (const json& row : fixed["ranked"]) EXPECT_EQ(row["dispatcher"], "all-gather");
}

TEST(SearchCommand, AResultFileOfExpertsGoesOn) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kExperts), whole = folder.file("whole.jsonl");
  const std::string answer = run_foretoken({"search", question, "--json", "--out", whole}).out;
  const std::string text = contents(whole);
  const std::string part = folder.put("part.jsonl", text.substr(0, 2 * text.size() / 3));
  const Ran resumed = run_foretoken({"search", question, "--json", "--out", part, "--resume"});
  EXPECT_EQ(resumed.out, answer) << resumed.err;
  EXPECT_EQ(contents(part), text);
  EXPECT_THAT(text, AllOf(HasSubstr(R"("expert_tensor":)"), HasSubstr(R"("dispatcher":"all-gather")"),
                          HasSubstr(R"("exchanges":true)")));
}

TEST(SearchCommand, ComplaintsAboutFixNameItAndContradictionsAreRefused) {
  const auto says = [](std::vector<std::string> words, const char* line) {
    for (const char* const command : {"search", "plan"}) {
      std::vector<std::string> all{command, "gpt3-175b-1024-a100"};
      all.insert(all.end(), words.begin(), words.end());
      const Ran ran = run_foretoken(all);
      EXPECT_EQ(ran.status, 2) << ran.out;
      EXPECT_EQ(ran.err, std::string(line) + '\n');
    }
  };
  says({"--fix", "parallelism.tensor=x"},
       "--fix parallelism.tensor=x: expected a whole number from 1 to 1048576, found a string \"x\"");
  says({"--fix", "nonsense"}, "--fix nonsense: expected KEY=VALUE, for instance parallelism.tensor=4");
  says({"--fix", "parallelism.tensor=4", "--tp", "8"},
       "--fix parallelism.tensor=4: --tp 8 states another value of this key; leave one of them out");
  says({"--fix", "gpus=512", "--gpus", "1024"},
       "--fix gpus=512: --gpus 1024 states another value of this key; leave one of them out");
  says({"--fix", "batch.micro=1", "--fix", "batch.micro=2"},
       "--fix batch.micro=2: --fix batch.micro=1 states another value of this key; leave one of them out");
  EXPECT_EQ(run_foretoken({"search", "gpt3-175b-1024-a100", "--fix", "parallelism.tensor=8", "--tp", "8"}).status, 0);
}

TEST(SearchCommand, SizesWithoutAConfigurationSayWhy) {
  const std::string text = run_foretoken({"search", "gpt3-175b-1024-a100", "--gpus", "7,1024,1280"}).out;
  EXPECT_THAT(text, HasSubstr("-     7  gpus: expected a multiple of tensor 8 x context 1 x pipeline 8 = 64, found 7"));
  EXPECT_THAT(text, HasSubstr("-  1280  batch.global: expected a multiple of micro 1 x data 20 = 20, found 1536"));
  const json answer = json::parse(run_foretoken({"search", "gpt3-175b-1024-a100", "--free", "all", "--fix",
                                                 "parallelism.tensor=8", "--gpus", "8,1023,1024", "--json"})
                                      .out);
  ASSERT_EQ(answer["impossible_sizes"].size(), 2u);
  EXPECT_EQ(answer["impossible_sizes"][0]["gpus"], 8);
  EXPECT_THAT(answer["impossible_sizes"][0]["reason"].get<std::string>(), HasSubstr("no configuration fits in memory"));
  EXPECT_THAT(answer["impossible_sizes"][1]["reason"].get<std::string>(), HasSubstr("found 1023"));
}

// 1023 GPUs fill no whole nodes. The batch has no part in it, as open degrees leave other data-parallel degrees.
TEST(SearchCommand, AReasonHoldsForEveryChoiceOfTheOpenKeys) {
  const Ran nodes = run_foretoken({"search", "gpt3-175b-1024-a100", "--free", "all", "--gpus", "1023"});
  EXPECT_EQ(nodes.status, 2);
  EXPECT_EQ(lines_of(nodes.err).size(), 1u) << nodes.err;
  EXPECT_THAT(nodes.err, HasSubstr("whole nodes of 8 GPUs"));
  const Ran batch = run_foretoken({"search", "gpt3-175b-1024-a100", "--free", "all", "--gpus", "1000"});
  EXPECT_EQ(lines_of(batch.err).size(), 1u) << batch.err;
  EXPECT_THAT(batch.err, HasSubstr("/batch/global: expected a multiple of a data-parallel degree that 1,000 GPUs "
                                   "leave, found 1536"));
  const Ran layers = run_foretoken(
      {"search", "gpt3-175b-1024-a100", "--free", "all", "--fix", "parallelism.pipeline=7", "--gpus", "56"});
  EXPECT_EQ(layers.status, 2);
  EXPECT_THAT(layers.err, HasSubstr("layers"));
}

constexpr const char* kOnOneGpu =
    R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 1, "batch": {"global": 8, "sequence_length": 2048},
        "parallelism": {"context": 1}, "runtime": "deepspeed"})";

TEST(SearchCommand, OffloadedPartsHaveAColumnAndNoRunIsListedTwice) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kOnOneGpu);
  const std::vector<std::string> words{"search", question, "--free", "offload", "--no-require-fit", "--top", "40"};
  const std::string text = run_foretoken(words).out;
  EXPECT_THAT(text, AllOf(HasSubstr("  offload"), HasSubstr("optimizer+parameters"), HasSubstr("  GiB")));
  std::vector<std::string> as_json = words;
  as_json.emplace_back("--json");
  std::set<std::string> runs;
  const json answer = json::parse(run_foretoken(as_json).out);
  for (json row : answer["ranked"]) {
    const int stage = row["zero_stage"];
    const json moved = row.value("offload", json::object());
    EXPECT_EQ(stage, moved.contains("parameters") ? 3 : moved.contains("optimizer") ? 1 : 0);
    EXPECT_TRUE(runs.insert(json{row["micro"], row["recompute"], moved}.dump()).second) << row;
  }
}

TEST(SearchCommand, StatedParametersOnTheHostAreTriedWithZero3) {
  const TemporaryFolder folder;
  for (const char* const runtime : {"huggingface-trainer", "deepspeed"}) {
    const std::string question = folder.put("question.json", kOnOneGpu);
    const Ran ran =
        run_foretoken({"search", question, "--free", "optimizer.zero_stage", "--set", "offload.parameters=cpu", "--set",
                       std::string("runtime=") + runtime, "--no-require-fit", "--json"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json answer = json::parse(ran.out);
    EXPECT_EQ(answer["candidates"]["invalid"], 0);
    for (const json& row : answer["ranked"]) EXPECT_EQ(row["zero_stage"], 3);
  }
}

// The scenario's own configuration is one of those searched, so that none listed is slower than it.
TEST(SearchCommand, TheStageOfTheScenarioIsTriedThoughItsRuntimeHasAnother) {
  const TemporaryFolder folder;
  const auto stages_of = [&](const std::string& optimizer) {
    const std::string scenario = folder.put("stages.json", R"({"model": "llama-2-13b", "cluster": "dgx-a100-80gb-hdr",
      "gpus": 8, "parallelism": {"tensor": 1, "pipeline": 1, "context": 1}, "recompute": "full", "optimizer": )" +
                                                               optimizer +
                                                               R"(,
      "batch": {"micro": 1, "global": 64, "sequence_length": 2048}})");
    const Ran ran = run_foretoken(
        {"search", scenario, "--free", "optimizer.zero_stage", "--no-require-fit", "--top", "99", "--json"});
    const json answer = json::parse(ran.out);
    std::set<int> stages;
    for (const json& row : answer.at("ranked")) stages.insert(row.at("zero_stage").get<int>());
    return stages;
  };
  EXPECT_EQ(stages_of(R"({"zero_stage": 3})"), (std::set<int>{0, 1, 2, 3}));
  EXPECT_EQ(stages_of(R"({"zero_stage": 2})"), (std::set<int>{0, 1, 2}));
  EXPECT_EQ(stages_of("{}"), (std::set<int>{0, 1}));
}

TEST(SearchCommand, ADenseModelHasNoExpertsToSearch) {
  for (const char* const key : {"parallelism.expert", "parallelism.expert_tensor", "moe", "moe.dispatcher"}) {
    const Ran ran = run_foretoken({"search", "gpt3-175b-1024-a100", "--free", key});
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.err, HasSubstr(std::string("--free ") + key +
                                   ": model \"gpt3-175b\" is dense, so a search cannot choose it"));
  }
}

TEST(SearchCommand, AWrongKeyNamesTheKeyThatWasMeant) {
  for (const char* const key : {"encoder_pipeline", "parallelism.encoder_pipelin"})
    EXPECT_EQ(run_foretoken({"search", "t5-41b-320-a100", "--free", key}).err,
              std::string("--free ") + key +
                  ": a search cannot choose this key; did you mean \"parallelism.encoder_pipeline\"?\n");
}

TEST(SearchCommand, SaysWhatItDoesWithAnEncoder) {
  EXPECT_THAT(run_foretoken({"search", "gpt3-175b-1024-a100", "--free", "parallelism.encoder_pipeline"}).err,
              HasSubstr("model \"gpt3-175b\" has no encoder beside a decoder"));
  const Ran dealt = run_foretoken({"search", "t5-41b-320-a100", "--partition", "pipedream"});
  EXPECT_EQ(dealt.status, 2);
  EXPECT_THAT(dealt.err, HasSubstr("/model: expected no encoder beside a decoder with --partition pipedream"));
  EXPECT_THAT(run_foretoken({"search", "t5-41b-320-a100", "--free", "parallelism.pipeline"}).out,
              HasSubstr("The encoder keeps the stages that parallelism.encoder_pipeline states"));
}

TEST(SearchCommand, TheAnswerIsAtMostAHundredColumnsWide) {
  const TemporaryFolder folder;
  const std::string small = folder.put("question.json", kQuestion);
  const std::vector<std::vector<std::string>> questions = {
      {"gpt3-175b-1024-a100", "--free", "all"},
      {"gpt3-175b-1024-a100", "--free", "all", "--gpus", "1,2"},
      {small, "--free", "parallelism.context", "--interval", "95", "--top", "120", "--schedules", "all"},
      {small, "--free", "parallelism.context", "--gpus", "8:32:x2", "--no-require-fit", "--schedules", "all", "--set",
       "run.tokens=1e12"}};
  for (const std::vector<std::string>& question : questions) {
    if (kSanitized && &question != &questions[2]) continue;  // the others take minutes
    std::vector<std::string> words{"search"};
    words.insert(words.end(), question.begin(), question.end());
    const Ran searched = run_foretoken(words);
    EXPECT_LE(searched.status, 1) << searched.err;
    for (const std::string& line : lines_of(searched.out)) EXPECT_LE(report::columns_of(line), 100U) << line;
  }
}

TEST(SearchCommand, TheLegendExplainsTheColumnsShownAndNoOthers) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const char* const stated = R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 16, "recompute": "full",
      "parallelism": {"context": 1, "tensor": 2, "sequence_parallel": true}, "batch": {"global": 32, "micro": 1,
      "sequence_length": 4096}, "optimizer": {"zero_stage": 1}, "overlap": {"grad_reduce": false, "param_gather": false,
      "p2p": false, "tensor_parallel": false}})";
  const std::string few = run_foretoken({"search", folder.put("few.json", stated)}).out;
  EXPECT_THAT(few, AllOf(HasSubstr("too wide for the page, in --json: bubble"), HasSubstr("MBS:"),
                         Not(HasSubstr("bubble: idle time")), Not(HasSubstr("CP")), Not(HasSubstr("overlap:"))));
  const std::string days = run_foretoken({"search", question, "--gpus", "8,16", "--set", "run.tokens=1e12"}).out;
  EXPECT_THAT(days, AllOf(HasSubstr("  days"), HasSubstr("MBS:"), Not(HasSubstr("bubble:"))));
  const std::string context = run_foretoken({"search", question, "--free", "parallelism.context"}).out;
  EXPECT_THAT(context, AllOf(HasSubstr("  CP  PP"), HasSubstr("TP, CP, PP, DP:")));
}

TEST(SearchCommand, WhatIsTooLargeIsCountedWhetherItRanksOrNot) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const auto candidates = [&](const char* option) {
    return json::parse(run_foretoken({"search", question, "--gpus", "4,8", "--json", option}).out)["candidates"];
  };
  const json left_out = candidates("--require-fit"), ranked = candidates("--no-require-fit");
  EXPECT_GT(left_out["too_large"], 0);
  EXPECT_EQ(ranked["too_large"], left_out["too_large"]);
}

TEST(SearchCommand, WhatIsStatedOrFixedIsKept) {
  const Ran searched = run_foretoken({"search", "gpt3-175b-1024-a100", "--free", "parallelism.pipeline", "--free",
                                      "parallelism.data", "--free", "parallelism.virtual_pipeline", "--free",
                                      "schedule", "--fix", "batch.micro=2", "--json"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const json answer = json::parse(searched.out);
  EXPECT_GT(answer["ranked"].size(), 2u);
  for (const json& row : answer["ranked"]) {
    EXPECT_EQ(row["tensor"], 8);
    EXPECT_EQ(row["micro"], 2);
    EXPECT_EQ(row["recompute"], "selective");
    EXPECT_EQ(row["zero_stage"], 0);
  }
}

// The scenario overlaps parameter gathers. One GPU has none, but the search still finds an answer.
TEST(SearchCommand, AnOverlapOfNothingRulesNothingOut) {
  const TemporaryFolder folder;
  const std::string best = folder.file("best.json");
  const Ran searched = run_foretoken({"search", "llama-3-8b-8-h200", "--free", "all", "--gpus", "1", "--set",
                                      "model.num_hidden_layers=8", "--write", best, "--json"});
  ASSERT_EQ(searched.status, 0) << searched.err;
  const Ran simulated = run_foretoken({"simulate", best, "--json"});
  ASSERT_EQ(simulated.status, 0) << simulated.err;
  EXPECT_EQ(json::parse(simulated.out)["step_time_s"], json::parse(searched.out)["ranked"][0]["step_time_s"]);
}

TEST(SearchCommand, AnswersAreTheSameBytesForAnyThreads) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const std::string one = run_foretoken({"search", question, "--json", "--threads", "1"}).out;
  EXPECT_EQ(run_foretoken({"search", question, "--json", "--threads", "4"}).out, one);
}

// Starts a search, kills it once its file has grown to `bytes`, and waits for it to be gone.
void kill_search(const std::vector<std::string>& arguments, const std::string& file, std::uintmax_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<std::string> words = {FORETOKEN_BINARY};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    const int quiet = ::open("/dev/null", O_WRONLY);
    ::dup2(quiet, STDOUT_FILENO);
    ::dup2(quiet, STDERR_FILENO);
    ::execv(FORETOKEN_BINARY, argv.data());
    ::_exit(127);
  }
  struct stat status {};
  while (::waitpid(child, nullptr, WNOHANG) == 0) {
    if (::stat(file.c_str(), &status) == 0 && static_cast<std::uintmax_t>(status.st_size) > bytes)
      ::kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

TEST(SearchCommand, AKilledSearchGoesOnWithNothingLostOrCountedTwice) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const std::string whole = folder.file("whole.jsonl"), killed = folder.file("killed.jsonl");
  const auto arguments = [&](const std::string& out) {  // a long list takes many rounds
    return std::vector<std::string>{"search", question,   "--top", kSanitized ? "150" : "5000",
                                    "--json", "--resume", "--out", out};
  };
  ASSERT_EQ(run_foretoken(arguments(whole)).status, 0);
  std::size_t kills = 0;
  for (const std::uintmax_t part : {1u, 40u, 60u, 80u}) {
    kill_search(arguments(killed), killed, std::filesystem::file_size(whole) * part / 100);
    if (std::filesystem::file_size(killed) < std::filesystem::file_size(whole)) ++kills;
  }
  std::ofstream(killed, std::ios::app) << R"({"candidate": 12, "verd)";  // a line cut short by a power cut
  const Ran resumed = run_foretoken(arguments(killed));
  EXPECT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_EQ(contents(killed), contents(whole));
  EXPECT_GE(kills, 1u) << "the search was over before it could be killed";
  std::set<std::size_t> numbers;
  const std::vector<std::string> lines = lines_of(contents(killed));
  for (std::size_t i = 1; i < lines.size(); ++i)
    EXPECT_TRUE(numbers.insert(json::parse(lines[i])["candidate"].get<std::size_t>()).second);
  const Ran again = run_foretoken({"search", question, "--out", killed});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.err, testing::HasSubstr("--resume"));
  const Ran other = run_foretoken({"search", question, "--out", killed, "--resume", "--top", "3"});
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.err, testing::HasSubstr("another search"));
}

TEST(SearchCommand, AFullDiskAndAClosedPipeEndClearly) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const Ran full = run_foretoken({"search", question, "--out", "/dev/full"});
  EXPECT_EQ(full.status, 2);
  EXPECT_EQ(lines_of(full.err).size(), 1u) << full.err;
  EXPECT_THAT(full.err, testing::HasSubstr("No space left"));
  const Ran screen = run_foretoken({"search", question}, "", "/dev/full");
  EXPECT_EQ(screen.status, 2);
  EXPECT_THAT(lines_of(screen.err).back(), testing::HasSubstr("No space left"));
  const std::string piped = std::string(FORETOKEN_BINARY) + " search " + question + " --json 2> " +
                            folder.file("said") + " | head -c 1 > " + folder.file("head");
  EXPECT_EQ(std::system(piped.c_str()), 0);
  EXPECT_EQ(contents(folder.file("head")), "{");
  EXPECT_THAT(lines_of(contents(folder.file("said"))), testing::Each(testing::HasSubstr(" %  ")));  // progress, if slow
}

TEST(SearchCommand, SaysWhatIsWrongAndWhenNothingFits) {
  const TemporaryFolder folder;
  const std::string question = folder.put("question.json", kQuestion);
  const auto expect_wrong = [&](const std::vector<std::string>& more, const std::string& words) {
    std::vector<std::string> arguments = {"search", question};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = run_foretoken(arguments);
    EXPECT_EQ(ran.status, 2) << words;
    EXPECT_THAT(ran.err, testing::HasSubstr(words));
  };
  expect_wrong({"--gpus", "8:4:x2"}, "FIRST:LAST");
  expect_wrong({"--objective", "steptime"}, "step-time");
  expect_wrong({"--schedules", "1f1bb"}, "did you mean");
  expect_wrong({"--schedules", "zb-v:2"}, "a search chooses parallelism.virtual_pipeline; try zb-v");
  expect_wrong({"--schedules", "1f1b", "--fix", "schedule=gpipe"}, "found --fix schedule=gpipe; leave one of them out");
  expect_wrong({"--schedules", "zb-h1", "--fix", "parallelism.virtual_pipeline=2"},
               "expected 1 for the schedules to try (zb-h1), found 2; try --free parallelism.virtual_pipeline");
  expect_wrong({"--resume"}, "--out");
  expect_wrong({"--fix", "parallelism.tensor=7"}, "7");
  const Ran large =
      run_foretoken({"search", question, "--set", "model.num_hidden_layers=512", "--gpus", "8", "--json"});
  EXPECT_EQ(large.status, 1) << large.err;
  const json answer = json::parse(large.out);
  EXPECT_TRUE(answer["ranked"].empty());
  EXPECT_FALSE(answer["nearest_misses"].empty());
}

TEST(SearchCommand, ListedSchedulesAreTriedThoughTheScenarioStatesOne) {
  const TemporaryFolder folder;
  json stated = json::parse(kQuestion);
  stated["schedule"] = "1f1b";
  const std::string question = folder.put("question.json", stated.dump());
  const Ran ran = run_foretoken({"search", question, "--schedules", "zb-h1", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  ASSERT_FALSE(answer["ranked"].empty());
  for (const json& each : answer["ranked"]) EXPECT_EQ(each["schedule"], "zb-h1");
}

}  // namespace
}  // namespace foretoken::tools
