// Reads a run of the tables in which Megatron-Bridge states its recommended runs.
#pragma once

#include <string>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::bridge {

/// Reads the run `row` ("h100/num_gpus_1024/bf16") of the perf_matrix. `stem` is the name of the file:
/// "llama31_405b_llm_pretrain".
void read_perf_matrix(const Json& document, const std::string& stem, const std::string& row, Report& report);

/// Marks as read what read_perf_matrix() takes from the container beside the rows.
void mark_shared(const Settings& container);

}  // namespace foretoken::io::launch::bridge
