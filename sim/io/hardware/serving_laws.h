// Reads the laws of a GPU that only serving needs: calibration/serving/GPU.json.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/cost/kernels/decode_attention.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

inline constexpr DataKind kServingLaws{"set of serving laws", "calibration/serving"};

/// Reads a key that names an engine with decode kernels of its own: trt-llm, vllm or sglang.
[[nodiscard]] std::string read_kernel_owner(const Node& node, std::string_view key, const std::string& otherwise);

[[nodiscard]] cost::ServingLaws read_serving_laws(const Node& node);

/// Returns the laws of the profile called `name`, or nothing when there are none or their file is wrong. Complaints
/// name that file.
[[nodiscard]] std::optional<cost::ServingLaws> find_serving_laws(const std::string& name, Findings& findings);

}  // namespace foretoken::io
