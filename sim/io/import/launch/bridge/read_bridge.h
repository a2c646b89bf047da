// Makes a scenario of a configuration of Megatron-Bridge: a saved ConfigContainer, overrides, or a table of runs.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::bridge {

/// Returns true for a ConfigContainer of Megatron-Bridge, a part of one, or a perf_matrix.
[[nodiscard]] bool is_bridge(const Json& document);

/// `stem` is the name of the file, which names the model of a perf_matrix. `row` chooses a run of it:
/// "h100/num_gpus_1024/bf16"; empty: it is asked for.
void read_bridge(const Json& document, const std::string& stem, const std::string& row, Report& report);

}  // namespace foretoken::io::launch::bridge
