// Reads and writes files of samples: JSON lines, with a header line before the samples that it describes.
#pragma once

#include <string>
#include <string_view>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Reads the text of one file. A killed writer may leave a last line without a newline; it is dropped, with a note.
/// Throws ConfigError with every wrong line as "FILE:LINE: what".
[[nodiscard]] Samples read_lines(std::string_view text, const std::string& file);

/// Writes the samples as JSON lines that read_lines() reads. The order is gemm, kernel, attention, collective, host,
/// clock, and in each kind the order of their origins.
[[nodiscard]] std::string write_lines(const Samples& samples);

}  // namespace foretoken::measured
