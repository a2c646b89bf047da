// Expands the words of a script: variables, defaults, arrays, arithmetic. Executes nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/io/import/launch/shell/variables.h"

namespace foretoken::io::shell {

/// The work that one reading may do, so that no script can make it endless.
struct Budget {
  std::size_t steps = 20'000;           ///< commands
  std::size_t characters = 16'000'000;  ///< of expanded texts
  std::size_t words = 200'000;          ///< of arrays and commands
  std::size_t copied = 32'000'000;      ///< bytes of variables that are set aside at branches
  bool spent = false;

  void step() { spend(steps, 1); }
  void take(std::size_t count) { spend(characters, count); }
  void take_words(std::size_t count) { spend(words, count); }
  void copy(const Variables& variables) {
    constexpr std::size_t kEntry = 64;  // bytes of a string, with its share of the map
    std::size_t bytes = 0;
    for (const auto& [name, texts] : variables.values)
      for (const std::string& text : texts) bytes += kEntry + text.size();
    for (const auto& [name, table] : variables.tables)
      for (const auto& [key, text] : table) bytes += kEntry + key.size() + text.size();
    spend(copied, bytes);
  }

 private:
  void spend(std::size_t& left, std::size_t count) {
    if (left < count) spent = true;
    left -= count < left ? count : left;
  }
};

class Expander {
 public:
  /// The output of a command substitution, without the newlines at its end; nothing where it is not known.
  using OutputOf = std::function<std::optional<std::string>(std::string_view command)>;

  Expander(Variables& variables, Budget& budget, OutputOf output_of)
      : variables_(variables), budget_(budget), output_of_(std::move(output_of)) {}

  /// Returns the fields of a word: unquoted results are split at spaces, and "${a[@]}" gives a field an element.
  [[nodiscard]] Texts fields(std::string_view word);

  /// As fields() and text(), but a variable that nothing sets is unknown, not empty: the environment may hold it.
  [[nodiscard]] Texts known_fields(std::string_view word);
  [[nodiscard]] std::string known_text(std::string_view word);

  /// As known_fields() and known_text(), for conditions. ${NAME:-} has a mark where nothing sets NAME, and so has a
  /// variable that it empties.
  [[nodiscard]] Texts tested_fields(std::string_view word);
  [[nodiscard]] std::string tested_text(std::string_view word);

  /// Returns the word as a pattern: quoted parts stand for themselves, behind backslashes.
  [[nodiscard]] std::string pattern(std::string_view word);

  /// Returns the word as one text, as an assignment takes it.
  [[nodiscard]] std::string text(std::string_view word);

  /// Returns the value of a variable, an element or a special parameter; empty where it is not set.
  [[nodiscard]] std::string value_of(std::string_view name);

  /// Returns the value of $((expression)) as text. It is unknown where a part is. Assigns the variables that the
  /// expression assigns; they become unknown where it is.
  [[nodiscard]] std::string number(std::string_view expression);

  /// Returns whether a variable or an element is set, as [[ -v NAME[key] ]] asks; nothing where that is unknown.
  [[nodiscard]] std::optional<bool> is_set(std::string_view reference);

  /// Makes the variables that an expression assigns unknown.
  void forget_assigned(std::string_view expression);

 private:
  struct Builder;
  struct Value {
    Texts texts{};
    bool is_set = false;
  };

  void parts(std::string_view word, bool quoted, Builder& out);
  void part(std::string_view text, bool quoted, Builder& out);
  void parameter(std::string_view inner, bool quoted, Builder& out);
  void listed(std::string_view name, const Texts& texts, bool quoted, Builder& out);
  bool choose(std::string_view name, const Value& value, std::string_view change, bool quoted, Builder& out);
  [[nodiscard]] bool may_hold_more(std::string_view name, const Value& value) const;
  [[nodiscard]] Value special(std::string_view name);
  [[nodiscard]] Value read(std::string_view reference);
  [[nodiscard]] Value element(std::string_view name, std::string_view place, const Value& whole);
  [[nodiscard]] Texts names_of(std::string_view reference);
  [[nodiscard]] std::string output_of(std::string_view command);
  [[nodiscard]] std::optional<std::string> count_of_hosts(const Texts& array);

  // Returns what `read` finds while `mode` is on.
  template <class Read>
  static auto while_on(bool& mode, Read read) {
    const bool outer = std::exchange(mode, true);
    auto found = read();
    mode = outer;
    return found;
  }

  Variables& variables_;
  Budget& budget_;
  OutputOf output_of_;
  int depth_ = 0;
  bool asks_ = false;   ///< a variable that nothing sets is unknown
  bool tests_ = false;  ///< an empty default of such a variable has a mark, and so has a variable that it empties
};

}  // namespace foretoken::io::shell
