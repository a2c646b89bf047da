// The files of kernels of inference, calibration/inference/NAME.json: read and written.
#pragma once

#include <string>

#include "sim/cost/inference_laws.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

inline constexpr DataKind kInferenceLaws{"set of inference laws", "calibration/inference"};

/// Reads a whole file.
[[nodiscard]] cost::InferenceLaws read_inference_laws(const Node& node);

/// Returns the laws called `name`; without such a file they are empty, and kernels fall back to the profile. Complaints
/// name that file.
[[nodiscard]] cost::InferenceLaws find_inference_laws(const std::string& name, Findings& findings);

/// Returns the text of the file, which reads as the same laws.
[[nodiscard]] std::string to_json_text(const cost::InferenceLaws& laws);

}  // namespace foretoken::io
