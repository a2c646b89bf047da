// Writes results to standard output, standard error, and files that are either whole or absent.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace foretoken::tools {

/// Thrown when the reader of our output has closed it. The program then ends quietly.
struct ClosedPipe {};

/// Writes to standard output at once. Throws ClosedPipe, or ConfigError when it cannot be written.
void print(std::string_view text);

/// Writes one line to standard error.
void print_error(std::string_view line);

/// Writes the complaints of `error` to standard error, one line each.
void print_complaints(const ConfigError& error);

/// Decides the colour by the value of --color: "always", "never", or "auto" (a terminal, and NO_COLOR unset or empty).
[[nodiscard]] bool wants_colour(std::string_view choice);

/// A file under construction. It is written under a temporary name beside its place; commit() renames it, and without
/// commit() it is removed. A device or a pipe (/dev/stdout) is written directly. Throws ConfigError on failure.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(std::string_view text);
  /// Flushes and closes the file, which still has its temporary name.
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
