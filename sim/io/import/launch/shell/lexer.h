// Splits a shell script into words and operators. Words keep their quotes and dollars, which expansion reads later.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::io::shell {

/// A word as written, or an operator such as && or a newline (written ";").
struct Token {
  std::string text;
  int line = 1;
  bool is_operator = false;
  std::string document = "";      ///< the text of the here document that stands behind the word
  bool document_expands = false;  ///< its variables are replaced
  int stream = 1;                 ///< of an operator that redirects an output: 2 for 2>
};

/// Returns true for a character of a variable's name.
[[nodiscard]] inline bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Returns true for the name of a variable.
[[nodiscard]] inline bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text[0])) == 0 &&
         std::ranges::all_of(text, is_of_name);
}

/// Returns the length of NAME or NAME[index] in NAME=... or NAME+=...; 0 where the word assigns nothing.
[[nodiscard]] std::size_t assigned_name(std::string_view word);

/// Returns the text of a here document as a quoted word, whose variables are replaced and whose spaces stay.
[[nodiscard]] std::string quoted_document(std::string_view document);

/// Returns the tokens of `source`. Comments are left out. `NAME=(...)` is one word.
[[nodiscard]] std::vector<Token> tokens_of(std::string_view source, int first_line = 1);

/// Returns the place behind the quoted or dollar part that begins at `begin`: behind "...", '...', `...`, $(...),
/// $((...)), ${...} and $NAME. Returns begin + 1 for any other character, and the end for a part that does not end.
[[nodiscard]] std::size_t end_of_part(std::string_view source, std::size_t begin);

}  // namespace foretoken::io::shell
