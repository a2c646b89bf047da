// Helpers of fuzz targets: input that must be read or refused, and input as a file.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "sim/base/error.h"

namespace foretoken {

inline std::string_view fuzz_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Runs `read`, which may return, or throw ConfigError with complaints of one line each. Returns 0 for libFuzzer.
template <class Read>
int must_read_or_refuse(Read&& read) {
  try {
    read();
  } catch (const ConfigError& error) {
    for (const Complaint& complaint : error.complaints())
      if (complaint.line().find('\n') != std::string::npos) std::abort();
  }
  return 0;
}

/// Returns the path of a file of this process with the text.
inline std::string fuzz_file(std::string_view text) {
  const std::string path = "/tmp/foretoken-fuzz-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
  return path;
}

}  // namespace foretoken
