// Numbers as people write them on a command line: 300B tokens, 30d, 2M dollars, 10m.
#pragma once

#include <string>

namespace foretoken::tools {

/// Reads a positive number, with k, M, B or T for thousands to trillions: "300B", "1.5e12", "2M". Throws ConfigError
/// that names `option`.
[[nodiscard]] double parse_count(const std::string& option, const std::string& text);

/// Reads a positive time with s, m, h, d or w and returns its seconds. Throws ConfigError that names `option`.
[[nodiscard]] double parse_seconds(const std::string& option, const std::string& text);

}  // namespace foretoken::tools
