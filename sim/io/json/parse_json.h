// Text to JSON, strictly: UTF-8 only, no duplicate keys, bounded depth, finite numbers, one clear complaint.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// Arrays and objects inside each other; deeper text is refused, so that no recursion over a value can run away.
inline constexpr int kDeepestNesting = 64;

/// Larger files are refused unread.
inline constexpr std::size_t kLargestFile = std::size_t{32} << 20;

/// The value that `text` states; nothing, and a complaint naming `file`, when it is not JSON. Complaints say line and
/// column, or the pointer where the structure is known.
[[nodiscard]] std::optional<nlohmann::json> parse_json(std::string_view text, const std::string& file,
                                                       Findings& findings);

/// All that is left of a stream; nothing, and a complaint naming `file`, when it is too long or cannot be read.
[[nodiscard]] std::optional<std::string> read_stream(std::istream& in, const std::string& file, Findings& findings);

/// The bytes of a file, which then stands in `findings.files`; nothing, and a complaint naming `file`, when it cannot
/// be read.
[[nodiscard]] std::optional<std::string> read_text_file(const std::filesystem::path& path, const std::string& file,
                                                        Findings& findings);

}  // namespace foretoken::io
