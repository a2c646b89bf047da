// Writes text and files. A failed write becomes one clear complaint, but a reader that went away is no error.
#include "tools/output/output.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sim/base/text.h"

namespace foretoken::tools {
namespace {

// Writes all of `text`. Returns 0, or the errno that stopped it.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

void print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error == EPIPE) throw ClosedPipe{};
  if (error != 0)
    throw ConfigError({{"standard output", "", fmt::format("cannot be written: {}", std::strerror(error))}});
}

void print_error(std::string_view line) {
  // A failure is ignored: without standard error there is no place for a message.
  (void)write_all(STDERR_FILENO, fmt::format("{}\n", line));
}

void print_complaints(const ConfigError& error) {
  for (const Complaint& complaint : error.complaints()) print_error(complaint.line());
}

bool wants_colour(std::string_view choice) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  const char* refused = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && ::access(path_.c_str(), W_OK) != 0) fail(errno);
  if (!exists || S_ISREG(status.st_mode)) temporary_ = fmt::format("{}.{}.part", path_, ::getpid());
  file_ = std::fopen(temporary_.empty() ? path_.c_str() : temporary_.c_str(), "wb");
  if (file_ == nullptr) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
}

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!temporary_.empty()) std::remove(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
}

void OutputFile::finish() {
  if (file_ == nullptr) return;
  const bool flushed = std::fflush(file_) == 0;
  const int error = errno;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!flushed) fail(error);
  if (!closed) fail(errno);
}

void OutputFile::commit() {
  finish();
  if (!temporary_.empty() && std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void write_file(const std::string& path, std::string_view text) {
  OutputFile file(path);
  file.write(text);
  file.commit();
}

void OutputFile::fail(int error) {
  if (error == EPIPE) throw ClosedPipe{};
  throw ConfigError({{printable(path_), "", fmt::format("cannot be written: {}", std::strerror(error))}});
}

}  // namespace foretoken::tools
