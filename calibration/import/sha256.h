// Computes SHA-256 (FIPS 180-4). Recipes recognise their inputs by it.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::measured {

/// Returns 64 hexadecimal digits, as sha256sum prints them.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace foretoken::measured
