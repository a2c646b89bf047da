// Tests the way from a user's measurements to a prediction, as a user types it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kProducts = FORETOKEN_SOURCE_DIR "/tools/testdata/products_a100.csv";
const std::string kCollectives = FORETOKEN_SOURCE_DIR "/calibration/import/testdata/five_runs.txt";

/// A datasheet of a GPU that no data file knows, with the rates of an A100.
const char* const kMystery =
    R"({"name": "mystery", "architecture": "ampere", "peak_tflops": {"fp16": 312, "bf16": 312}, "sms": 108,
        "memory_bytes": 85000000000, "memory_bandwidth_gb_per_s": 2000})";

std::string scenario(const std::string& gpu, const std::string& profile) {
  json question = json::parse(contents(FORETOKEN_SOURCE_DIR "/scenarios/llama-2-7b-8-a100.json"));
  question["cluster"] = {{"base", "dgx-a100-80gb-hdr"}, {"gpu", gpu}};
  question["profile"] = profile;
  return question.dump();
}

TEST(Calibrate, FromTablesOfAnUnknownGpuToAPrediction) {
  const TemporaryFolder folder;
  const std::string products = folder.file("products.jsonl"), collectives = folder.file("collectives.jsonl"),
                    profile = folder.file("mystery-profile.json"), gpu = folder.put("mystery.json", kMystery);
  const Ran imported = run_foretoken({"calibrate", "import", "gemm", kProducts, "--gpu", "Mystery", "-o", products});
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_THAT(imported.out, HasSubstr("600 matrix products"));
  EXPECT_EQ(run_foretoken({"calibrate", "import", "nccl-tests", kCollectives, "-o", collectives}).status, 0);
  const Ran fitted = run_foretoken({"calibrate", "fit", "--gpu", gpu, products, collectives, "-o", profile});
  EXPECT_EQ(fitted.status, 0) << fitted.err;
  EXPECT_THAT(fitted.out, HasSubstr("GEMM bf16"));
  const json written = json::parse(contents(profile));
  EXPECT_EQ(written["gpu"], "mystery");
  const json& evidence = written["gemm"]["bf16"]["evidence"];
  EXPECT_EQ(evidence["provenance"], "fitted");
  EXPECT_GT(evidence["held_out"], 80);
  EXPECT_LT(evidence["median_error"], 0.08);
  EXPECT_EQ(written["attention"]["laws"][0]["evidence"]["provenance"], "scaled");
  const Ran shown = run_foretoken({"calibrate", "show", profile});
  EXPECT_EQ(shown.status, 0);
  EXPECT_THAT(shown.out, HasSubstr("on Mystery"));
  const std::string question = folder.put("question.json", scenario(gpu, profile));
  const Ran predicted = run_foretoken({"simulate", question, "--json"});
  EXPECT_EQ(predicted.status, 0) << predicted.err;
  EXPECT_THAT(json::parse(predicted.out)["assumptions"].dump(), HasSubstr("attention: scaled from a100-"));
  const Ran strict = run_foretoken({"simulate", question, "--strict"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_THAT(strict.err, HasSubstr("attention (from a100-"));
  EXPECT_THAT(strict.out, IsEmpty());
}

TEST(Calibrate, FilesInAnyOrderGiveTheSameBytes) {
  const TemporaryFolder folder;
  const std::string one = folder.file("one.json"), other = folder.file("other.json");
  EXPECT_EQ(run_foretoken({"calibrate", "fit", "--gpu", "mystery", kProducts, kCollectives, "-o", one}).status, 0);
  EXPECT_EQ(run_foretoken({"calibrate", "fit", "--gpu", "mystery", kCollectives, kProducts, "-o", other}).status, 0);
  EXPECT_FALSE(contents(one).empty());
  EXPECT_EQ(contents(one), contents(other));
}

TEST(Calibrate, AGpuWithoutDatasheetTakesItsSpeedFromItsProducts) {
  const TemporaryFolder folder;
  const std::string profile = folder.file("p.json");
  const Ran ran = run_foretoken({"calibrate", "fit", "--gpu", "mystery", kProducts, "-o", profile});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("topologies/gpus/mystery.json"));
  EXPECT_LT(json::parse(contents(profile))["gemm"]["bf16"]["evidence"]["median_error"], 0.08);
  EXPECT_EQ(run_foretoken({"calibrate", "show", profile}).status, 0) << "what was written can be read";
}

/// Lists wrong commands, with their inputs in `folder`. They would write to `file`.
std::vector<Wrong> wrong_calibrations(const TemporaryFolder& folder, const std::string& file) {
  const std::string csv = folder.put("bad.csv", "m,n,k,time_us\n1,2,3,4\n64,64,sixty,9\n");
  const std::string log = folder.put("cut.txt", contents(kCollectives).substr(0, 2000));
  const std::string lines = folder.put("s.jsonl", "{\"gemm\":\"forward\"}\n");
  const std::string slow = folder.put("slow.json", [] {
    json gpu = json::parse(kMystery);
    gpu["peak_tflops"] = {{"bf16", 100}};
    return gpu.dump();
  }());
  const std::string few = folder.put("few.csv", "m,n,k,time_us\n1,64,64,3\n3,64,64,3\n");
  return {
      {"a word for a number", {"calibrate", "import", "gemm", csv, "-o", file}, "bad.csv:3: k: expected a number"},
      {"a cut table", {"calibrate", "import", "nccl-tests", log, "-o", file}, "cut.txt:"},
      {"no header", {"calibrate", "fit", "--gpu", "mystery", lines, "-o", file}, "s.jsonl:1: "},
      {"no such file",
       {"calibrate", "fit", "--gpu", "mystery", "nowhere.jsonl", "-o", file},
       "nowhere.jsonl: no such file"},
      {"no products, no datasheet", {"calibrate", "fit", "--gpu", "mystery", kCollectives, "-o", file}, "--base"},
      {"a misspelt profile",
       {"calibrate", "fit", "--gpu", "mystery", kProducts, "--base", "a100-sxm4-80", "-o", file},
       "did you mean \"a100-sxm4-80gb\"?"},
      {"another GPU's datasheet",
       {"calibrate", "fit", "--gpu", slow, kProducts, "-o", file},
       "times the dense rate of 100 TFLOP/s"},
      {"too few samples",
       {"calibrate", "fit", "--gpu", "h100-sxm5-80gb", few, "-o", file},
       "expected enough samples for at least one part, found 2 matrix products"},
      {"no out", {"calibrate", "fit", "--gpu", "mystery", kProducts}, "--out is required"},
      {"no such profile", {"calibrate", "show", "h100"}, "unknown profile \"h100\""},
  };
}

TEST(Calibrate, WrongInputIsRefusedWithItsPlaceAndNothingIsLeft) {
  const TemporaryFolder folder, out;
  for (const Wrong& each : wrong_calibrations(folder, out.file("x"))) {
    SCOPED_TRACE(each.what);
    const Ran ran = run_foretoken(each.arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr(each.complaint));
    EXPECT_THAT(out.names(), IsEmpty());
  }
}

TEST(Calibrate, CheckComparesAProfileWithATable) {
  const Ran checked = run_foretoken({"calibrate", "check", "a100-sxm4-80gb", kProducts, "--json"});
  EXPECT_EQ(checked.status, 0) << checked.err;
  const json answer = json::parse(checked.out);
  const json& large = answer["precisions"]["bf16"];
  EXPECT_GT(large["rows"], 20);
  EXPECT_LT(large["median"], 0.12);
  EXPECT_GE(large["p90"], large["median"]);
  EXPECT_LT(std::abs(large["bias"].get<double>()), 0.12);
  EXPECT_EQ(answer["classes"][0]["size"], "m, n, k >= 1024");
  EXPECT_EQ(answer["classes"][0]["rows"].get<int>() + answer["classes"][1]["rows"].get<int>(), 600);
  const Ran text = run_foretoken({"calibrate", "check", "a100-sxm4-80gb", kProducts});
  EXPECT_THAT(text.out, HasSubstr("products bf16"));
  EXPECT_EQ(run_foretoken({"calibrate", "check", "no-such-profile", kProducts}).status, 2);
}

TEST(Calibrate, CheckComparesExchangesOfTokens) {
  const std::string table = FORETOKEN_SOURCE_DIR "/calibration/fit/testdata/h100_deepep.csv";
  const Ran checked = run_foretoken({"calibrate", "check", "h100-sxm5-80gb", table, "--json"});
  ASSERT_EQ(checked.status, 0) << checked.err;
  int large = 0;
  const json answer = json::parse(checked.out);
  for (const json& one : answer["classes"]) {
    if (one["size"] != ">= 1 MB") continue;
    ++large;
    EXPECT_LT(one["median"], 0.12) << one["kind"];
  }
  EXPECT_EQ(large, 2) << "dispatch and combine";
  EXPECT_THAT(run_foretoken({"calibrate", "check", "l40s-48gb", table}).out,
              HasSubstr("Left out: deepep dispatch; the profile has no law."));

  const TemporaryFolder folder;
  const std::string wrong = folder.put("wrong.csv",
                                       "nodes,gpus_per_node,hidden,tokens,topk,experts,dispatch_us,combine_us\n"
                                       "1,8,4096,128,8,64,ten,20\n");
  const Ran refused = run_foretoken({"calibrate", "check", "h100-sxm5-80gb", wrong});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("wrong.csv:2: dispatch_us: expected a number above 0, found \"ten\""));
  EXPECT_THAT(refused.out, IsEmpty());
}

TEST(Calibrate, DiffShowsBothAndDraws) {
  const TemporaryFolder folder;
  const std::string svg = folder.file("both.svg");
  const Ran ran = run_foretoken({"calibrate", "diff", "a100-sxm4-80gb", "h100-sxm5-80gb", "--svg", svg});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("b / a"));
  EXPECT_THAT(contents(svg), testing::StartsWith("<svg "));
}

TEST(Calibrate, ProfilesAndTheirDifferencesHaveJsonAndCsv) {
  const std::string copy = ::testing::TempDir() + "mine-" + std::to_string(::getpid()) + ".json";
  std::filesystem::copy_file(std::string(FORETOKEN_SOURCE_DIR) + "/calibration/profiles/a100-sxm4-80gb.json", copy,
                             std::filesystem::copy_options::overwrite_existing);
  const std::string same = run_foretoken({"calibrate", "diff", "a100-sxm4-80gb", copy}).out;
  EXPECT_THAT(same, HasSubstr("mine-" + std::to_string(::getpid()))) << "both files have the name of the GPU";
  std::filesystem::remove(copy);
  const std::vector<std::string> diff = {"calibrate", "diff", "a100-sxm4-80gb", "h100-sxm5-80gb"};
  const auto with = [&](const char* option) {
    std::vector<std::string> arguments = diff;
    arguments.emplace_back(option);
    return run_foretoken(arguments).out;
  };
  const json answer = json::parse(with("--json"));
  EXPECT_EQ(answer["b"], "h100-sxm5-80gb");
  const json& first = answer["rows"][0];
  EXPECT_DOUBLE_EQ(first["b_over_a"].get<double>(), first["b_s"].get<double>() / first["a_s"].get<double>());
  EXPECT_THAT(with("--csv"), testing::StartsWith("work,a_s,b_s,b_over_a\n"));
  EXPECT_EQ(json::parse(run_foretoken({"calibrate", "show", "a100-sxm4-80gb", "--json"}).out)["name"],
            "a100-sxm4-80gb");
}

TEST(Calibrate, ImportedSamplesGoThroughAPipe) {
  const Ran ran = run_foretoken({"calibrate", "import", "gemm", kProducts});
  EXPECT_EQ(ran.status, 0);
  std::istringstream lines(ran.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(json::accept(line));
  EXPECT_EQ(count, 601);
}

TEST(Strict, RefusesCostsOfAnotherGpuAndTakesTheRest) {
  EXPECT_EQ(run_foretoken({"simulate", "gpt-22b-8-a100-full", "--strict"}).status, 0);
  const Ran no = run_foretoken({"simulate", "llama-3-70b-64-h100", "gpt-22b-8-a100-full", "--strict", "--json", "--set",
                                R"(profile={"base": "h100-sxm5-80gb"})"});
  EXPECT_EQ(no.status, 1);
  const Ran refused = run_foretoken({"compare", "llama-3-70b-64-h100", "--strict", "--set",
                                     R"(profile={"base": "h100-sxm5-80gb", "gpu": "b200-sxm-180gb"})"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(refused.err, HasSubstr("--strict: expected costs of the cluster's GPU \"h100-sxm5-80gb\""));
  EXPECT_THAT(refused.out, IsEmpty());
}

}  // namespace
}  // namespace foretoken::tools
