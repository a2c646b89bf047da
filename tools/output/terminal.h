// The width of a terminal.
#pragma once

#include <cstddef>
#include <optional>

namespace foretoken::tools {

/// Returns the columns that COLUMNS states, else those of the terminal behind `descriptor`; nothing where neither says.
[[nodiscard]] std::optional<std::size_t> terminal_columns(int descriptor);

}  // namespace foretoken::tools
