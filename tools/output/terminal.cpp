// Asks the environment, then the terminal, for its width.
#include "tools/output/terminal.h"

#include <sys/ioctl.h>

#include <cstdlib>

#include "sim/base/parse_number.h"

namespace foretoken::tools {

std::optional<std::size_t> terminal_columns(int descriptor) {
  constexpr int kMost = 10'000;
  const char* const stated = std::getenv("COLUMNS");
  if (stated != nullptr)
    if (const auto columns = parse_number<int>(stated, 1, kMost)) return static_cast<std::size_t>(*columns);
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return std::nullopt;
}

}  // namespace foretoken::tools
