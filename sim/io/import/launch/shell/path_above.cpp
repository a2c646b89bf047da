// Climbs folders until a name is found below one.
#include "sim/io/import/launch/shell/path_above.h"

#include <system_error>

namespace foretoken::io::shell {

namespace fs = std::filesystem;

PathAbove path_above(const std::string& name, const fs::path& folder, int levels) {
  std::error_code error;
  const bool relative = fs::path(name).is_relative();
  PathAbove found{folder, relative ? folder / name : fs::path(name)};
  for (; levels > 0 && relative && !fs::is_regular_file(found.whole, error); --levels) {
    if (fs::exists(found.folder / ".git", error) || found.folder == found.folder.parent_path()) break;
    found.folder = found.folder.parent_path();
    found.whole = found.folder / name;
  }
  return found;
}

}  // namespace foretoken::io::shell
