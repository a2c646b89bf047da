// Regular expressions of a small kind, matched in a time that is linear in the text.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace foretoken::io::launch {

/// A regular expression of Python's re with letters, ".", classes, groups, "|", "*", "+" and "?". Its states are
/// followed side by side, so no text makes it slow or deep.
class SmallExpression {
 public:
  /// Returns nothing for a text with other parts (look-ahead, counts in braces, references), or a long one.
  [[nodiscard]] static std::optional<SmallExpression> read(std::string_view text);

  /// Returns true when the whole of `name` matches, as re.fullmatch does. Letters are those of ASCII.
  [[nodiscard]] bool matches(std::string_view name) const;

 private:
  using Letters = std::bitset<128>;
  static constexpr std::size_t kNone = SIZE_MAX;

  /// A state goes on to `next`, by one of the letters where it takes one, else to `other`, too.
  struct State {
    Letters letters{};
    bool takes = false;
    std::size_t next = kNone, other = kNone;
  };
  struct Part {
    std::size_t begin, end;
  };
  class Reader;

  std::vector<State> states_{};
  std::size_t begin_ = 0, end_ = 0;
};

/// Returns true for a text that no plain name holds: "(", "*", a backslash and the like.
[[nodiscard]] bool is_expression(std::string_view text);

}  // namespace foretoken::io::launch
