// Files that a script or a configuration names by a path of another machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch {

/// Returns the file of that name below `folder`, the one there with the same last part (configs/ds.json is ds.json), or
/// the one of that name below up to four folders above, within the repository. Nothing where none is there, or it is
/// larger than 1 MiB: a configuration is a few kilobytes.
[[nodiscard]] std::optional<std::filesystem::path> near_file(const std::string& name, const std::string& folder);

/// Returns the text of a file that the script writes under that name, or under the same last part. Nothing where no
/// line writes it, or a command of which no reading knows the output.
[[nodiscard]] std::optional<std::string> text_written(const shell::Script& script, const std::string& name);

/// Returns the text of a file that the script writes, or that stands near it. Nothing where a command writes it whose
/// output no reading knows.
[[nodiscard]] std::optional<std::string> text_of_named(const shell::Script& script, const std::string& name,
                                                       const std::string& folder);

}  // namespace foretoken::io::launch
