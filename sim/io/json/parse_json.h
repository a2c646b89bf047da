// Parses JSON strictly: UTF-8 only, no duplicate keys, bounded depth, finite numbers, one clear complaint.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/node.h"

namespace foretoken::io {

/// The deepest nesting of arrays and objects. Deeper text is refused, so that no recursion over a value overflows.
inline constexpr int kDeepestNesting = 64;

/// The size in bytes above which a file is refused unread.
inline constexpr std::size_t kLargestFile = std::size_t{32} << 20;

/// Parses `text`. Returns nothing, and complains with the name `file`, when it is not JSON. Complaints give line and
/// column, or the pointer where it is known.
[[nodiscard]] std::optional<nlohmann::json> parse_json(std::string_view text, const std::string& file,
                                                       Findings& findings);

/// Reads the rest of a stream. Returns nothing, and complains with the name `file`, when it is too long or cannot be
/// read.
[[nodiscard]] std::optional<std::string> read_stream(std::istream& in, const std::string& file, Findings& findings);

/// Reads the text of a file, unpacks it where it is gzip, and adds the file to `findings.files`. Returns nothing, and
/// complains with the name `file`, when it cannot be read.
[[nodiscard]] std::optional<std::string> read_text_file(const std::filesystem::path& path, const std::string& file,
                                                        Findings& findings);

}  // namespace foretoken::io
