// Where results go: standard output, standard error, and files that are whole or not there.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace foretoken::tools {

/// Whoever read our output has closed it: the program ends quietly.
struct ClosedPipe {};

/// Writes to standard output at once. Throws ClosedPipe, or ConfigError when it cannot be written.
void print(std::string_view text);

/// Writes one line to standard error.
void print_error(std::string_view line);

/// The complaints of `error`, one line each, to standard error.
void print_complaints(const ConfigError& error);

/// Colour as asked with --color: "auto" (a terminal, and NO_COLOR unset or empty), "always" or "never".
[[nodiscard]] bool wants_colour(std::string_view choice);

/// A file under construction: written beside its place under a temporary name, renamed by commit(), removed otherwise.
/// A device or a pipe (/dev/stdout) is written directly. Throws ConfigError when it cannot be written.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view text);
  /// Everything written is on its way to the disk; only the name is still the temporary one.
  void finish();
  void commit();

 private:
  [[noreturn]] void fail(int error);
  std::string path_, temporary_;  ///< empty temporary: written directly
  std::FILE* file_ = nullptr;
};

/// Writes `text` to a file that is whole or not there.
void write_file(const std::string& path, std::string_view text);

}  // namespace foretoken::tools
