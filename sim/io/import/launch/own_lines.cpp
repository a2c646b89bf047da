// Finds the comments of a launch file that state facts of the machine.
#include "sim/io/import/launch/own_lines.h"

#include <algorithm>

namespace foretoken::io::launch {

std::vector<std::string> own_lines(std::string_view text) {
  std::vector<std::string> sets;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.starts_with(kOwnLine)) continue;
    line.remove_prefix(kOwnLine.size());
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string_view key = line.substr(0, line.find_first_of("=."));
    if (std::ranges::find(kOwnKeys, key) != kOwnKeys.end() && line.find('=') != line.npos) sets.emplace_back(line);
  }
  return sets;
}

}  // namespace foretoken::io::launch
