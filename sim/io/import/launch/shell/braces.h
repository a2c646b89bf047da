// Expands {a,b} and {1..4} in a word of a script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::shell {

/// Returns the words that a word with braces stands for, with quotes and dollars as written; at least one. Returns
/// none where they would be more than 10,000.
[[nodiscard]] std::vector<std::string> with_braces(std::string_view word);

}  // namespace foretoken::io::shell
