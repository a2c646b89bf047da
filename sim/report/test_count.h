// Counts a word in a text, for the tests of drawings.
#pragma once

#include <cstddef>
#include <string>

namespace foretoken::report {

inline std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

}  // namespace foretoken::report
