// Finds out if two paths are one file: an output must never be an input, or be written twice.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/base/text.h"
#include "tools/output/output.h"

namespace foretoken::tools {
namespace {

namespace fs = std::filesystem;

// A file by what it is, and by its place where it is not there yet.
struct Identity {
  bool exists = false, is_regular = false;
  dev_t device = 0;
  ino_t node = 0;
  fs::path place;

  Identity(const struct stat& status, fs::path where)
      : exists(true),
        is_regular(S_ISREG(status.st_mode)),
        device(status.st_dev),
        node(status.st_ino),
        place(std::move(where)) {}
  explicit Identity(const fs::path& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) *this = Identity(status, {});
    std::error_code error;  // a path that leads nowhere is refused when it is opened
    place = fs::weakly_canonical(fs::absolute(path, error), error);
  }

  // Devices and pipes can be written any number of times.
  [[nodiscard]] bool is_same(const Identity& other) const {
    if (exists != other.exists) return false;
    if (!exists) return !place.empty() && place == other.place;
    return is_regular && device == other.device && node == other.node;
  }
};

std::optional<Identity> stream(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return std::nullopt;
  return Identity(status, {});
}

// Folders as their files.
std::vector<fs::path> files_of(std::span<const fs::path> inputs) {
  std::vector<fs::path> files;
  for (const fs::path& input : inputs) {
    std::error_code error;
    if (!fs::is_directory(input, error)) files.push_back(input);
    for (fs::directory_iterator entry(input, error), end; !error && entry != end; entry.increment(error))
      files.push_back(entry->path());
  }
  return files;
}

[[noreturn]] void refuse(const NamedFile& output, const std::string& what) {
  throw ConfigError(
      {{printable(output.path), "", fmt::format("{} would overwrite {}; name another file", output.option, what)}});
}

// "/dev/stdout" names the stream on purpose.
bool names_a_stream(const std::string& path) { return path.starts_with("/dev/") || path.starts_with("/proc/"); }

}  // namespace

void refuse_same_files(std::span<const NamedFile> outputs, std::span<const fs::path> inputs) {
  const std::vector<fs::path> read = files_of(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].path.empty()) continue;
    const Identity output((fs::path(outputs[i].path)));
    for (const fs::path& input : read)
      if (output.is_same(Identity(input))) refuse(outputs[i], "an input, " + in_quotes(input.native()));
    if (const auto in = stream(STDIN_FILENO); in && output.is_same(*in)) refuse(outputs[i], "standard input");
    for (const int descriptor : {STDOUT_FILENO, STDERR_FILENO})
      if (const auto out = stream(descriptor); out && output.is_same(*out) && !names_a_stream(outputs[i].path))
        refuse(outputs[i], descriptor == STDOUT_FILENO ? "standard output" : "standard error");
    for (std::size_t j = 0; j < i; ++j)
      if (!outputs[j].path.empty() && output.is_same(Identity(fs::path(outputs[j].path))))
        refuse(outputs[i], fmt::format("the file of {}", outputs[j].option));
  }
}

}  // namespace foretoken::tools
