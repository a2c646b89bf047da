// Tests result files of searches, and plan files: an outdated, edited, foreign or broken file is refused in one line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::HasSubstr;

constexpr const char* kModel = R"({"base": "llama-3-8b", "num_hidden_layers": 12})";

/// A question that names a file, and its finished search.
class Searched {
 public:
  Searched() : model_(folder.put("model.json", kModel)) {
    question_ = folder.put("question.json", R"({"name": "small", "model": "model.json", "cluster": "dgx-h100-ndr",
        "gpus": 8, "batch": {"global": 16, "sequence_length": 4096}, "parallelism": {"context": 1, "tensor": 8}})");
    first = run_foretoken(arguments("--out"));
    written = contents(results);
  }
  [[nodiscard]] std::vector<std::string> arguments(const char* more) const {
    return {"search", question_, "--json", "--out", results, more == std::string("--out") ? "--require-fit" : more};
  }
  [[nodiscard]] Ran resume() const { return run_foretoken(arguments("--resume")); }
  void change_model(const std::string& text) const { std::ofstream(model_) << text; }

  TemporaryFolder folder;
  std::string results = folder.file("r.jsonl"), written;
  Ran first;

 private:
  std::string model_, question_;
};

void expect_refused(const Ran& ran, const std::string& words) {
  EXPECT_EQ(ran.status, 2);
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr(words));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ResultFile, IsTakenUpAsLongAsEverythingIsAsItWas) {
  const Searched searched;
  ASSERT_EQ(searched.first.status, 0) << searched.first.err;
  const Ran again = searched.resume();
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(again.out, searched.first.out);
  EXPECT_EQ(contents(searched.results), searched.written);
}

TEST(ResultFile, OfAFileThatChangedSinceIsRefused) {
  const Searched searched;
  searched.change_model(R"({"base": "llama-3-8b", "num_hidden_layers": 16})");
  expect_refused(searched.resume(),
                 "r.jsonl: holds the results of another search (scenario, its files or options differ)");
  EXPECT_EQ(contents(searched.results), searched.written);
}

// The scenario names the cluster; nothing in the scenario's text changes with the cluster's profile.
TEST(ResultFile, OfShippedDataThatChangedIsOutOfDate) {
  const TemporaryFolder data;
  const std::string name = "calibration/profiles/h100-sxm5-80gb.json";
  std::filesystem::create_directories(data.file("calibration/profiles"));
  std::filesystem::copy_file(std::filesystem::path(FORETOKEN_SOURCE_DIR) / name, data.file(name));
  ::setenv("FORETOKEN_DATA", data.file("").c_str(), 1);
  const Searched searched;
  const std::string profile = contents(data.file(name));
  std::ofstream(data.file(name)) << replaced(profile, "\"sustained_factor\": ", "\"sustained_factor\": 1");
  const Ran resumed = searched.resume();
  ::unsetenv("FORETOKEN_DATA");
  EXPECT_EQ(searched.first.status, 0) << searched.first.err;
  expect_refused(resumed, "r.jsonl: is out of date: ");
  EXPECT_EQ(contents(searched.results), searched.written);
}

TEST(ResultFile, OfAnotherVersionIsRefused) {
  const Searched searched;
  std::ofstream(searched.results) << replaced(searched.written, R"("program":")", R"("program":"0)");
  expect_refused(searched.resume(), "another version of foretoken");
}

TEST(ResultFile, ThatWasEditedIsRefusedWithItsLine) {
  const Searched searched;
  const std::string slower = replaced(searched.written, R"("step_time_ps":)", R"("step_time_ps":1)");
  std::ofstream(searched.results) << slower;
  expect_refused(searched.resume(), "r.jsonl:2: this line is not as `foretoken search` wrote it");
  EXPECT_EQ(contents(searched.results), slower);
}

TEST(ResultFile, ThatIsNestedOrLongWithoutEndIsRefused) {
  const Searched searched;
  const std::string brackets(100000, '[');
  const std::string header = searched.written.substr(0, searched.written.find('\n') + 1);
  for (const std::string& text :
       {"{\"foretoken_search\":2,\"x\":" + brackets + "\n", header + "{\"candidate\":" + brackets + "\n",
        header + "{\"candidate\":0,\"x\":" + brackets.substr(0, 2000) + "\n", brackets + "\n"}) {
    std::ofstream(searched.results) << text;
    expect_refused(searched.resume(), "r.jsonl");
  }
}

// A file without a single line end must not be taken for a header that was cut off.
TEST(ResultFile, OfSomethingElseKeepsItsBytes) {
  const Searched searched;
  for (const std::string text : {"my thesis", "my thesis\n", "{\"a\": 1}"}) {
    std::ofstream(searched.results) << text;
    expect_refused(searched.resume(), "is no result file of `foretoken search --out`");
    EXPECT_EQ(contents(searched.results), text);
  }
}

TEST(ResultFile, WhoseHeaderWasCutBeginsAnew) {
  const Searched searched;
  std::ofstream(searched.results) << searched.written.substr(0, 40);
  const Ran ran = searched.resume();
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(contents(searched.results), searched.written);
}

TEST(PlanFile, WhoseChoiceIsNoneOfItsOptionsIsRefused) {
  const TemporaryFolder folder;
  for (const char* text : {R"({"tokens":1,"options":[],"smallest":0})", R"({"tokens":1,"options":[],"cheapest":0})",
                           R"({"tokens":1,"options":[],"smallest":-1})", R"({"tokens":1,"options":[],"cheapest":1e9})",
                           R"({"tokens":1,"options":[{"cluster":"x","gpus":8,"impossible":"y"}],"smallest":1})"}) {
    const Ran ran = run_foretoken({"report", folder.put("plan.json", text), "-o", folder.file("r.html")});
    EXPECT_EQ(ran.status, 2) << text;
    EXPECT_THAT(ran.err, HasSubstr("plan.json: /")) << text;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace foretoken::tools
