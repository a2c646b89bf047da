// One sample as one compact line of JSON, and back.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "calibration/import/samples.h"

namespace foretoken::measured {

/// The line of a sample, without a newline: its kind and shape first, then "us" ([median, p10, p90], or one number)
/// and "runs". Times carry six significant digits.
[[nodiscard]] std::string line_of(const Sample& sample);
/// The header line: samples behind it, up to the next header, have this origin.
[[nodiscard]] std::string line_of(const Provenance& origin);

/// What makes a sample the same as one already measured: its line up to the results.
[[nodiscard]] std::string key_of(const Sample& sample);

/// Reads what line_of() wrote. Throws std::invalid_argument saying what is wrong with the value.
[[nodiscard]] std::variant<Provenance, Sample> read_record(const nlohmann::json& json);

}  // namespace foretoken::measured
