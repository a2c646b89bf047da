// Writes and reads samples as compact lines of JSON, one line each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// Returns the line of a sample, without a newline. Its kind and shape come first, then "us" ([median, p10, p90], or
/// one number) and "runs". Times carry six significant digits.
[[nodiscard]] std::string line_of(const Sample& sample);
/// Returns the header line. The samples after it, up to the next header, have this origin.
[[nodiscard]] std::string line_of(const Provenance& origin);

/// Returns the key of a sample: its line up to the results. Equal keys mean the same measurement.
[[nodiscard]] std::string key_of(const Sample& sample);

/// Reads a line of line_of(). Throws std::invalid_argument with the fault of the value.
[[nodiscard]] std::variant<Provenance, Sample> read_record(const nlohmann::json& json);

}  // namespace foretoken::measured
