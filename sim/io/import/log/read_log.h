// Reads the log of a training run, whichever program wrote it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sim/io/import/log/training_log.h"
#include "sim/io/json/node.h"

namespace foretoken::io::log {

/// A longer line is read up to here. No line of a step is as long.
inline constexpr std::size_t kLongestLine = std::size_t{1} << 14;

/// A file whose front states no step up to here is no log of a training. A device without end is left there.
inline constexpr std::size_t kLongestFront = std::size_t{256} << 20;

/// Reads a log. Lines of other programs are passed over. Returns nothing, and complains with one line, when no line
/// states the time of a step: another kind of file, a log without times, or one of reinforcement learning.
[[nodiscard]] std::optional<TrainingLog> read_log_text(std::string_view text, const std::string& file,
                                                       Findings& findings);

/// Reads a file of any length in blocks, so that its size costs no memory. A front of kLongestFront without a step is
/// refused. The file may be compressed (gzip), then up to
/// kLargestFile.
[[nodiscard]] std::optional<TrainingLog> read_log_file(const std::filesystem::path& path, Findings& findings);

}  // namespace foretoken::io::log
