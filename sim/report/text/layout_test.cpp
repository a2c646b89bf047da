// Tests columns, bars, tables and paragraphs.
#include "sim/report/text/layout.h"

#include <gtest/gtest.h>

#include <numeric>

namespace foretoken::report {
namespace {

TEST(Layout, ColumnsAreCharactersWithoutColours) {
  EXPECT_EQ(columns_of("█▏a"), 3U);
  EXPECT_EQ(columns_of(Paint(true)(Ink::kBlue, "█▏a")), 3U);
  EXPECT_EQ(Paint(false)(Ink::kBlue, "plain"), "plain");
  EXPECT_EQ(pad_left("█", 3), "  █");
}

TEST(Layout, BarsAreFineToAnEighth) {
  EXPECT_EQ(bar(0, 4), "");
  EXPECT_EQ(bar(0.5, 4), "██");
  EXPECT_EQ(bar(1.0 / 32, 4), "▏");
  EXPECT_EQ(bar(7, 2), "██") << "never longer than its room";
}

TEST(Layout, PartsOfAStackedBarAddUp) {
  const auto cells = stacked_columns({1, 1, 1}, 6, 20);
  EXPECT_EQ(std::accumulate(cells.begin(), cells.end(), std::size_t{0}), 10U);
  EXPECT_EQ(stacked_columns({5, 5}, 5, 10), (std::vector<std::size_t>{10, 0})) << "what is beyond the whole is cut";
}

TEST(Layout, ParagraphsWrapAndIndent) {
  EXPECT_EQ(paragraph("  - ", "one two three", 12), "  - one two\n    three\n");
  EXPECT_EQ(paragraph("", "unbreakablelongword", 5), "unbreakablelongword\n");
  EXPECT_EQ(paragraph("- ", "a list,of,words b", 10), "- a\n  list,of,\n  words b\n");
  EXPECT_EQ(paragraph("label ", "a longword b", 9), "label a\n longword\n      b\n") << "it starts earlier";
  EXPECT_EQ(paragraph("label ", "longword", 9), "label \n longword\n");
}

TEST(Layout, NumbersStayBesideTheirUnits) {
  EXPECT_EQ(paragraph("", "it takes 1,024 GPUs and", 14), "it takes\n1,024 GPUs and\n");
  EXPECT_EQ(paragraph("", "it costs 1.51 million USD.", 14), "it costs\n1.51 million USD.\n");
  EXPECT_EQ(paragraph("", "an error +/- 2.3 % here", 12), "an error\n+/- 2.3 %\nhere\n");
  EXPECT_EQ(paragraph("", "in 2026 all", 8), "in 2026\nall\n") << "a word that is no unit";
}

TEST(Layout, ANarrowPageLeavesOutSpareColumnsAndNamesThem) {
  Table table({{"name"}, {"spare", Table::Align::kRight, 1}, {"most spare", Table::Align::kRight, 2}, {"last"}});
  table.add({"a", "1", "2", "3"});
  EXPECT_EQ(table.text(Paint(false, 29), 0), "name  spare  most spare  last\n   a      1           2     3\n");
  EXPECT_EQ(table.text(Paint(false, 28), 0, "--csv"),
            "name  spare  last\n   a      1     3\ntoo wide for the page, in\n--csv: most spare\n");
  EXPECT_EQ(table.text(Paint(false, 10), 0, "x").substr(0, 11), "name  last\n") << "others stay";
}

TEST(Layout, ItemsBreakBetweenItems) {
  EXPECT_EQ(Paint(false, 12).items({"a one", "b", "c two"}), "  a one  b\n  c two\n");
}

TEST(Layout, TablesAlign) {
  Table table({{"name", Table::Align::kLeft}, {"n"}, {"m"}});
  table.add({"a", "1", "22"});
  table.add({"long", "100", "3"});
  table.add_note({"b"}, "a note that takes no column");
  EXPECT_EQ(table.text(Paint(false), 0),
            "name    n   m\na       1  22\nlong  100   3\nb     a note that takes no column\n");
}

TEST(Layout, LongLastCellsWrap) {
  Table table({{"n"}, {"what", Table::Align::kLeft}});
  table.add({"1", std::string(60, 'x') + " " + std::string(60, 'y')});
  EXPECT_EQ(table.text(Paint(false), 0), "n  what\n1  " + std::string(60, 'x') + "\n   " + std::string(60, 'y') + "\n");
}

}  // namespace
}  // namespace foretoken::report
