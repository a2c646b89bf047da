// Makes a model that starts from no weights, as run_clm.py and run_mlm.py of transformers do.
#pragma once

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::tuning {

/// Maps the model of --model_type or --config_name, with --config_overrides. Returns false where there is no such kind:
/// another --config_name is a file that decides.
bool map_model_from_scratch(const Settings& settings, Report& report);

}  // namespace foretoken::io::launch::tuning
