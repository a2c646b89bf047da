// Writes one value a stage, with runs of equal values together.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace foretoken::tools {

/// Returns "8, 16 (stages 1 to 6), 8".
template <class T>
std::string runs_text(const std::vector<T>& values) {
  std::string text;
  for (std::size_t at = 0; at < values.size();) {
    std::size_t end = at;
    while (end < values.size() && values[end] == values[at]) ++end;
    if (!text.empty()) text += ", ";
    text += end - at > 2    ? fmt::format("{} (stages {} to {})", values[at], at, end - 1)
            : end - at == 2 ? fmt::format("{0}, {0}", values[at])
                            : fmt::format("{}", values[at]);
    at = end;
  }
  return text;
}

}  // namespace foretoken::tools
