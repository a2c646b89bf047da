// Reads compressed files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace foretoken::io {

/// True for bytes that begin as gzip does (RFC 1952).
[[nodiscard]] bool is_gzip(std::string_view bytes);

/// Returns what gzip compressed, of all members one after another. Returns nothing when `bytes` are broken or cut
/// short, and more than `most` bytes when there are more: it stops there.
[[nodiscard]] std::optional<std::string> gunzip(std::string_view bytes, std::size_t most);

}  // namespace foretoken::io
