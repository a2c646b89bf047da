// Tests scenarios with a schedule of their own: paths, rows, complaints, and the rules about its shape.
#include "sim/io/import/read_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sim/io/json/test_text.h"
#include "sim/io/scenario/inline_files.h"
#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kDual = FORETOKEN_SOURCE_DIR "/sim/schedule/testdata/pytorch/dualpipev_4rank_10mb.csv";

json with_schedule(const json& schedule) {
  json value = json::parse(R"({"model": "llama-3-8b", "cluster": "dgx-h100-ndr", "gpus": 8,
                               "parallelism": {"tensor": 1, "pipeline": 4, "virtual_pipeline": 2},
                               "batch": {"micro": 1, "global": 20, "sequence_length": 4096}})");
  value["schedule"] = schedule;
  return value;
}

std::string complaints_of_schedule(const json& schedule, const std::vector<std::string>& sets = {}) {
  return thrown_by([&] { (void)read_scenario_text(with_schedule(schedule).dump(), "t.json", sets); });
}

class Folder {
 public:
  Folder() { fs::create_directories(path_); }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] fs::path put(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST(ReadSchedule, AFileBecomesTheScheduleOfTheJob) {
  const job::Made made = read_scenario_text(with_schedule({{"file", kDual}}).dump(), "t.json");
  EXPECT_EQ(made.job.schedule.name, "dualpipev_4rank_10mb.csv");
  EXPECT_EQ(job::placement_of(made.job), schedule::Placement::v_shaped(4));
  EXPECT_EQ(made.job.schedule.build(job::pipeline_shape(made.job)).stages[Stage{3}].size(), 44U);
  EXPECT_THAT(made.notes.assumptions, Contains(HasSubstr("41 OVERLAP_F_B: both passes run as a pair")));
}

TEST(ReadSchedule, APathIsRelativeToItsScenario) {
  const Folder folder;
  fs::create_directories(folder.path() / "in");
  fs::copy_file(kDual, folder.path() / "in/own.csv");
  const fs::path file = folder.put("s.json", with_schedule({{"file", "in/own.csv"}}).dump());
  EXPECT_EQ(read_scenario_file(file).job.schedule.name, "own.csv");
  const fs::path other = folder.put("deep/t.json", R"({"base": "../s.json"})");
  EXPECT_EQ(read_scenario_file(other).job.schedule.name, "own.csv") << "a base has its own folder";
  const auto files = paths_of(files_of_scenario(file));
  EXPECT_THAT(files, Contains(folder.path() / "in/own.csv"));
}

TEST(ReadSchedule, AnOverrideTakesThePlaceOfAName) {
  const std::string named = with_schedule("interleaved-1f1b").dump();
  const std::string set = std::string("schedule.file=") + kDual;
  EXPECT_EQ(read_scenario_text(named, "t.json", std::vector{set}).job.schedule.name, "dualpipev_4rank_10mb.csv");
  const std::string object = std::string(R"(schedule={"file": ")") + kDual + "\"}";
  EXPECT_EQ(read_scenario_text(named, "t.json", std::vector{object}).job.schedule.name, "dualpipev_4rank_10mb.csv");
}

TEST(ReadSchedule, RowsStandForAFileEverywhere) {
  const Folder folder;
  fs::copy_file(kDual, folder.path() / "own.csv");
  json inlined = with_schedule({{"file", "own.csv"}});
  inline_files(inlined, folder.path());
  EXPECT_EQ(inlined["schedule"]["name"], "own.csv");
  EXPECT_EQ(inlined["schedule"]["rows"].size(), 4U);
  const job::Job job = read_scenario_text(inlined.dump(), "t.json").job;
  const job::Job of_file = read_scenario_text(with_schedule({{"file", kDual}}).dump(), "t.json").job;
  const schedule::PipelineShape shape = job::pipeline_shape(job);
  EXPECT_EQ(job.schedule.name, "own.csv");
  EXPECT_EQ(job.schedule.build(shape), of_file.schedule.build(shape));

  inlined["schedule"]["name"] = "1f1b";
  EXPECT_EQ(read_scenario_text(inlined.dump(), "t.json").job.schedule.name, "1f1b (file)");

  json missing = with_schedule({{"file", "none.csv"}});
  inline_files(missing, folder.path());
  EXPECT_EQ(missing["schedule"], (json{{"file", "none.csv"}})) << "stays a reference";
}

TEST(ReadSchedule, ComplaintsNameTheCell) {
  const Folder folder;
  const std::string broken = folder.put("broken.csv", "0F0,0B0\n1F0,1X0\n").string();
  EXPECT_THAT(complaints_of_schedule({{"file", broken}}),
              testing::StartsWith(broken + ":2:2: expected F, B, I, W, UNSHARD"));
  EXPECT_EQ(complaints_of_schedule({{"rows", {"0F0,0B0", "1F0"}}}),
            "t.json: /schedule/rows/1: column 2: expected 1B0 somewhere in this row, as stage 1 meets micro-batches 0 "
            "to 0, found none; try to add 1B0\n");
  EXPECT_EQ(complaints_of_schedule({{"rows", {"0F0,0B0", 7}}}),
            "t.json: /schedule/rows/1: expected the actions of one rank, like \"0F0,0B0\", found 7\n");
  EXPECT_EQ(complaints_of_schedule({{"rows", {"0F0\n0B0"}}}),
            "t.json: /schedule/rows/0: expected one row, found several lines; try an array\n");
  EXPECT_EQ(complaints_of_schedule({{"file", folder.path().string()}}),
            folder.path().string() + ": expected a CSV file of a schedule, found a directory or device\n");
  EXPECT_EQ(complaints_of_schedule({{"file", "none.csv"}}), "none.csv: no such file\n");
  EXPECT_EQ(complaints_of_schedule({{"file", 7}}),
            "t.json: /schedule/file: expected the path of a CSV file, found 7\n");
  EXPECT_EQ(complaints_of_schedule(json::object()),
            "t.json: /schedule/file: missing; expected the path of a CSV file\n");
  EXPECT_EQ(
      complaints_of_schedule({{"file", kDual}, {"name", "own"}}),
      "t.json: /schedule/name: expected only with rows; try {\"file\": \"schedule.csv\"}, or the name of a schedule\n");
  EXPECT_EQ(complaints_of_schedule({{"file", kDual}, {"rows", {"0F0,0B0"}}}),
            "t.json: /schedule/file: expected a file or rows, found both; try rows null\n");
  EXPECT_EQ(complaints_of_schedule(7),
            "t.json: /schedule: expected the name of a schedule, {\"file\": PATH}, or {\"search\": true}, found 7\n");
  EXPECT_THAT(complaints_of_schedule("my.csv"),
              HasSubstr("unknown schedule \"my.csv\"; for a file write {\"file\": PATH}"));
}

TEST(ReadSchedule, TheShapeIsTheFiles) {
  const json own = {{"file", kDual}};
  EXPECT_EQ(
      complaints_of_schedule(own, {"parallelism.virtual_pipeline=1"}),
      "t.json: /schedule: \"dualpipev_4rank_10mb.csv\" has 4 rows of 2 stages each: expected parallelism.pipeline "
      "4 and parallelism.virtual_pipeline 2, found 4 and 1; try parallelism.pipeline 4 and "
      "parallelism.virtual_pipeline 2\n");
  EXPECT_EQ(complaints_of_schedule(own, {"batch.global=24"}),
            "t.json: /schedule: dualpipev_4rank_10mb.csv: expected 10 micro-batches, as in the file, found 12; try "
            "batch.global 20\n");
  EXPECT_EQ(complaints_of_schedule(own, {"batch.microbatch_group=4"}),
            "t.json: /schedule: dualpipev_4rank_10mb.csv: expected no micro-batch group, as the file states the order, "
            "found 4; try batch.microbatch_group null\n");
}

}  // namespace
}  // namespace foretoken::io
