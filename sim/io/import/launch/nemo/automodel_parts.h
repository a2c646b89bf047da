// The parts of a recipe of NeMo AutoModel that precision and memory follow from.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// Maps LoRA, beside the products that the recipe names. Runs before the precision: frozen weights keep theirs.
void map_automodel_method(const Settings& settings, const std::string& runtime, Report& report);

/// Maps the type of products, of the kept weights and of reduced gradients.
void map_automodel_precision(const Settings& settings, Report& report);

/// Maps recomputing, sharding, offload and the optimizer. Gathered weights stay beside a pipeline.
void map_automodel_memory(const Settings& settings, bool piped, Report& report);

/// Maps the exchange of tokens and the balance of experts.
void map_automodel_experts(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::nemo
