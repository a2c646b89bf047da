// Tests the documentation: links lead somewhere, and commands run and print the shown lines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <regex>

#include "sim/base/test_sanitized.h"
#include "tools/tests/docs_pages_test.h"

namespace foretoken::tools {
namespace {

namespace fs = std::filesystem;

/// Returns the name that a heading has in links: "## A short, plain name" is "a-short-plain-name".
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find(' ') + 1)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (c == ' ') anchor += '-';
  }
  return anchor;
}

bool has_anchor(const fs::path& page, const std::string& anchor) {
  const std::vector<std::string> lines = lines_of(contents(page));
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.starts_with('#') && anchor_of(line) == anchor; });
}

/// Returns the targets of links and pictures in the text of a page. Code does not count.
std::vector<std::string> link_targets(const fs::path& page) {
  static const std::regex kLink(R"(\]\(([^)\s]+)\))");
  static const std::regex kCode("`[^`]*`");
  std::vector<std::string> targets;
  bool fenced = false;
  for (const std::string& line : lines_of(contents(page))) {
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced) continue;
    const std::string text = std::regex_replace(line, kCode, "");
    for (std::sregex_iterator link(text.begin(), text.end(), kLink), end; link != end; ++link)
      targets.push_back((*link)[1]);
  }
  return targets;
}

TEST(Docs, RelativeLinksLeadToAFileAndAHeading) {
  std::size_t checked = 0;
  for (const fs::path& page : documentation_pages()) {
    for (const std::string& target : link_targets(page)) {
      if (target.find("://") != target.npos) continue;
      const std::size_t hash = std::min(target.find('#'), target.size());
      const fs::path file = hash == 0 ? page : page.parent_path() / target.substr(0, hash);
      EXPECT_TRUE(fs::exists(file)) << page << " links to " << target;
      if (hash < target.size() && fs::exists(file)) {
        EXPECT_TRUE(has_anchor(file, target.substr(hash + 1))) << page << " links to " << target;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 50U);
}

/// Tests that files named in backquotes exist, such as `sim/des/engine.cpp`.
TEST(Docs, NamedSourceFilesExist) {
  static const std::regex kFile(
      "`((?:sim|tools|validate|calibration|cmake|models|topologies|scenarios)/[a-z0-9_./-]+"
      "\\.(?:cpp|h|json|md|cmake))`");
  for (const fs::path& page : documentation_pages()) {
    if (page.filename() == "CHANGELOG.md") continue;
    const std::string text = contents(page);
    for (std::sregex_iterator name(text.begin(), text.end(), kFile), end; name != end; ++name)
      EXPECT_TRUE(fs::exists(fs::path(FORETOKEN_SOURCE_DIR) / (*name)[1].str())) << page << " names " << (*name)[1];
  }
}

struct Finished {
  int status = -1;
  std::vector<std::string> printed;
};

/// Runs a shell command in a folder, with this build's program first in PATH.
Finished run_in(const std::string& folder, const std::string& command) {
  const std::string program = fs::path(FORETOKEN_BINARY).parent_path();
  const std::string all =
      fmt::format("cd '{}' && export PATH='{}':\"$PATH\" && {{ {}\n}} 2>&1", folder, program, command);
  std::string text;
  FILE* const pipe = ::popen(all.c_str(), "r");
  std::array<char, 4096> piece{};
  while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe)) text.append(piece.data(), n);
  const int status = ::pclose(pipe);
  return {.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1, .printed = lines_of(text)};
}

void check_commands(const fs::path& page) {
  const TemporaryFolder folder;
  for (const MarkedBlock& block : marked_blocks(lines_of(contents(page)))) {
    if (block.mark.starts_with("file: ")) {
      std::string text;
      for (const std::string& line : block.lines) text += line + "\n";
      folder.put(block.mark.substr(6), text);
      continue;
    }
    const std::size_t exit = block.mark.find("exit ");
    const int expected = exit == block.mark.npos ? 0 : std::stoi(block.mark.substr(exit + 5));
    const std::vector<ShownCommand> commands = commands_of(block.lines);
    EXPECT_FALSE(commands.empty()) << page << ": a block to run without a command";
    for (const ShownCommand& shown : commands) {
      SCOPED_TRACE(page.string() + ": $ " + shown.command);
      const Finished finished = run_in(folder.file(""), shown.command);
      EXPECT_EQ(finished.status, expected);
      EXPECT_EQ(first_line_not_printed(shown.output, finished.printed), "")
          << "is shown, but not printed (in this order)";
    }
  }
}

TEST(Docs, ShownCommandsRunAndPrintWhatIsShown) {
  if (kSanitized) GTEST_SKIP() << kTakesMinutes;
  std::size_t blocks = 0;
  for (const fs::path& page : documentation_pages()) {
    blocks += marked_blocks(lines_of(contents(page))).size();
    check_commands(page);
  }
  EXPECT_GT(blocks, 10U) << "the tutorial alone has more";
}

TEST(Docs, AWrongLinkAndAWrongLineAreFound) {
  const TemporaryFolder folder;
  const fs::path page = folder.put("page.md", "# A page\n\nSee [it](nothing.md) and `[no](link)`.\n");
  EXPECT_EQ(link_targets(page), std::vector<std::string>{"nothing.md"});
  EXPECT_TRUE(has_anchor(page, "a-page"));
  EXPECT_FALSE(has_anchor(page, "another-page"));
  EXPECT_EQ(first_line_not_printed({"one", "...", "three"}, {"one", "two", "three"}), "");
  EXPECT_EQ(first_line_not_printed({"two", "one"}, {"one", "two"}), "one");
  EXPECT_EQ(run_in(folder.file(""), "echo a; exit 3").status, 3);
  EXPECT_EQ(run_in(folder.file(""), "echo a; echo b").printed, (std::vector<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace foretoken::tools
