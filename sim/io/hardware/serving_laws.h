// Reads the laws of a GPU that only serving needs: calibration/serving/GPU.json.
#pragma once

#include "sim/cost/kernels/decode_attention.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/node.h"

namespace foretoken::io {

inline constexpr DataKind kServingLaws{"set of serving laws", "calibration/serving"};

[[nodiscard]] cost::ServingLaws read_serving_laws(const Node& node);

}  // namespace foretoken::io
