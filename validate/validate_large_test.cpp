// Tests every published case again: no set is worse than its bound, and the page in docs/ has the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "sim/base/error.h"
#include "sim/base/test_sanitized.h"
#include "sim/io/scenario/read_residuals.h"
#include "validate/validate.h"

namespace foretoken::validate {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

// The release build runs every row.
constexpr std::size_t kStride = kSanitized ? 20 : 1;

const Validation& everything() {
  static const Validation validation = run_validation({}, kStride);
  return validation;
}

std::string shipped(const std::string& file) {
  std::ifstream in(FORETOKEN_SOURCE_DIR "/" + file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Validation, NoSetIsWorseThanItsBound) {
  EXPECT_THAT(everything().broken, testing::IsEmpty());
  EXPECT_GE(everything().sets.size(), 10U);
}

TEST(Validation, ThePageInDocsIsUpToDate) {
  if (kStride > 1) GTEST_SKIP() << "the page is of all rows";
  for (const auto& [file, text] : as_pages(everything()))
    EXPECT_EQ(shipped(file), text) << "run: foretoken validate --write-docs";
}

TEST(Validation, NineInTenRowsLieInIntervalsMadeWithoutThem) {
  if (kStride > 1) GTEST_SKIP() << "calibrated on all rows";
  ASSERT_TRUE(everything().intervals.has_value());
  const Coverage& all = everything().intervals->all;
  EXPECT_GE(all.rows, 700U);
  EXPECT_GE(static_cast<double>(all.without_publication), 0.85 * static_cast<double>(all.rows));
  EXPECT_LE(static_cast<double>(all.without_publication), 0.95 * static_cast<double>(all.rows));
  EXPECT_GE(static_cast<double>(all.without_copies), 0.75 * static_cast<double>(all.rows));
  for (const auto& [name, one] : everything().intervals->publications)
    EXPECT_TRUE(one.rows < 15 || one.part(static_cast<double>(one.without_publication)) >= 0.75) << name;
}

TEST(Validation, HeadlinesOfUnseenPublicationsAreNoWorseThanSimulations) {
  if (kStride > 1) GTEST_SKIP() << "calibrated on all rows";
  double simulated = 0, headline = 0;
  for (const auto& [name, one] : everything().intervals->publications) {
    const double rows = std::min(20.0, static_cast<double>(one.rows));
    simulated += rows * std::pow(one.part(one.simulated_error), 2);
    headline += rows * std::pow(one.part(one.headline_error), 2);
  }
  EXPECT_LE(headline, simulated);
}

// The headline is a median: about half of the rows took longer.
TEST(Validation, TheHeadlineIsTheMiddleOfEveryLargeSet) {
  if (kStride > 1) GTEST_SKIP() << "needs all rows";
  int large = 0;
  for (const SetResult& result : everything().sets) {
    for (const QuantityErrors& errors : result.errors) {
      if (errors.quantity != Quantity::kStepTime || errors.all.count < 15) continue;
      ++large;
      EXPECT_NEAR(errors.all.middle, 0, 0.02) << result.set.name;
    }
  }
  // By publication the means hold, too.
  for (const auto& [name, one] : everything().intervals->publications) {
    if (one.rows < 15) continue;
    EXPECT_NEAR(one.part(one.headline_error), 0, 0.02) << name;
  }
  EXPECT_GE(large, 8);
}

TEST(Validation, SimulateReadsTheResidualsThatWereWritten) {
  if (kStride > 1) GTEST_SKIP() << "calibrated on all rows";
  const trust::Evidence read = io::read_shipped_residuals(), made = everything().intervals->evidence;
  ASSERT_EQ(read.cases.size(), made.cases.size());
  EXPECT_EQ(read.growth, made.growth);
  EXPECT_EQ(read.doubt, made.doubt);
  for (std::size_t c = 0; c < made.cases.size(); ++c) {
    EXPECT_THAT(read.cases[c].log_ratio, DoubleNear(made.cases[c].log_ratio, 1e-4));
    EXPECT_EQ(read.cases[c].place.runtime, made.cases[c].place.runtime);
    EXPECT_LT(made.weights.distance(trust::steps_between(read.cases[c].place, made.cases[c].place)), 1e-3);
  }
}

TEST(Validation, TwoRunsWriteTheSame) {
  const std::vector<std::string> sets{"mt-nlg", "simumax-b200"};
  EXPECT_EQ(as_json(run_validation(sets)), as_json(run_validation(sets)));
}

TEST(Validation, TextStaysWithinItsColumnsAndNamesEverySet) {
  for (const std::size_t columns : {80U, 100U}) {
    const std::string text = as_text(everything(), 2, report::Paint(false, columns));
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), columns) << line;
    for (const std::string& name : case_set_names()) EXPECT_THAT(text, HasSubstr(name));
  }
}

TEST(Validation, JsonAndCsvHoldEveryComparison) {
  const nlohmann::json json = nlohmann::json::parse(as_json(everything()));
  std::size_t values = 0;
  for (const auto& set : json.at("sets"))
    for (const auto& one : set.at("cases")) values += one.at("values").size();
  const std::string csv = as_csv(everything());
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), values + 1);
}

TEST(Validation, TheHtmlPageNeedsNothingElseAndHoldsEveryComparison) {
  const std::string html = as_html(everything()), csv = as_csv(everything());
  EXPECT_THAT(html, testing::StartsWith("<!doctype html>"));
  for (const char* elsewhere : {"<link", "src=", "@import", "url(", "https://cdn"})
    EXPECT_THAT(html, testing::Not(HasSubstr(elsewhere)));
  const std::string rows =
      html.substr(html.find("<table id=\"rows\">"), html.find("<h2>Sources") - html.find("<table id=\"rows\">"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), std::count(csv.begin(), csv.end(), '\n') + 1);
  for (const char* open : {"<table", "<svg", "<td", "<div", "<tr"}) {
    const std::string close = std::string("</") + (open + 1);
    std::size_t opened = 0, closed = 0;
    for (std::size_t at = html.find(open); at != html.npos; at = html.find(open, at + 1)) ++opened;
    for (std::size_t at = html.find(close); at != html.npos; at = html.find(close, at + 1)) ++closed;
    EXPECT_EQ(opened, closed) << open;
  }
  for (const std::string& name : case_set_names()) EXPECT_THAT(html, HasSubstr("<h3>" + name));
}

TEST(Validation, EveryRowHasASourceAndAQuality) {
  for (const SetResult& result : everything().sets) {
    EXPECT_GT(result.set.source.size(), 10U) << result.set.name;
    for (const CaseResult& one : result.cases)
      EXPECT_THAT(one.row.quality, testing::AnyOf("A", "B")) << result.set.name << " " << one.row.id;
  }
}

TEST(Bounds, WorseResultsAreNamed) {
  SetResult result;
  result.set.name = "s";
  result.errors = {{Quantity::kStepTime, {.count = 2, .mean = 0.04, .worst = 0.09}, {}}};
  result.ranking = {.pairs = 12, .tau = 0.5, .models = {}, .lowest_model = {}};
  result.false_out_of_memory = 1;
  const Bounds wide{
      {"s", {.errors = {{Quantity::kStepTime, {.mean = 0.05, .worst = 0.1}}}, .tau = 0.4, .false_out_of_memory = 1}}};
  EXPECT_THAT(broken_bounds(result, wide), testing::IsEmpty());
  const Bounds narrow{{"s", {.errors = {{Quantity::kStepTime, {.mean = 0.03, .worst = 0.08}}}, .tau = 0.6}}};
  EXPECT_THAT(broken_bounds(result, narrow),
              testing::ElementsAre("s: mean error of the step time is 4.00 %, at most 3.00 % is allowed",
                                   "s: worst error of the step time is 9.00 %, at most 8.00 % is allowed",
                                   "s: Kendall's tau is 0.500, at least 0.600 is required",
                                   "s: 1 row that ran is predicted to run out of memory, at most 0 allowed"));
  EXPECT_THAT(broken_bounds(result, {}), testing::ElementsAre("s: no bounds"));
}

TEST(Statistics, SpreadOfAHandfulOfErrors) {
  const Spread spread = spread_of({0.01, -0.02, 0.03, -0.04});
  EXPECT_EQ(spread.count, 4U);
  EXPECT_THAT(spread.mean, DoubleNear(0.025, 1e-12));
  EXPECT_THAT(spread.median, DoubleNear(0.025, 1e-12));
  EXPECT_THAT(spread.p90, DoubleNear(0.04, 1e-12));
  EXPECT_THAT(spread.worst, DoubleNear(0.04, 1e-12));
  EXPECT_THAT(spread.bias, DoubleNear(-0.005, 1e-12));
  EXPECT_THAT(spread.middle, DoubleNear(-0.005, 1e-12));
  EXPECT_EQ(spread_of({}).count, 0U);
  EXPECT_THAT(spread_of({0.3, 0.1, -0.2}).median, DoubleNear(0.2, 1e-12));
  EXPECT_THAT(spread_of({0.3, 0.1, -0.2}).middle, DoubleNear(0.1, 1e-12));
}

TEST(Statistics, TauCountsPairsOfOneModelThatDiffer) {
  const Ranking ordered = rank({{"a", 1, 10}, {"a", 2, 20}, {"a", 3, 30}, {"b", 1, 5}});
  EXPECT_EQ(ordered.pairs, 3U);
  EXPECT_DOUBLE_EQ(ordered.tau, 1);
  EXPECT_DOUBLE_EQ(rank({{"a", 1, 3}, {"a", 2, 2}, {"a", 3, 1}}).tau, -1);
  EXPECT_EQ(rank({{"a", 1, 1}, {"a", 1.009, 2}}).pairs, 0U) << "less than 1 % apart";
  EXPECT_DOUBLE_EQ(rank({{"a", 1, 1}, {"a", 2, 3}, {"a", 3, 2}}).tau, 1.0 / 3);
  std::vector<Ranked> two;
  for (int i = 1; i <= 5; ++i) two.push_back({"good", 1.0 * i, 2.0 * i});
  for (int i = 1; i <= 5; ++i) two.push_back({"bad", 1.0 * i, -2.0 * i});
  EXPECT_EQ(rank(two).lowest_model, "bad");
  EXPECT_DOUBLE_EQ(rank(two).tau, 0);
  ASSERT_EQ(rank(two).models.size(), 2U);
  EXPECT_EQ(rank(two).models[0].model, "bad");
  EXPECT_DOUBLE_EQ(rank(two).models[0].tau, -1);
  EXPECT_EQ(rank(two).models[1].pairs, 10U);
}

TEST(CaseSets, WrongFilesAreComplainedAbout) {
  EXPECT_THROW((void)read_case_set("no-such-set"), ConfigError);
  const std::string file = testing::TempDir() + "/wrong.json";
  std::ofstream(file) << R"({"set": "s", "title": "t", "source": "x", "quality": "A", "base": {},
    "rows": [{"id": "a", "scenario": {}, "measured": {"step_time_s": -1}},
             {"id": "a", "scenario": {}, "measured": {}}]})";
  try {
    (void)read_case_set(file);
    FAIL() << "nothing was complained about";
  } catch (const ConfigError& error) {
    std::string all;
    for (const Complaint& complaint : error.complaints()) all += complaint.line() + "\n";
    EXPECT_THAT(all, HasSubstr("/rows/0/measured/step_time_s"));
    EXPECT_THAT(all, HasSubstr("expected either measured values or \"out_of_memory\": true"));
    EXPECT_THAT(all, HasSubstr("expected a new name, found \"a\" again"));
  }
}

TEST(CaseSets, ARowIsMergedOverTheBase) {
  const CaseSet set = read_case_set("sc21-table1");
  const auto scenario = nlohmann::json::parse(set.cases.back().scenario);
  EXPECT_EQ(scenario.at("parallelism").at("pipeline"), 64);
  EXPECT_EQ(scenario.at("batch").at("sequence_length"), 2048);
  EXPECT_EQ(scenario.at("runtime"), "megatron-2021");
}

TEST(CaseSets, ARowOfALaunchFileHasItsScenarioWithOverrides) {
  const CaseSet set = read_case_set("mpt-fsdp-a100");
  const auto scenario = nlohmann::json::parse(set.cases.front().scenario);
  EXPECT_EQ(scenario.at("batch"), (nlohmann::json{{"micro", 1}, {"global", 168}, {"sequence_length", 8192}}));
  EXPECT_EQ(scenario.at("model").at("num_layers"), 48);
  EXPECT_EQ(scenario.at("recompute").at("granularity"), "full");
  EXPECT_EQ(scenario.at("cluster"), "dgx-a100-80gb-hdr") << "a launch file names no machine";
}

TEST(CaseSets, AHundredRowsNameLaunchFiles) {
  int rows = 0;
  for (const std::string& name : case_set_names()) {
    std::ifstream file(FORETOKEN_SOURCE_DIR "/validate/cases/" + name + ".json");
    const auto set = nlohmann::json::parse(file);
    for (const auto& row : set.at("rows")) rows += row.contains("launch");
  }
  EXPECT_GE(rows, 100);
}

TEST(CaseSets, AWrongLaunchIsNamed) {
  const auto complaint = [](const char* launch) {
    const std::string file = testing::TempDir() + "/wrong_launch.json";
    std::ofstream(file) << R"({"set": "s", "title": "t", "source": "x", "quality": "A", "base": {},
      "rows": [{"id": "a", "scenario": {}, "measured": {"step_time_s": 1}, "launch": )"
                        << launch << "}]}";
    try {
      (void)read_case_set(file);
    } catch (const ConfigError& error) {
      return error.complaints().front().line();
    }
    return std::string();
  };
  EXPECT_THAT(complaint(R"({"file": "nowhere.yaml"})"), HasSubstr("nowhere.yaml"));
  const std::string known = FORETOKEN_SOURCE_DIR "/validate/cases/launch/mpt-7b.yaml";
  EXPECT_THAT(complaint((R"({"file": ")" + known + R"(", "overrides": ["4096"]})").c_str()), HasSubstr("behind --"));
  EXPECT_THAT(complaint((R"({"file": ")" + known + R"(", "overrides": ["model.attn_config.qk_ln=true"]})").c_str()),
              HasSubstr("/rows/0/launch/file: refused: model.attn_config.qk_ln"));
}

}  // namespace
}  // namespace foretoken::validate
