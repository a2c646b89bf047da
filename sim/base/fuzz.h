// Fuzz targets: the fuzz program of a room has all targets of the room, and the name of a link to it chooses one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace foretoken {

/// A target. NAME_fuzz is the file that has it, and the link that runs it.
struct FuzzTarget {
  /// `read` takes an input. It may return, or throw ConfigError with complaints of one line each.
  FuzzTarget(std::string_view name, void (*read)(std::string_view text));
};

/// Returns the path of a file of this process with the text.
inline std::string fuzz_file(std::string_view text) {
  const std::string path = "/tmp/foretoken-fuzz-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  return path;
}

}  // namespace foretoken
