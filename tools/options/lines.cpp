// Reads no further than the line that is asked for: the rest of a pipe may come later.
#include "tools/options/lines.h"

#include <fmt/format.h>

#include <iostream>

#include "sim/base/error.h"
#include "sim/io/json/parse_json.h"

namespace foretoken::tools {

std::optional<std::string> Lines::next() {
  using Traits = std::istream::traits_type;
  std::string line;
  for (auto c = in_.rdbuf()->sbumpc(); c != Traits::eof(); c = in_.rdbuf()->sbumpc()) {
    if (line.empty()) ++number_;
    is_whole_ = Traits::to_char_type(c) == '\n';
    if (is_whole_) return line;
    if (line.size() == longest_)
      throw ConfigError(
          {{fmt::format("{}:{}", name_, number_), "", fmt::format("a line longer than {} bytes", longest_)}});
    line += Traits::to_char_type(c);
  }
  return line.empty() ? std::nullopt : std::optional(line);
}

std::string read_standard_input() {
  io::Findings findings;
  const auto text = io::read_stream(std::cin, "-", findings);
  findings.throw_if_wrong();
  return *text;
}

}  // namespace foretoken::tools
