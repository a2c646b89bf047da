// Temporary files beside the file that they are to become: FILE.PID.part.
//
// The program that writes one holds a lock on it. One without a lock belongs to a program that was killed.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

namespace foretoken::tools {

struct TemporaryFile {
  std::string path;
  int descriptor = -1;  ///< open for writing, and locked
  int error = 0;        ///< errno, when it could not be made; the rest is then empty
};

/// Makes an empty file beside `target`. It is new: neither a file nor a link that stands there is opened. It has
/// `mode`, or that of any new file. Files of killed programs for the same target are removed.
[[nodiscard]] TemporaryFile open_temporary_file(const std::filesystem::path& target, std::optional<mode_t> mode);

}  // namespace foretoken::tools
