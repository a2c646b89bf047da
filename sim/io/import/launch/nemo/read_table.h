// Reads a row of NeMo's CSV files of recommended model configurations.
#pragma once

#include <string>
#include <string_view>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::nemo {

/// Returns true for a CSV file whose first line names the columns of such a table.
[[nodiscard]] bool is_run_table(std::string_view text);

/// Reads line `row` of the file, the header being line 1. Without a row a table of one is read; of several it is asked
/// for.
void read_run_table(std::string_view text, const std::string& row, Report& report);

}  // namespace foretoken::io::launch::nemo
