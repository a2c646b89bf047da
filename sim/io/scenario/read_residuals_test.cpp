// Tests the rows of residuals: values of the row before, empty texts, and one clear complaint for each wrong row.
#include "sim/io/scenario/read_residuals.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/io/json/document.h"

namespace foretoken::io {
namespace {

using testing::HasSubstr;

// Returns a file whose only group has these rows. Its cases differ in GPUs and in the kind of network.
std::string file_of(const std::string& rows) {
  return fmt::format(
      R"({{"switch": 1, "doubling": 0.1, "growth": 0.1, "doubt": null,
  "widths": [{{"level": 0.5, "half": 0.02}}, {{"level": 0.8, "half": 0.06}}, {{"level": 0.9, "half": 0.1}},
             {{"level": 0.95, "half": 0.15}}],
  "quantiles": [{{"part": 0.025, "error": -0.1}}, {{"part": 0.05, "error": -0.06}}, {{"part": 0.1, "error": -0.04}},
                {{"part": 0.25, "error": -0.02}}, {{"part": 0.5, "error": 0}}, {{"part": 0.75, "error": 0.02}},
                {{"part": 0.9, "error": 0.06}}, {{"part": 0.95, "error": 0.09}}, {{"part": 0.975, "error": 0.12}}],
  "keys": ["gpu", "board", "fabric", "gpus"],
  "groups": [{{"set": "s", "publication": "p", "weight": 0.5, "all": "a100|~|*|*", "rows": "{}"}}]}})",
      rows);
}

trust::Evidence evidence_of(const std::string& rows) {
  Findings findings;
  const auto document = document_from_text(file_of(rows), "residuals.json", findings);
  findings.throw_if_wrong();
  trust::Evidence evidence = read_residuals(document->root(findings));
  findings.throw_if_wrong();
  return evidence;
}

std::string complaint_about(const std::string& rows) {
  try {
    (void)evidence_of(rows);
  } catch (const ConfigError& error) {
    return error.complaints().size() == 1 ? error.complaints().front().line() : "several complaints";
  }
  return "no complaint";
}

TEST(Residuals, ARowStatesTheValuesThatDifferFromTheRowBefore) {
  const trust::Evidence evidence = evidence_of("fat-tree|8|-12;|16|340;~||0");
  ASSERT_EQ(evidence.cases.size(), 3);
  const char* const fabrics[] = {"fat-tree", "fat-tree", ""};
  const double gpus[] = {8, 16, 16}, ratios[] = {-0.0012, 0.034, 0};
  for (std::size_t c = 0; c < 3; ++c) {
    const trust::Case& one = evidence.cases[c];
    EXPECT_EQ(one.place.gpu.text(), "a100");
    EXPECT_EQ(one.place.board.text(), "");
    EXPECT_EQ(one.place.fabric.text(), fabrics[c]);
    EXPECT_EQ(one.place.gpus, gpus[c]);
    EXPECT_EQ(one.log_ratio, ratios[c]);
    EXPECT_EQ(one.weight, 0.5);
  }
}

TEST(Residuals, AWrongRowIsNamedByItsNumber) {
  struct WrongRow {
    const char* name;
    const char* rows;
    int row;
  };
  constexpr WrongRow kRows[] = {{"no row", "", 1},
                                {"the first row lacks a value", "|8|1", 1},
                                {"too few values", "fat-tree|8|1;16|1", 2},
                                {"too many values", "fat-tree|8|1;|16|1|1", 2},
                                {"a value after the number", "fat-tree|8|1|", 1},
                                {"an empty row at the end", "fat-tree|8|1;", 2},
                                {"no GPUs", "fat-tree|0|1", 1},
                                {"no number of GPUs", "fat-tree|8|1;|many|1", 2},
                                {"a logarithm that is no whole number", "fat-tree|8|1;|16|0.5", 2},
                                {"a logarithm without bound", "fat-tree|8|100001", 1},
                                {"an empty row between two", "fat-tree|8|1;;|16|1", 2}};
  for (const auto& [name, rows, row] : kRows) {
    SCOPED_TRACE(name);
    EXPECT_THAT(complaint_about(rows), HasSubstr(fmt::format("/groups/0/rows: row {}: expected 3 values", row)));
  }
}

TEST(Residuals, OldFilesAreRefusedWithTheCommandThatWritesThemAnew) {
  const std::string file = file_of("fat-tree|8|1");
  const auto complaints = [&](const std::string& now, const std::string& old) {
    Findings findings;
    std::string text = file;
    text.replace(text.find(now), now.size(), old);
    const auto document = document_from_text(text, "residuals.json", findings);
    (void)read_residuals(document->root(findings));
    return findings.complaints.listed();
  };
  const std::vector<Complaint> empty = complaints("a100|~|", "a100||");
  ASSERT_EQ(empty.size(), 1);
  EXPECT_THAT(empty.front().line(), HasSubstr("write the file anew with foretoken validate"));

  const std::vector<Complaint> list = complaints(R"("fat-tree|8|1")", R"(["fat-tree|8|1"])");
  ASSERT_EQ(list.size(), 1);
  EXPECT_THAT(list.front().line(), HasSubstr("/groups/0/rows: expected a string, found an array"));
}

}  // namespace
}  // namespace foretoken::io
