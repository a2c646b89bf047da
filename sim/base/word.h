// A word of which a process keeps one copy, however many values hold it.
#pragma once

#include <string>
#include <string_view>

namespace foretoken {

/// A word from a small set, such as the name of a GPU or a schedule: as small as a pointer, and compared as one. Words
/// stay in memory until the process ends, so they are not for texts without bound. Threads may share them.
class Word {
 public:
  Word() : text_(&empty()) {}
  Word(std::string_view text);                                     // NOLINT: a word stands for its text
  Word(const std::string& text) : Word(std::string_view(text)) {}  // NOLINT
  Word(const char* text) : Word(std::string_view(text)) {}         // NOLINT

  [[nodiscard]] const std::string& text() const { return *text_; }
  operator const std::string&() const { return *text_; }  // NOLINT

  friend bool operator==(const Word& a, const Word& b) { return a.text_ == b.text_; }

 private:
  static const std::string& empty();

  const std::string* text_;
};

}  // namespace foretoken
