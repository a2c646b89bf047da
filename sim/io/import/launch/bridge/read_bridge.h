// Makes a scenario of a configuration of Megatron-Bridge: a saved ConfigContainer, overrides, or a table of runs.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"

namespace foretoken::io::launch::bridge {

/// Returns true for a ConfigContainer of Megatron-Bridge, a part of one, or a perf_matrix.
[[nodiscard]] bool is_bridge(const Json& document);

/// The facts that stand beside a document.
struct Run {
  std::string stem;  ///< of the file: it names the model of a perf_matrix
  std::string row;   ///< of a perf_matrix: "h100/num_gpus_1024/bf16"; empty: it is asked for
};

void read_bridge(Json document, const Run& run, Report& report);

}  // namespace foretoken::io::launch::bridge
