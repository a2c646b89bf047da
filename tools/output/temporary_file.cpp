// Makes temporary files, and removes those whose program is gone.
#include "tools/output/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace foretoken::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnd = ".part";

// True for "r.html.1234.part" beside "r.html".
bool is_temporary_of(std::string_view name, std::string_view target) {
  if (!name.starts_with(target) || !name.ends_with(kEnd) || name.size() < target.size() + kEnd.size() + 2) return false;
  const std::string_view number = name.substr(target.size(), name.size() - target.size() - kEnd.size());
  return number.front() == '.' && number.substr(1).find_first_not_of("0123456789") == number.npos;
}

// Returns true when `path` still names the open file `descriptor`.
bool is_at(int descriptor, const std::string& path) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::lstat(path.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

// Removes a file of ours that no living program holds.
void remove_left_behind(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status {};
  const bool ours = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  if (ours && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_at(descriptor, path)) ::unlink(path.c_str());
  ::close(descriptor);
}

void remove_all_left_behind(const fs::path& target) {
  std::error_code error;
  std::vector<std::string> found;
  for (fs::directory_iterator entry(target.parent_path(), error), end; !error && entry != end; entry.increment(error))
    if (is_temporary_of(entry->path().filename().native(), target.filename().native()))
      found.push_back(entry->path().native());
  for (const std::string& path : found) remove_left_behind(path);
}

}  // namespace

TemporaryFile open_temporary_file(const fs::path& target, std::optional<mode_t> mode) {
  remove_all_left_behind(target);
  constexpr mode_t kNewFile = 0666;
  constexpr int kTries = 100;
  // The number is the program's, or a later one where a file that is not ours stands in the way.
  for (int i = 0; i < kTries; ++i) {
    const std::string path = fmt::format("{}.{}{}", target.native(), ::getpid() + i, kEnd);
    const int descriptor =
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode ? S_IRUSR | S_IWUSR : kNewFile);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return {.path = {}, .error = errno};
    // Where there are no locks, there is nobody who removes what is not locked either.
    (void)::flock(descriptor, LOCK_EX | LOCK_NB);
    if (mode) (void)::fchmod(descriptor, *mode);
    if (is_at(descriptor, path)) return {.path = path, .descriptor = descriptor};
    ::close(descriptor);  // taken for one left behind, before it was locked
  }
  return {.path = {}, .error = EEXIST};
}

}  // namespace foretoken::tools
