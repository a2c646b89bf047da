// Finds the data file of a GPU by the name that its driver states.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/model/transformer.h"
#include "sim/net/cluster.h"

namespace foretoken::measure {

/// Returns the GPU of `known` that fits, or nothing. The first word of its name stands in the driver's name, PCIe and
/// SXM agree, and its memory is within 3 %.
[[nodiscard]] std::optional<net::Gpu> datasheet_of(std::string_view driver_name, Bytes memory,
                                                   const std::vector<net::Gpu>& known);

/// Returns all GPUs or models of the data folders, by name. Throws ConfigError when a file is wrong.
[[nodiscard]] std::vector<net::Gpu> known_gpus();
[[nodiscard]] std::vector<model::Transformer> known_models();

}  // namespace foretoken::measure
