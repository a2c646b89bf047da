// Writes results to standard output, standard error, and files that are either whole or absent.
#pragma once

#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/error.h"
#include "sim/report/text/layout.h"

namespace foretoken::tools {

/// Thrown when the reader of our output has closed it. The program then ends quietly.
struct ClosedPipe {};

/// Fills in for standard streams that the caller has closed. Otherwise the first file that is opened would take their
/// number, and what is printed would end in it.
void hold_standard_streams();

/// Writes to standard output at once, without anything that steers a terminal. Throws ClosedPipe, or ConfigError when
/// it cannot be written.
void print(std::string_view text);

/// Writes one line to standard error.
void print_error(std::string_view line);

/// Writes the complaints of `error` to standard error, one line each.
void print_complaints(const ConfigError& error);

/// Decides the colour by the value of --color: "always", "never", or "auto" (a terminal, and NO_COLOR unset or empty).
[[nodiscard]] bool wants_colour(std::string_view choice);

/// Returns the columns of pages on standard output: those of COLUMNS or of the terminal, from 80 to 120; 100 where
/// neither says.
[[nodiscard]] std::size_t page_columns();

/// Returns the page on standard output, with colours as --color says.
[[nodiscard]] report::Paint page_paint(std::string_view colour);

/// A file that an option names.
struct NamedFile {
  std::string option;  ///< "--trace"
  std::string path;    ///< empty: not asked for
};

/// Throws ConfigError when an output is also an input, another output, or the file behind a standard stream. Call it
/// before anything is written. A folder among the inputs stands for its files.
void refuse_same_files(std::span<const NamedFile> outputs, std::span<const std::filesystem::path> inputs);

/// A file under construction. It is written under a temporary name beside its place; commit() renames it, and without
/// commit() it is removed. The file before keeps its mode, and a link to it stays a link. Temporary files of killed
/// programs are removed. A device or a pipe (/dev/stdout) is written directly. Throws ConfigError on failure.
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
  void open_temporary();
  [[noreturn]] void fail(int error);
  std::string path_;              ///< as the user gave it
  std::filesystem::path target_;  ///< where links lead
  std::string temporary_;         ///< empty: written directly
  std::FILE* file_ = nullptr;
};

/// Writes `text` to a file that is whole or not there.
void write_file(const std::string& path, std::string_view text);

}  // namespace foretoken::tools
