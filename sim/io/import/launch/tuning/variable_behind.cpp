// Names the variable that a script writes behind a flag.
#include "sim/io/import/launch/tuning/variable_behind.h"

#include <algorithm>

#include "sim/io/import/launch/shell/lexer.h"

namespace foretoken::io::launch::tuning {

std::string variable_behind(std::string_view flag, std::string_view text) {
  std::string wanted(flag), all(text);  // - and _ are one in flags; the dashes before them stay two
  std::ranges::replace(wanted, '-', '_');
  std::ranges::replace(all, '-', '_');
  for (std::size_t at = all.find(wanted); at != all.npos; at = all.find(wanted, at + 1)) {
    std::size_t next = at + wanted.size();
    const std::size_t value = std::min(text.find_first_not_of(" \t\r\n\\=\"'", next), text.size());
    if (value == next || value >= text.size() || text[value] != '$') continue;
    next = value + 1;
    if (next < text.size() && text[next] == '{') ++next;
    const std::size_t end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(next), text.end(), shell::is_of_name) -
        text.begin());
    if (const std::string_view name = text.substr(next, end - next); shell::is_name(name)) return std::string(name);
  }
  return "";
}

}  // namespace foretoken::io::launch::tuning
