// Writes text and files. A failed write becomes one clear complaint, but a reader that went away is no error.
#include "tools/output/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sim/base/text.h"
#include "tools/output/temporary_file.h"
#include "tools/output/terminal.h"

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

void hold_standard_streams() {
  // The lowest free number is the one that is taken. Writing to a stream that was closed stays an error, because what
  // fills in for it is open for reading only.
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF) (void)!::open("/dev/null", O_RDONLY);
}

void print(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, harmless(text));
  if (error == EPIPE) throw ClosedPipe{};
  if (error != 0)
    throw ConfigError({{"standard output", "", fmt::format("cannot be written: {}", std::strerror(error))}});
}

void print_error(std::string_view line) {
  // A failure is ignored: without standard error there is no place for a message.
  (void)write_all(STDERR_FILENO, printable(line) + '\n');
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

std::size_t page_columns() {
  return std::clamp(terminal_columns(STDOUT_FILENO).value_or(report::kPageColumns), report::kScreenColumns,
                    report::kWidestColumns);
}

report::Paint page_paint(std::string_view colour) { return report::Paint(wants_colour(colour), page_columns()); }

OutputFile::OutputFile(std::string path) : path_(std::move(path)), target_(path_) {
  if (path_ == "-") throw ConfigError({{"-", "", "expected a file to write; try /dev/stdout, or ./- for that name"}});
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!exists || S_ISREG(status.st_mode)) {
    open_temporary();
  } else {
    file_ = std::fopen(path_.c_str(), "wbe");
  }
  if (file_ == nullptr) fail(errno);
}

void OutputFile::open_temporary() {
  // Opening what is there asks for more than its mode: the system follows no link that a stranger put into /tmp.
  const int there = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (there < 0 && errno != ENOENT) fail(errno);
  struct stat before {};
  const bool replaces = there >= 0 && ::fstat(there, &before) == 0;
  if (there >= 0) ::close(there);
  std::error_code error;
  target_ = std::filesystem::weakly_canonical(std::filesystem::absolute(path_, error), error);
  if (error) fail(error.value());
  constexpr mode_t kModeBits = 07777;
  auto temporary = open_temporary_file(target_, replaces ? std::optional(before.st_mode & kModeBits) : std::nullopt);
  if (temporary.error != 0) fail(temporary.error);
  temporary_ = std::move(temporary.path);
  file_ = ::fdopen(temporary.descriptor, "wb");
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  if (file_ != nullptr) std::fclose(file_);
}

void OutputFile::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), file_) != text.size()) fail(errno);
}

void OutputFile::finish() {
  // The file stays open, and locked, until it has its name: nobody takes it for one that was left behind.
  if (file_ != nullptr && std::fflush(file_) != 0) fail(errno);
}

void OutputFile::commit() {
  finish();
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (file_ != nullptr && std::fclose(std::exchange(file_, nullptr)) != 0) fail(errno);
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
