// Summarises the results of a calibration beside the datasheet: a few lines for people.
#pragma once

#include <optional>
#include <string>

#include "calibration/import/samples.h"
#include "sim/net/cluster.h"

namespace foretoken::measure {

/// Returns the best matrix rates per precision with their shapes, sustained rates, memory bandwidth per kernel,
/// attention rates, bus bandwidths and launch costs. Each has its share of the datasheet where that is known.
[[nodiscard]] std::string summary_text(const measured::Samples& samples, const std::optional<net::Gpu>& datasheet);

}  // namespace foretoken::measure
