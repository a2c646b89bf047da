// Reads pages of Markdown for the documentation tests: marked blocks, and their commands with the shown output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/tests/run_binary_test.h"

namespace foretoken::tools {

/// Lists README.md, CHANGELOG.md and every page below docs/ and scenarios/.
inline std::vector<std::filesystem::path> documentation_pages() {
  namespace fs = std::filesystem;
  const fs::path root = FORETOKEN_SOURCE_DIR;
  std::vector<fs::path> pages = {root / "README.md", root / "CHANGELOG.md", root / "scenarios/README.md"};
  for (const auto& entry : fs::recursive_directory_iterator(root / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

/// A fenced block below a comment that marks it: `<!-- run -->`, `<!-- run, exit 2 -->` or `<!-- file: NAME -->`.
struct MarkedBlock {
  std::string mark;
  std::vector<std::string> lines;
};

/// Returns the marked blocks of a page, in order.
inline std::vector<MarkedBlock> marked_blocks(const std::vector<std::string>& page) {
  std::vector<MarkedBlock> blocks;
  for (std::size_t i = 0; i + 1 < page.size(); ++i) {
    const bool marked = page[i].starts_with("<!-- run") || page[i].starts_with("<!-- file: ");
    if (!marked || !page[i + 1].starts_with("```")) continue;
    MarkedBlock block{.mark = page[i].substr(5, page[i].size() - 9), .lines = {}};
    for (i += 2; i < page.size() && page[i] != "```"; ++i) block.lines.push_back(page[i]);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

/// A command of a block and the lines below it.
struct ShownCommand {
  std::string command;
  std::vector<std::string> output;
};

/// Returns the commands of a block: lines that begin with "$ ". A backslash at the end of a line continues the command.
inline std::vector<ShownCommand> commands_of(const std::vector<std::string>& lines) {
  std::vector<ShownCommand> commands;
  bool continued = false;
  for (const std::string& line : lines) {
    const bool begins = line.starts_with("$ ");
    if (begins) commands.push_back({.command = line.substr(2), .output = {}});
    if (continued) commands.back().command += "\n" + line;
    if (!begins && !continued && !commands.empty()) commands.back().output.push_back(line);
    continued = (begins || continued) && line.ends_with('\\');
  }
  return commands;
}

/// Returns the first line of `shown` that is missing in `printed`, searched in order, or "" when none is. A line "..."
/// stands for any lines.
inline std::string first_line_not_printed(const std::vector<std::string>& shown,
                                          const std::vector<std::string>& printed) {
  std::size_t next = 0;
  for (const std::string& line : shown) {
    if (line.empty() || line.find_first_not_of(' ') == line.find("...")) continue;
    while (next < printed.size() && printed[next] != line) ++next;
    if (next == printed.size()) return line;
    ++next;
  }
  return "";
}

}  // namespace foretoken::tools
