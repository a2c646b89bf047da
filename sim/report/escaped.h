// Text in HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::report {

/// `text` as content or as an attribute in double quotes: markup characters as entities, control characters but
/// newlines as blanks.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace foretoken::report
