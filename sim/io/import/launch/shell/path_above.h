// Finds a file that a script names from a folder above its own.
#pragma once

#include <filesystem>
#include <string>

namespace foretoken::io::shell {

/// Levels of folders above a script that are tried, within its repository.
constexpr int kFoldersAbove = 4;

struct PathAbove {
  std::filesystem::path folder, whole;  // the folder at which the name begins, and both joined
};

/// Returns the first folder of `folder` and the `levels` above it that holds a regular file of that name, up to that of
/// the repository; the last one tried where none does. A script is often started from a folder above its own.
[[nodiscard]] PathAbove path_above(const std::string& name, const std::filesystem::path& folder, int levels);

}  // namespace foretoken::io::shell
