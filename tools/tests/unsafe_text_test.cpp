// Tests unsafe text in files: no command prints text that would control a terminal, a spreadsheet, a graph or a
// browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Red, a bell, a line start, a C1 control, two ways to reorder letters, and a character that no XML may hold.
const std::string kTaint = "\x1b[31m\a\r\u009b\u061c\u202e\ufffe";

/// The first byte or character that must not be shown, in words; empty when all is well.
std::string unsafe_in(const std::string& text) {
  for (const char c : text)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f)
      return "byte " + std::to_string(static_cast<unsigned char>(c));
  for (const char* each : {"\u009b", "\u061c", "\u202e", "\ufffe"})
    if (text.find(each) != text.npos) return "a character that is invisible or none";
  return "";
}

void taint(json& value, std::initializer_list<const char*> keys) {
  for (const char* key : keys) value[key] = value.value(key, std::string("x")) + kTaint;
}

json shown(const std::vector<std::string>& arguments) { return json::parse(run_foretoken(arguments).out); }

/// Files whose every text is tainted, and a scenario of them.
class Tainted {
 public:
  Tainted() {
    json gpu = shown({"clusters", "show", "dgx-a100-80gb-hdr", "--json"});
    if (gpu["gpu"].is_string()) gpu["gpu"] = {{"base", gpu["gpu"]}};
    taint(gpu, {"name", "source", "notes"});
    taint(gpu["gpu"], {"source", "notes"});
    cluster = folder.put("cluster.json", gpu.dump());
    json layers = {{"base", "llama-2-7b"}, {"num_hidden_layers", 8}};
    taint(layers, {"name", "source"});
    model = folder.put("model.json", layers.dump());
    json software = shown({"runtimes", "show", "megatron-core", "--json"});
    taint(software, {"name", "description", "source"});
    runtime = folder.put("runtime.json", software.dump());
    json costs = shown({"profiles", "show", "a100-sxm4-80gb", "--json"});
    taint(costs, {"name"});
    profile = folder.put("profile.json", costs.dump());
    scenario =
        folder.put("s.json", json{{"name", "n" + kTaint},
                                  {"model", model},
                                  {"cluster", cluster},
                                  {"runtime", runtime},
                                  {"profile", profile},
                                  {"gpus", 16},
                                  {"batch", {{"micro", 1}, {"global", 32}, {"sequence_length", 2048}}},
                                  {"parallelism", {{"tensor", 8}}},
                                  {"notes", kTaint},
                                  {"run", {{"tokens", 1e12}, {"price_per_gpu_hour", 2}, {"currency", "=A1" + kTaint}}}}
                                 .dump());
  }
  TemporaryFolder folder;
  std::string cluster, model, runtime, profile, scenario;
};

/// Lists commands that show text of the files, or words of their own arguments.
std::vector<std::vector<std::string>> commands_on(const Tainted& files) {
  const std::string& s = files.scenario;
  return {
      {"simulate", s},
      {"simulate", s, "--json"},
      {"simulate", s, "--color", "never", "--set", "recompute=" + kTaint},
      {"simulate", s, "--set", kTaint + "=1"},
      {"simulate", s, s, "--share-cluster"},
      {"compare", s, "--no-gantt", "--schedules", "gpipe,1f1b"},
      {"explain", s},
      {"search", s, "--free", "batch.micro", "--top", "2"},
      {"search", s, "--free", "batch.micro", "--top", "2", "--json"},
      {"plan", s, "--free", "batch.micro", "--gpus", "16"},
      {"plan", s, "--free", "batch.micro", "--gpus", "16", "--json"},
      {"whatif", s, "--vary", "batch.micro=1,2"},
      {"whatif", s, "--vary", "batch.micro=1,2", "--csv"},
      {"whatif", s, "--vary", "batch.micro=1,2", "--json"},
      {"whatif", s, "--vary", "batch.micro=1," + kTaint, "--csv"},
      {"models", "show", files.model},
      {"models", "show", files.model, "--json"},
      {"clusters", "show", files.cluster},
      {"clusters", "show", files.cluster, "--json"},
      {"runtimes", "show", files.runtime},
      {"profiles", "show", files.profile},
      {"scenarios", "show", s},
      {"calibrate", "show", files.profile},
      {"calibrate", "diff", files.profile, "a100-sxm4-80gb"},
      {"simulate", kTaint},
      {"models", "show", kTaint},
      {"completion", kTaint},
      {kTaint},
  };
}

TEST(UnsafeText, ReachesNoScreenFromAnyVerb) {
  const Tainted files;
  for (const std::vector<std::string>& command : commands_on(files)) {
    SCOPED_TRACE(command.front() + (command.size() > 2 ? " " + command[2] : ""));
    const Ran ran = run_foretoken(command);
    EXPECT_LE(ran.status, 2) << ran.err;
    EXPECT_FALSE(ran.out.empty() && ran.err.empty());
    EXPECT_EQ(unsafe_in(std::regex_replace(ran.out, std::regex("\033\\[[0-9;]*m$"), "")), "") << ran.out;
    EXPECT_EQ(unsafe_in(ran.err), "") << ran.err;
    for (const std::string& line : lines_of(ran.err)) EXPECT_LE(line.size(), 1200U);
  }
}

TEST(UnsafeText, OfMeasurementFilesReachesNoScreen) {
  const TemporaryFolder folder;
  const std::string csv =
      folder.put("p.csv", "m,n,k,time_us\n" + kTaint + ",1,1,1\n1,1," + std::string(5000000, 'x') + ",1\n");
  const std::string samples = folder.put("s.jsonl",
                                         "{\""
                                         "key\\u001b[31m\": 1}\n{\"header\": 1}\n");
  const std::string odd = folder.put("p" + kTaint + "\xff.csv", "m,n,k,time_us\n1,1,1,a\n");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"calibrate", "import", "gemm", csv},
        {"calibrate", "import", "samples", samples},
        {"calibrate", "import", "gemm", odd},
        {"calibrate", "fit", "--gpu", "a100-sxm4-80gb", csv, "-o", folder.file("out.json")}}) {
    const Ran ran = run_foretoken(command);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(unsafe_in(ran.err), "") << ran.err;
    for (const std::string& line : lines_of(ran.err)) EXPECT_LE(line.size(), 1200U);
  }
}

TEST(UnsafeText, OfTheNameOfAnOutputReachesNoScreen) {
  const TemporaryFolder folder;
  const std::string products = FORETOKEN_SOURCE_DIR "/tools/testdata/products_a100.csv";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"calibrate", "import", "gemm", products, "-o", folder.file("a\x1b[31m.jsonl")},
        {"calibrate", "fit", "--gpu", "a100-sxm4-80gb", products, "-o", folder.file("b\x1b[31m.json")}}) {
    const Ran ran = run_foretoken(command);
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_EQ(unsafe_in(ran.out), "") << ran.out;
  }
}

TEST(UnsafeText, IsNoFormulaOfASpreadsheet) {
  const Tainted files;
  const Ran ran = run_foretoken({"whatif", files.scenario, "--vary", "run.currency=EUR", "--vary",
                                 "run.price_per_gpu_hour=1,-1", "--set", "run.currency==HYPERLINK(1,2)", "--csv"});
  ASSERT_LE(ran.status, 2) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("\"'=HYPERLINK(1,2)\""));
  EXPECT_THAT(ran.out, HasSubstr("EUR,-1,"));
  EXPECT_THAT(ran.out, Not(HasSubstr(",=HYPERLINK")));
}

TEST(UnsafeText, AddsNothingToAGraphOrADrawing) {
  const TemporaryFolder folder;
  const std::string cluster = folder.put(
      "c.json",
      json{{"base", "dgx-a100-80gb-hdr"}, {"name", "a\"; evil [URL=\"javascript:alert(1)\"]; b=\"\\\ufffe"}}.dump());
  const std::string dot = folder.file("c.dot"), svg = folder.file("c.svg");
  const Ran ran = run_foretoken({"clusters", "show", cluster, "--dot", dot, "--svg", svg});
  ASSERT_EQ(ran.status, 0) << ran.err;
  // Without its quoted strings the graph has no word of the name.
  const std::string bare = std::regex_replace(contents(dot), std::regex("\"(\\\\.|[^\"\\\\])*\""), "");
  EXPECT_THAT(contents(dot), HasSubstr("evil"));
  EXPECT_THAT(bare, Not(HasSubstr("evil")));
  EXPECT_THAT(bare, Not(HasSubstr("\"")));
  EXPECT_THAT(contents(svg), Not(HasSubstr("\ufffe")));
}

TEST(UnsafeText, OfAFileNameStaysInTheCommandsToRunNext) {
  const TemporaryFolder folder;
  const std::string scenario = contents(FORETOKEN_SOURCE_DIR "/scenarios/llama-3-70b-256-h100.json");
  const Ran ran = run_foretoken({"simulate", folder.put("a\nb\x1b[31m'c\u202e\n.json", scenario)});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  EXPECT_LE(lines_of(ran.out).size(), 25U);
  EXPECT_THAT(ran.out, HasSubstr("/a\\x0ab\\x1b[31m\\'c\\xe2\\x80\\xae\\x0a.json'"));
}

}  // namespace
}  // namespace foretoken::tools
