// Tests schedules in PyTorch's CSV format from outside: written, checked, refused with one line, and simulated.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sim/schedule/catalogue.h"
#include "sim/schedule/csv/broken_csv.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kPublished = FORETOKEN_SOURCE_DIR "/sim/schedule/testdata/pytorch/";

// Returns a scenario of that pipeline with eight GPUs.
std::string scenario(int stages, int chunks, int microbatches, const std::string& schedule) {
  const json value = {{"name", "own"},
                      {"model", "llama-2-7b"},
                      {"cluster", "dgx-a100-80gb-hdr"},
                      {"gpus", 8},
                      {"parallelism", {{"pipeline", stages}, {"virtual_pipeline", chunks}}},
                      {"schedule", {{"file", schedule}}},
                      {"batch", {{"micro", 1}, {"global", microbatches * 8 / stages}, {"sequence_length", 2048}}}};
  return value.dump();
}

TEST(ScheduleFile, EveryScheduleIsWrittenAndChecked) {
  const TemporaryFolder folder;
  const std::string file = folder.file("s.csv");
  for (const schedule::Schedule& each : schedule::all_schedules()) {
    SCOPED_TRACE(each.name);
    std::vector<std::string> show = {"schedule", "show", each.name, "--stages", "4", "--microbatches", "8"};
    if (each.interleaves) show.insert(show.end(), {"--chunks", "2"});
    const Ran shown = run_foretoken(show);
    if (shown.status != 0) continue;  // a schedule of other shapes
    show.insert(show.end(), {"--csv", file});
    if (each.copies > 1 || each.moves_activations) {
      EXPECT_THAT(run_foretoken(show).err, HasSubstr("--csv: PyTorch's CSV has "));
      continue;
    }
    ASSERT_EQ(run_foretoken(show).status, 0);
    const Ran checked = run_foretoken({"schedule", "check", file});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_THAT(checked.out, StartsWith("valid: 4 stages, 8 micro-batches"));
  }
}

TEST(ScheduleFile, PublishedFilesRunAsTheyAre) {
  struct Case {
    const char* file;
    int stages, microbatches;
    const char* remark;
  };
  const TemporaryFolder folder;
  for (const auto& [file, stages, microbatches, remark] :
       {Case{"zb1p_2rank_2stagep_comms.csv", 2, 8, "letters of 2024"},
        Case{"zb1p_2rank_2stagep_compute.csv", 2, 8, "2 idle cells: ignored"},
        Case{"torchtitan_example.csv", 2, 4, "6 UNSHARD and RESHARD"},
        Case{"dualpipev_4rank_10mb.csv", 4, 10, "41 OVERLAP_F_B"}}) {
    SCOPED_TRACE(file);
    const Ran checked = run_foretoken({"schedule", "check", std::string(kPublished) + file});
    EXPECT_EQ(checked.status, 0) << checked.err;
    EXPECT_THAT(checked.out, HasSubstr(remark));
    const std::string own = folder.put("s.json", scenario(stages, 2, microbatches, std::string(kPublished) + file));
    const Ran ran = run_foretoken({"simulate", own, "--json"});
    ASSERT_EQ(ran.status, 0) << ran.err;
    const json answer = json::parse(ran.out);
    EXPECT_EQ(answer.at("schedule"), file);
    EXPECT_THAT(answer.at("assumptions").get<std::vector<std::string>>(), Contains(HasSubstr(remark)));
    EXPECT_GT(answer.at("bubble_fraction").get<double>(), 0);
    EXPECT_LT(answer.at("bubble_fraction").get<double>(), (stages - 1.0) / microbatches) << "less than that of 1F1B";
  }
}

TEST(ScheduleFile, EveryMistakeIsOneLineWithRowAndColumn) {
  const TemporaryFolder folder;
  const std::string own = folder.put("s.json", scenario(2, 1, 2, "broken.csv"));
  for (const schedule::BrokenCsv& broken : schedule::kBrokenCsvs) {
    SCOPED_TRACE(broken.what);
    const std::string file = folder.put("broken.csv", broken.text);
    const std::string place = fmt::format("{}:{}:{}: expected ", file, broken.row, broken.column);
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"schedule", "check", file}, {"simulate", own}}) {
      const Ran ran = run_foretoken(arguments);
      EXPECT_EQ(ran.status, 2);
      EXPECT_EQ(ran.out, "");
      EXPECT_THAT(ran.err, StartsWith(place));
      EXPECT_THAT(ran.err, HasSubstr(broken.complaint));
      EXPECT_EQ(lines_of(ran.err).size(), 1U) << ran.err;
    }
  }
}

TEST(ScheduleFile, ASearchWritesAScenarioThatNeedsNoFile) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(std::string(kPublished) + "dualpipev_4rank_10mb.csv", folder.file("own.csv"));
  const std::string own = folder.put("s.json", scenario(4, 2, 10, "own.csv"));
  const std::string best = folder.file("best.json");
  const Ran ran = run_foretoken({"search", own, "--free", "recompute", "--write", best, "--json", "--top", "1"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const json answer = json::parse(ran.out);
  EXPECT_EQ(answer["ranked"][0]["schedule"], "own.csv");
  std::filesystem::remove(folder.file("own.csv"));
  const Ran again = run_foretoken({"simulate", best, "--json"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(json::parse(again.out)["step_time_s"], answer["ranked"][0]["step_time_s"]);
}

TEST(ScheduleFile, OtherCommandsTakeIt) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(std::string(kPublished) + "dualpipev_4rank_10mb.csv", folder.file("own.csv"));
  const std::string own = folder.put("s.json", scenario(4, 2, 10, "own.csv"));
  const json compared = json::parse(run_foretoken({"compare", own, "--json"}).out);
  bool found = false;
  for (const json& row : compared["schedules"])
    if (row["schedule"] == "own.csv") found = row["impossible"].is_null() && row["is_own"] == true;
  EXPECT_TRUE(found) << compared.dump();
  EXPECT_THAT(run_foretoken({"explain", own}).out, HasSubstr("schedule own.csv"));
  EXPECT_EQ(run_foretoken({"report", own, "-o", folder.file("r.html")}).status, 0);
  EXPECT_THAT(contents(folder.file("r.html")), HasSubstr("own.csv"));
}

TEST(ScheduleFile, WrongUses) {
  const TemporaryFolder folder;
  const std::string csv = folder.put("s.csv", "0F0,0B0\n");
  const std::vector<std::string> show = {"schedule", "show", "1f1b", "--stages", "2", "--microbatches", "2", "--csv"};
  std::vector<std::string> nowhere = show;
  nowhere.push_back(folder.file("none/s.csv"));
  for (const Wrong& wrong : {Wrong{"placement", {"schedule", "check", csv, "--placement", "v"}, "rows of a CSV place"},
                             Wrong{"header", {"schedule", "check", folder.put("h.csv", "rank\n")}, "h.csv:1:1: "},
                             Wrong{"no folder", nowhere, "none/s.csv"}})
    expect_refused(wrong);
}

}  // namespace
}  // namespace foretoken::tools
