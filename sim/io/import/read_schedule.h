// Reads a pipeline schedule in PyTorch's CSV format, from a file or from a scenario.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/json/node.h"
#include "sim/schedule/csv/own_schedule.h"

namespace foretoken::io {

/// Reads a text. Returns nothing, and complains with "FILE:ROW:COLUMN", at the first mistake. Rows and columns count
/// cells from 1.
[[nodiscard]] std::optional<schedule::ImportedSchedule> read_schedule_text(std::string_view text,
                                                                           const std::string& file, Findings& findings);

/// Reads the value of `schedule` in a scenario: {"file": PATH}, or {"name": NAME, "rows": ["0F0,0B0", ...]} with the
/// rows of such a file. Its remarks become assumptions. Returns nothing, and complains, when it is neither.
[[nodiscard]] std::optional<schedule::Schedule> read_own_schedule(const Node& node);

/// Returns true for a value of `schedule` that refers to a file.
[[nodiscard]] bool refers_to_schedule_file(const nlohmann::json& schedule);

/// Replaces {"file": PATH} by the rows of the file. A file that cannot be read stays a reference.
void inline_schedule(nlohmann::json& schedule, const std::filesystem::path& folder);

/// Makes the path of {"file": PATH} absolute.
void anchor_schedule(nlohmann::json& schedule, const std::filesystem::path& folder);

}  // namespace foretoken::io
