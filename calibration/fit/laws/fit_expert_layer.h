// Fits laws of whole layers of experts on tables of engines of inference.
#pragma once

#include <optional>
#include <vector>

#include "calibration/import/experts_csv.h"
#include "sim/cost/kernels/expert_layer.h"

namespace foretoken::fit {

/// Returns the layer on one GPU whose time the sample is. Its rows are spread evenly over the experts.
[[nodiscard]] cost::ExpertLayer expert_layer_of(const measured::ExpertSample& sample);

/// Fits the seven numbers of a law. Samples have one precision, and one expert rank or several. One in five is held
/// out. `bandwidth` and the dense `peak` are those of the datasheet: the law has no higher rates. Returns nothing with
/// fewer than 100 samples.
[[nodiscard]] std::optional<cost::ExpertLayerLaw> fit_expert_layer(const std::vector<measured::ExpertSample>& samples,
                                                                   BytesPerSecond bandwidth, FlopPerSecond peak);

}  // namespace foretoken::fit
