// Writes the rows of an answer as CSV, from the same JSON that --json prints.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace foretoken::tools {

/// Writes a list of objects, a line each below a line of columns. A member of a member is the column "result.mfu". A
/// pair of numbers, such as an interval, is the columns "KEY.low" and "KEY.high". Other lists are left out. A row
/// without a column leaves it empty.
[[nodiscard]] std::string csv_of(const nlohmann::ordered_json& rows);

}  // namespace foretoken::tools
