// Tests that every answer follows the width of its page.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/base/test_sanitized.h"
#include "sim/report/text/layout.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"
#include "tools/output/terminal.h"
#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {
namespace {

using testing::EndsWith;
using testing::StartsWith;

// States the columns of the page while it lives.
class Columns {
 public:
  explicit Columns(const char* columns) { ::setenv("COLUMNS", columns, 1); }
  ~Columns() { ::unsetenv("COLUMNS"); }
  Columns(const Columns&) = delete;
  Columns& operator=(const Columns&) = delete;
};

void expect_lines_fit(const std::vector<std::string>& arguments, std::size_t columns) {
  std::string command;
  for (const std::string& word : arguments) command += word + ' ';
  SCOPED_TRACE(command);
  const Columns narrow(std::to_string(columns).c_str());
  const Ran ran = run_foretoken(arguments);
  EXPECT_LE(ran.status, 1) << ran.err;
  EXPECT_GT(lines_of(ran.out).size(), 2U);
  for (const std::string& line : lines_of(ran.out)) EXPECT_LE(report::columns_of(line), columns) << line;
}

TEST(Width, AnswersFitTheTerminal) {
  const std::vector<std::vector<std::string>> answers = {
      {"simulate", "gpt-1t-3072-a100", "--details"},
      {"simulate", "llama-3-8b-16-a100-h100", "--details"},
      {"simulate", "llama-2-7b-8-a100", "--details", "--set", "batch.micro=8"},
      {"simulate", "gpt-1.7b-32-a100", "gpt-1.7b-32-a100", "--share-cluster", "--set", "cluster=dgx-a100-80gb-hdr"},
      {"compare", "gpt3-175b-1024-a100"},
      {"explain", "gpt-1t-3072-a100"},
      {"explain", "llama-3-70b-72-gb200"},
      {"whatif", "gpt3-175b-1024-a100", "--vary", "batch.micro=1,2", "--vary", "recompute=none,full", "--tornado"},
      {"schedule", "show", "interleaved-1f1b", "--stages", "64", "--microbatches", "128", "--chunks", "2"},
      {"schedule", "list"},
      {"models", "list"},
      {"clusters", "list"},
      {"profiles", "list"},
      {"runtimes", "list"},
      {"scenarios", "list"},
      {"models", "show", "llama-3-70b"},
      {"clusters", "show", "gb200-nvl72"},
      {"clusters", "show", "links"},
      {"profiles", "show", "h100-sxm5-80gb"},
      {"runtimes", "show", "megatron-core"},
      {"scenarios", "show", "gpt3-175b-1024-a100"},
      {"calibrate", "show", "b200-sxm-180gb"},
      {"calibrate", "diff", "h200-sxm5-141gb", "v100-sxm2-32gb"},
      {"validate", "--set", "bloom", "--worst", "10"},
      {"doctor"}};
  for (const std::vector<std::string>& arguments : answers) {
    expect_lines_fit(arguments, 80);
    if (!kSanitized) expect_lines_fit(arguments, 100);
  }
}

TEST(Width, SearchesAndPlansFitTheTerminal) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  expect_lines_fit({"search", "gpt3-175b-1024-a100", "--free", "all"}, 80);
  expect_lines_fit({"search", "llama-2-7b-8-a100", "--free", "all", "--gpus", "8,16"}, 80);
  expect_lines_fit({"plan", "llama-2-7b-8-a100", "--free", "all", "--tokens", "100B", "--clusters",
                    "dgx-a100-80gb-hdr,dgx-h100-ndr", "--gpus", "8:32:x2", "--deadline", "30d", "--budget", "2M"},
                   80);
}

TEST(Width, HelpFitsTheTerminalAndExamplesStayCommands) {
  for (const char* command : {"", "simulate", "compare", "explain", "whatif", "report", "search", "plan", "validate"}) {
    std::vector<std::string> arguments{"--help"};
    if (*command != '\0') arguments.insert(arguments.begin(), command);
    expect_lines_fit(arguments, 80);
  }
  const Columns narrow("80");
  const std::vector<std::string> lines = lines_of(run_foretoken({"plan", "--help"}).out);
  const auto broken = std::find_if(lines.begin(), lines.end(), [](const auto& line) { return line.ends_with('\\'); });
  ASSERT_NE(broken, lines.end());
  EXPECT_THAT(*broken, StartsWith("  foretoken plan "));
  EXPECT_THAT(*(broken + 1), StartsWith("      "));
}

TEST(Width, PagesAreFrom80To120ColumnsWide) {
  for (const auto& [stated, columns] : {std::pair{"20", 80U}, {"90", 90U}, {"400", 120U}}) {
    const Columns page(stated);
    EXPECT_EQ(page_columns(), columns);
  }
  const Columns nonsense("wide");
  EXPECT_EQ(terminal_columns(-1), std::nullopt);
}

TEST(Width, TheProgressLineNeverWraps) {
  const std::string words = " 50 %  1,234 of 2,468 configurations, 617/s, 2 s left";
  for (std::size_t columns = 1; columns < 120; ++columns)
    EXPECT_LT(report::columns_of(progress_words(0.5, words, columns)), columns) << columns;
  EXPECT_THAT(progress_words(0.5, words, 80), StartsWith("["));
  EXPECT_THAT(progress_words(0.5, words, 80), EndsWith(words));
  EXPECT_EQ(progress_words(0.5, words, words.size() + 2), words) << "the bar goes first";
}

}  // namespace
}  // namespace foretoken::tools
