// Tests the import of nccl-tests' text and JSON: published tables come out unchanged, broken files are refused by line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "calibration/import/import.h"
#include "calibration/import/nccl/nccl_tests_json.h"
#include "calibration/import/sample_lines.h"
#include "sim/base/error.h"

namespace foretoken::measured {
namespace {

using ::testing::HasSubstr;

std::string testdata(const std::string& name) {
  return std::string(FORETOKEN_SOURCE_DIR) + "/calibration/import/testdata/" + name;
}

std::string text_of(const std::string& name) {
  std::ifstream in(testdata(name));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

std::string complaint_of(const std::string& text, const std::string& file = "run.txt",
                         const NcclTestsHints& hints = {}) {
  try {
    (void)parse_nccl_tests_text(text, file, hints);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(NcclTestsText, PublishedTablesComeOutAsTheyWentIn) {
  const nlohmann::json expected = nlohmann::json::parse(text_of("five_runs.expected.json"));
  const Samples samples = import_nccl_tests({testdata("five_runs.txt")});
  ASSERT_EQ(samples.origins.size(), expected.size());
  std::vector<std::size_t> next(expected.size(), 0);
  for (const auto& sample : samples.collectives) {
    const auto& table = expected.at(sample.origin);
    EXPECT_EQ(samples.origins[sample.origin].gpu, table.at("gpu"));
    if (sample.in_place != table.at("in_place").get<bool>()) continue;
    const auto& row = table.at("rows").at(next[sample.origin]++);
    EXPECT_EQ(name_of(sample.kind), table.at("collective").get<std::string>());
    EXPECT_EQ(sample.group.ranks, table.at("ranks"));
    EXPECT_EQ(sample.group.nodes, table.at("nodes"));
    EXPECT_EQ(sample.time.runs, 20) << "iters";
    EXPECT_EQ(sample.bytes.value(), row.at(0).get<double>());
    EXPECT_NEAR(sample.time.median.value() * 1e6, row.at(1).get<double>(), 1e-6 * row.at(1).get<double>());
  }
  for (std::size_t i = 0; i < next.size(); ++i) EXPECT_EQ(next[i], expected.at(i).at("rows").size());
  EXPECT_TRUE(samples.notes.empty());
}

TEST(NcclTestsText, SamplesSurviveWritingAndReading) {
  const Samples samples = import_nccl_tests({testdata("five_runs.txt")});
  const std::string lines = write_lines(samples);
  const Samples again = read_lines(lines, "samples.jsonl");
  EXPECT_EQ(again.origins, samples.origins);
  EXPECT_EQ(again.collectives.size(), samples.collectives.size());
  EXPECT_EQ(write_lines(again), lines);
}

TEST(NcclTestsText, OldFormatNamesItsCollectiveInTheCommandLine) {
  const Samples samples = import_nccl_tests({testdata("old_all_reduce.txt")});
  ASSERT_EQ(samples.collectives.size(), 6U);
  EXPECT_EQ(samples.collectives[0].kind, Collective::kAllReduce);
  EXPECT_EQ(samples.collectives[0].group.ranks, 2);
  EXPECT_EQ(samples.collectives[5].bytes.value(), 33554432);
  EXPECT_TRUE(samples.collectives[5].in_place);
  EXPECT_DOUBLE_EQ(samples.collectives[5].time.median.value(), 810.90e-6);
  EXPECT_EQ(samples.origins[0].gpu, "Tesla V100-SXM2-32GB");
}

TEST(NcclTestsText, LaunchersPrefixesAndLogLinesAreSkipped) {
  std::istringstream plain(text_of("five_runs.txt"));
  std::string tagged, labelled, line;
  while (std::getline(plain, line)) {
    tagged += "[1,0]<stdout>:" + line + "\n";
    labelled += "0: " + line + "\nnode0:123:456 [0] NCCL INFO Using network IB\n";
  }
  const std::size_t count = import_nccl_tests({testdata("five_runs.txt")}).collectives.size();
  EXPECT_EQ(parse_nccl_tests_text(tagged, "x").collectives.size(), count);
  EXPECT_EQ(parse_nccl_tests_text(labelled, "x").collectives.size(), count);
}

TEST(NcclTestsText, AProgramVersionWithoutANumberIsRead) {
  const std::string text = text_of("old_all_reduce.txt");
  EXPECT_EQ(parse_nccl_tests_text("# nccl-tests version\n" + text, "x").collectives.size(),
            parse_nccl_tests_text(text, "x").collectives.size());
}

TEST(NcclTestsText, SplitCommunicatorsAreGroups) {
  std::string text = text_of("old_all_reduce.txt");
  text = replaced(text, "Rank  0 Pid", "Rank  0 Group  0 Pid");
  text = replaced(text, "Rank  1 Pid", "Rank  1 Group  1 Pid");
  for (const char* bus : {"6.79", "6.89", "41.30", "41.38"}) {
    const std::size_t first = text.find(bus);
    text.replace(text.find(bus, first + 1), std::string(bus).size(), "0.00");  // one rank moves nothing
  }
  const Samples samples = parse_nccl_tests_text(text, "x");
  EXPECT_EQ(samples.collectives[0].group.ranks, 1);
  EXPECT_EQ(samples.collectives[0].group.groups_per_node, 2);
}

TEST(NcclTestsText, EmptyReductionColumnIsRead) {
  std::string text = text_of("old_all_reduce.txt");
  text = replaced(text, "redop     time", "redop root time");
  for (int i = 0; i < 3; ++i) text = replaced(text, "float     sum ", "float       -1");
  EXPECT_EQ(parse_nccl_tests_text(text, "x").collectives.size(), 6U);
}

TEST(NcclTestsText, RunWithoutFooterIsReadWithANote) {
  std::string text = text_of("old_all_reduce.txt");
  text.resize(text.find("# Out of bounds"));
  const Samples samples = parse_nccl_tests_text(text, "x");
  EXPECT_EQ(samples.collectives.size(), 6U);
  ASSERT_EQ(samples.notes.size(), 1U);
  EXPECT_THAT(samples.notes[0], HasSubstr("x:9: the table has no footer"));
}

TEST(NcclTestsText, OnlyInPlaceRowsAreRead) {
  std::string text = text_of("old_all_reduce.txt");
  text = replaced(text, "    11.20    0.00    0.00  0e+00", std::string(36, ' '));
  const Samples samples = parse_nccl_tests_text(text, "x");
  ASSERT_EQ(samples.collectives.size(), 5U);
  EXPECT_TRUE(samples.collectives[0].in_place);
  EXPECT_DOUBLE_EQ(samples.collectives[0].time.median.value(), 11.10e-6);
}

struct BrokenCase {
  const char* name;
  const char *what, *with;
  const char* complaint;
};
constexpr BrokenCase kBroken[] = {
    {"a cut row", "   41.38  0e+00\n", "   41.\n",
     "run.txt:13: expected a row of 12 columns as in the header, found 11"},
    {"letters in a number", "812.40", "81x.40", "run.txt:13: time: expected a number, found \"81x.40\""},
    {"a broken size", "      131072     32768", "      13I072     32768",
     "run.txt:12: size: expected a number of bytes"},
    {"a negative time", "812.40", "-12.40", "run.txt:13: time -12.4 us is not above 0"},
    {"a rate that is not size over time", "812.40   41.30", "812.40   71.30",
     "run.txt:13: 33554432 bytes in 812.4 us are 41.30 GB/s, but algbw says 71.3"},
    {"a bus rate of another collective", "812.40   41.30   41.30", "812.40   41.30   20.65",
     "run.txt:13: busbw of all_reduce over 2 ranks would be 41.30 GB/s, found 20.65"},
    {"text inside the table", "    33554432   8388608", "Segmentation fault 8388608",
     "run.txt:13: expected a row of 12 columns"},
    {"a cut device line", "[0x07] Tesla V100-SXM2-32GB", "[0x",
     "run.txt:5: expected \"Rank N ... on HOST device N [BUS] GPU\"; the line seems cut"},
    {"CPU times", "redop     time", "redop  cputime", "run.txt:9: these are CPU times"},
    {"failed results", "values : 0 OK", "values : 3 FAILED", "run.txt:14: \"Out of bounds values : 3 FAILED\""},
    {"no header", "#       size", "#       sice", "run.txt: no table of nccl-tests found"},
};

TEST(NcclTestsText, BrokenFilesAreRefusedByLine) {
  for (const BrokenCase& broken : kBroken) {
    SCOPED_TRACE(broken.name);
    EXPECT_THAT(complaint_of(replaced(text_of("old_all_reduce.txt"), broken.what, broken.with)),
                HasSubstr(broken.complaint));
  }
}

TEST(NcclTestsText, EveryCutIsEitherWholeRowsOrRefused) {
  const std::string text = text_of("old_all_reduce.txt");
  const std::size_t rows = text.find("0e+00\n"), footer = text.find("# Out of bounds");
  for (std::size_t length = 0; length < footer; ++length) {
    SCOPED_TRACE(length);
    const std::string cut = text.substr(0, length);
    const std::size_t last_word = cut.find_last_not_of(' ');
    const bool whole_rows = length > rows && (text[length] == '\n' || cut[last_word] == '\n');
    if (complaint_of(cut).empty()) {
      // A cut inside the last number ("0e+00" to "0") leaves an equal row.
      const std::size_t last = cut.find_last_of(" \n");
      EXPECT_TRUE(whole_rows || text.find('\n', last + 1) < last + 8) << cut;
    } else {
      EXPECT_FALSE(whole_rows);
    }
  }
}

TEST(NcclTestsText, WrongValuesAreRefused) {
  std::string text = text_of("five_runs.txt");
  const std::size_t row = text.find("float    none      -1");
  const std::size_t zero = text.find("       0  ", row);
  text.replace(zero, 8, "       7");
  EXPECT_THAT(complaint_of(text), HasSubstr("#wrong: 7 wrong values"));
}

TEST(NcclTestsText, FactsThatTheFileLeavesOutMustBeGiven) {
  std::string text = text_of("old_all_reduce.txt");
  text.erase(0, text.find('\n') + 1);  // the command
  EXPECT_THAT(complaint_of(text), HasSubstr("the file does not name its collective"));
  EXPECT_EQ(complaint_of(text, "all_reduce_v100.txt"), "");
  EXPECT_EQ(
      complaint_of(text, "x", {.collective = Collective::kAllReduce, .ranks = {}, .ranks_per_node = {}, .gpu = {}}),
      "");
  const std::size_t devices = text.find("#   Rank  0");
  text.erase(devices, text.find("#\n", devices) - devices);
  EXPECT_THAT(complaint_of(text, "all_reduce.txt"), HasSubstr("give the number of ranks"));
  NcclTestsHints hints{.collective = {}, .ranks = 2, .ranks_per_node = 1, .gpu = "V100"};
  const Samples samples = parse_nccl_tests_text(text, "all_reduce.txt", hints);
  EXPECT_EQ(samples.collectives[0].group.nodes, 2);
  EXPECT_EQ(samples.origins[0].gpu, "V100");
}

TEST(NcclTestsJson, IsReadWithoutSecrets) {
  const Samples samples = import_nccl_tests({testdata("reduce_scatter.json")});
  ASSERT_EQ(samples.collectives.size(), 4U);
  EXPECT_EQ(samples.collectives[3].kind, Collective::kReduceScatter);
  EXPECT_TRUE(samples.collectives[3].in_place);
  EXPECT_DOUBLE_EQ(samples.collectives[3].time.median.value(), 40.96e-6);
  EXPECT_EQ(samples.collectives[3].group.ranks, 2);
  EXPECT_EQ(samples.collectives[3].time.runs, 20);
  const std::string lines = write_lines(samples);
  EXPECT_THAT(lines, HasSubstr("NCCL_ALGO=RING"));
  EXPECT_EQ(lines.find("SECRET"), std::string::npos);
}

TEST(NcclTestsJson, BrokenFilesAreRefused) {
  const std::string whole = text_of("reduce_scatter.json");
  const auto complaint = [](const std::string& text) -> std::string {
    try {
      (void)parse_nccl_tests_json(text, "r.json");
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint(whole), "");
  EXPECT_THAT(complaint(whole.substr(0, whole.size() / 2)), HasSubstr("r.json: cut short or broken"));
  EXPECT_THAT(complaint(replaced(whole, "\"time\":40.000000", "\"time\":\"nan\"")),
              HasSubstr("r.json: /results/1/out_of_place/time: expected a number"));
  EXPECT_THAT(complaint(replaced(whole, "\"okay\":\"true\"", "\"okay\":\"false\"")), HasSubstr("results are wrong"));
  EXPECT_THAT(complaint(replaced(whole, "\"bus_bw\":26.214400", "\"bus_bw\":52.428800")),
              HasSubstr("busbw of reduce_scatter over 2 ranks would be 26.21 GB/s, found 52.4288"));
  EXPECT_THAT(complaint("[]"), HasSubstr("expected an object"));
}

}  // namespace
}  // namespace foretoken::measured
