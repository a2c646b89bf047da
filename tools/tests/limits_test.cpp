// Tests limits of input, complaints, lists, memory and threads, names that are not UTF-8, and empty words.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

#ifdef FORETOKEN_SANITIZED  // sanitizers need all addresses
#define FORETOKEN_LIMIT ""
#else
#define FORETOKEN_LIMIT "ulimit -v 1500000; "
#endif

TEST(Limits, OfWhatIsReadHoldForEverySource) {
  const TemporaryFolder folder;
  // 34 MB without a line end, as a device gives them without end.
  const std::string endless = folder.put("endless", std::string(34'000'000, '\0'));
  const std::string said = folder.file("said");
  for (const char* command :
       {"simulate -", "search -", "plan -", "report - -o /dev/null", "schedule check -", "explain -", "compare -",
        "clusters import - --gpu a100-sxm4-80gb", "calibrate import gemm /dev/zero",
        "calibrate import samples /dev/zero", "calibrate import nccl-tests /dev/zero",
        "calibrate fit --gpu a100-sxm4-80gb /dev/zero -o /dev/null", "simulate /dev/zero"}) {
    SCOPED_TRACE(command);
    const std::string line = std::string(FORETOKEN_LIMIT "cd " FORETOKEN_SOURCE_DIR "; " FORETOKEN_BINARY " ") +
                             command + " < " + endless + " > /dev/null 2> " + said;
    EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 2);
    EXPECT_EQ(lines_of(contents(said)).size(), 1U) << contents(said);
    EXPECT_THAT(contents(said), testing::AnyOf(HasSubstr("larger than 32 MiB"), HasSubstr("a line longer than")));
  }
}

TEST(Limits, OfComplaintsAreAHundredAndACount) {
  json scenario = json::parse(kSmallScenario);
  for (int i = 0; i < 20000; ++i) scenario["unknown_" + std::to_string(i)] = i;
  const Ran ran = run_foretoken({"simulate", "-"}, scenario.dump() + "\n");
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(lines_of(ran.err).size(), 101U);
  EXPECT_EQ(lines_of(ran.err).back(), "-:1: and 19900 more complaints");
  const Ran as_json = run_foretoken({"simulate", "-", "--json"}, scenario.dump() + "\n");
  EXPECT_EQ(json::parse(as_json.out)["complaints"].size(), 101U);

  std::string scenarios;
  for (int i = 0; i < 300; ++i) scenarios += "{}\n";
  const Ran many = run_foretoken({"simulate", "-"}, scenarios);
  const Ran one = run_foretoken({"simulate", "-"}, "{}\n");
  EXPECT_EQ(lines_of(many.err).size(), 102U);
  EXPECT_EQ(lines_of(many.err).back(),
            fmt::format("foretoken simulate: and {} more complaints", 300 * lines_of(one.err).size() - 101));

  const TemporaryFolder folder;
  std::string table = "m,n,k,time_us\n";
  for (int i = 0; i < 5000; ++i) table += "1,2,x,4\n";
  const Ran import = run_foretoken({"calibrate", "import", "gemm", folder.put("p.csv", table)});
  EXPECT_EQ(lines_of(import.err).size(), 101U);
  EXPECT_THAT(lines_of(import.err).back(), EndsWith("and 4900 more complaints"));
}

TEST(Limits, OfMemoryAreKnownBeforeTheWork) {
  const TemporaryFolder folder;
  const std::string scenario = folder.put("s.json", kSmallScenario), page = folder.file("r.html");
  const Ran large = run_foretoken({"report", scenario, "--set", "batch.global=1200000", "-o", page});
  EXPECT_EQ(large.status, 2);
  EXPECT_THAT(large.err, HasSubstr("s.json: /batch/global: a report of 2400000 passes would take more memory"));
  EXPECT_EQ(lines_of(large.err).size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(page));
  std::vector<std::string> call = {
      "simulate", "gpt3-175b-1024-a100", "--unfolded", "--set", "gpus=57344", "--set", "parallelism.data=896",
      "--set",    "batch.global=57344"};
  const Ran many = run_foretoken(call);
  EXPECT_EQ(many.status, 2);
  EXPECT_THAT(many.err, HasSubstr("/gpus: all 57344 GPUs together would take more than 4 GB of memory")) << "flows";
  EXPECT_THAT(many.err, HasSubstr("--collectives analytic"));
  EXPECT_EQ(lines_of(many.err).size(), 1U);
  call.insert(call.end(), {"--set", R"(imperfections.slow_nics=[{"node": 0, "nic": 0, "rate_factor": 0.5}])"});
  const Ran uneven = run_foretoken(call);
  EXPECT_EQ(uneven.status, 2);
  EXPECT_THAT(uneven.err, testing::Not(HasSubstr("analytic"))) << "a slow NIC needs flows";
#ifndef FORETOKEN_SANITIZED  // sanitizers need all addresses
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  const rlimit small{.rlim_cur = 1'000'000'000, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &small), 0);  // the program inherits it
  const Ran flows = run_foretoken({"simulate", "gpt3-175b-1024-a100", "--unfolded", "--collectives", "flows", "--set",
                                   "gpus=65536", "--set", "parallelism.data=1024", "--set", "batch.global=98304"});
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(flows.status, 2);
  EXPECT_THAT(flows.err, HasSubstr("together would take more than 1 GB of memory"));
#endif
}

// Memory may end anywhere, also inside a destructor, which cannot throw.
TEST(Limits, OfMemoryEndInOneLineWhereverTheyAreMet) {
#ifdef FORETOKEN_SANITIZED
  GTEST_SKIP() << "sanitizers need all addresses";
#endif
  const TemporaryFolder folder;
  const std::string said = folder.file("said");
  const auto status_within = [&](int kib) {
    const std::string line =
        "ulimit -v " + std::to_string(kib) +
        "; cd " FORETOKEN_SOURCE_DIR "; exec " FORETOKEN_BINARY " simulate llama-2-7b-8-a100 > /dev/null 2> " + said;
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  };
  constexpr int kStep = 256, kSteps = 64, kMost = 1 << 20;
  int first = 4096;  // KiB in which main() is reached
  while (first < kMost && status_within(first) != 2) first += kStep;
  ASSERT_LT(first, kMost) << "no limit is too small";
  for (int limit = first; limit < first + kSteps * kStep; limit += kStep) {
    const int status = status_within(limit);
    ASSERT_THAT(status, testing::AnyOf(0, 2)) << limit << " KiB: " << contents(said);
    EXPECT_EQ(lines_of(contents(said)).size(), status == 0 ? 0U : 1U) << limit << " KiB: " << contents(said);
  }
}

TEST(Limits, OfThreadsAreThoseOfTheSystem) {
#ifdef FORETOKEN_SANITIZED
  GTEST_SKIP() << "sanitizers start a thread of their own";
#endif
  const TemporaryFolder folder;
  const std::string scenario = folder.put("s.json", kSmallScenario), out = folder.put("out", ""),
                    err = folder.put("err", "");
  for (const std::string& open : {out, err}) std::filesystem::permissions(open, std::filesystem::perms::all);
  std::filesystem::permissions(std::filesystem::path(scenario).parent_path(), std::filesystem::perms(0755));
  for (const std::string& command :
       {"simulate " + scenario + " --threads 8", "search " + scenario + " --free batch.micro --threads 8",
        "whatif " + scenario + " --vary batch.micro=1,2 --threads 8"}) {
    const pid_t child = ::fork();
    if (child == 0) {  // root has no such limit
      if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
        ::_exit(77);
      if (::access(FORETOKEN_BINARY, X_OK) != 0) ::_exit(77);
      const rlimit none{1, 1};
      ::setrlimit(RLIMIT_NPROC, &none);
      const std::string line = "exec " FORETOKEN_BINARY " " + command + " > " + out + " 2> " + err;
      ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      ::_exit(77);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "no other user may run the program here";
    EXPECT_EQ(WEXITSTATUS(status), 0) << command << contents(err);
    EXPECT_EQ(contents(err), "");
  }
}

TEST(Limits, OfFoldersWithoutUtf8AreNone) {
  const TemporaryFolder folder;
  const std::string odd = folder.file("b\xff\xc3(r");
  std::filesystem::create_directory(odd);
  std::ofstream(odd + "/model.json") << R"({"base": "gpt2", "n_layer": 2, "n_positions": 4096})";
  json scenario = json::parse(kSmallScenario);  // small: a report tries many variants
  scenario["parallelism"] = {{"tensor", 1}};
  scenario["gpus"] = 1;
  scenario["model"] = "model.json";
  const std::string file = odd + "/s.json", best = odd + "/best.json", page = odd + "/r.html";
  std::ofstream(file) << scenario.dump();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"simulate", file},
        {"simulate", file, "--json"},
        {"explain", file},
        {"compare", file, "--no-gantt"},
        {"whatif", file, "--vary", "batch.micro=1,2"},
        {"plan", file, "--free", "batch.micro", "--tokens", "1T", "--json"},
        {"search", file, "--free", "batch.micro", "--out", odd + "/r.jsonl", "--write", best},
        {"simulate", best},
        {"report", file, "-o", page}}) {
    const Ran ran = run_foretoken(command);
    EXPECT_EQ(ran.status, 0) << command[0] << ": " << ran.err;
    EXPECT_TRUE(command.back() != "--json" || json::accept(ran.out)) << command[0];
  }
  EXPECT_TRUE(std::filesystem::exists(page));
}

TEST(Limits, AnEmptyWordIsNoValue) {
  for (const Wrong& wrong : std::vector<Wrong>{
           {"a trace", {"simulate", "gpt-22b-8-a100-full", "--trace", ""}, "--trace: expected a value"},
           {"a drawing", {"simulate", "gpt-22b-8-a100-full", "--svg="}, "--svg: "},
           {"results", {"search", "gpt-22b-8-a100-full", "--out", ""}, "--out: expected a value"},
           {"a winner", {"search", "gpt-22b-8-a100-full", "--write", ""}, "--write: expected a value"},
           {"sizes", {"search", "gpt-22b-8-a100-full", "--gpus", ""}, "--gpus: expected a value"},
           {"clusters", {"plan", "gpt-22b-8-a100-full", "--clusters", ""}, "--clusters: expected a value"},
           {"a scenario", {"simulate", ""}, "SCENARIO: expected a value"},
           {"what follows the last comma",
            {"compare", "gpt-22b-8-a100-full", "--schedules", "gpipe,"},
            "--schedules: expected a value"},
           {"between commas",
            {"compare", "gpt-22b-8-a100-full", "--schedules", "gpipe,,1f1b"},
            "--schedules: expected a value"},
           {"a command", {"schedule", ""}, "foretoken schedule"},
           {"a whole command line", {""}, "foretoken: "}}) {
    SCOPED_TRACE(wrong.what);
    const Ran ran = run_foretoken(wrong.arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(wrong.complaint));
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
  }
}

TEST(Limits, AClusterNamedTwiceIsTriedOnce) {
  const Ran ran = run_foretoken({"plan", "gpt-22b-8-a100-full", "--free", "batch.micro", "--tokens", "1T", "--clusters",
                                 "selene,selene", "--json"});
  EXPECT_EQ(json::parse(ran.out)["options"].size(), 1U) << ran.err;
}

// Whatever `calibrate import` writes, it reads again.
TEST(Limits, MeasurementsThatNoGpuCanMakeAreRefused) {
  const TemporaryFolder folder;
  const std::string out = folder.file("out.jsonl");
  for (const char* table :
       {"m,n,k,time_s\n64,64,64,1e308\n", "m,n,k,tflops\n64,64,64,1e300\n", "m,n,k,tflops\n64,64,64,1e-300\n",
        "m,n,k,time_us\n64,64,64,1e-300\n", "m,n,k,time_us\n64,64,64,1e-310\n", "m,n,k,time_us\n64,64,64,1e308\n",
        "m,n,k,time_us\n2147483648,2147483648,2147483648,1\n", "m,m,n,k,time_us\n1,2,3,4,5\n"}) {
    SCOPED_TRACE(table);
    const Ran ran = run_foretoken({"calibrate", "import", "gemm", folder.put("p.csv", table), "-o", out});
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("p.csv:"));
    EXPECT_FALSE(std::filesystem::exists(out));
  }
  const std::string deep = "{\"gemm\":" + std::string(100000, '[') + std::string(100000, ']') + "}\n";
  for (const std::string& lines :
       {std::string(), std::string(1000, '\n'), deep, std::string(R"({"header":"x","gpu":"y","facts":[]}
{"gemm":"forward","type":"bf16","m":64,"n":64,"k":64,"us":1e300}
)")}) {
    const Ran ran = run_foretoken({"calibrate", "import", "samples", folder.put("s.jsonl", lines), "-o", out});
    EXPECT_EQ(ran.status, 2) << lines.substr(0, 80);
    EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

}  // namespace
}  // namespace foretoken::tools
