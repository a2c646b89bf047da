// Lines of a stream, one at a time and none of them too long.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <string>

namespace foretoken::tools {

class Lines {
 public:
  /// `name` is what complaints call the stream.
  Lines(std::istream& in, std::string name, std::size_t longest) : in_(in), name_(std::move(name)), longest_(longest) {}

  /// The next line without its end; nothing at the end. Throws ConfigError for a line that is too long, before it is
  /// all in memory.
  [[nodiscard]] std::optional<std::string> next();
  [[nodiscard]] std::size_t number() const { return number_; }  ///< of the last line, from 1
  [[nodiscard]] bool is_whole() const { return is_whole_; }     ///< the last line had its end

 private:
  std::istream& in_;
  std::string name_;
  std::size_t longest_, number_ = 0;
  bool is_whole_ = true;
};

/// All of standard input. Throws ConfigError when it is larger than any file may be.
[[nodiscard]] std::string read_standard_input();

}  // namespace foretoken::tools
