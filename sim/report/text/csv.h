// Writes fields of CSV.
#pragma once

#include <string>
#include <string_view>

namespace foretoken::report {

/// One field (RFC 4180). Text that a spreadsheet would take for a formula, like "=1+1", gets an apostrophe in front;
/// numbers stay as they are.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace foretoken::report
