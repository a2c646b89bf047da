// Looks a named file up in a folder.
#include "sim/io/import/launch/near_file.h"

#include <system_error>

namespace foretoken::io::launch {

namespace fs = std::filesystem;

std::optional<fs::path> near_file(const std::string& name, const std::string& folder) {
  constexpr std::uintmax_t kLargest = 1 << 20;
  std::error_code error;
  for (const fs::path& path : {fs::path(folder) / name, fs::path(folder) / fs::path(name).filename()})
    if (fs::is_regular_file(path, error) && fs::file_size(path, error) <= kLargest) return path;
  return std::nullopt;
}

}  // namespace foretoken::io::launch
