// Reads the config_*.sh of NVIDIA's and its partners' MLPerf training submissions.
#pragma once

#include <filesystem>

#include "sim/io/import/launch/report.h"
#include "sim/io/import/launch/shell/script.h"

namespace foretoken::io::launch::mlperf {

/// Returns true when the script sets a submission's variables: nodes, GPUs of a node, and parallel degrees.
[[nodiscard]] bool is_mlperf_script(const shell::Script& script);

/// Refuses a configuration of MLCommons' own program of Llama 3.1 8B, and of AMD's that follows it. Returns false for
/// other scripts.
[[nodiscard]] bool refuse_reference_program(const shell::Script& script, Report& report);

/// Makes a scenario of the variables. Values that no script sets come from run_and_time.sh and conf/*.yaml beside it,
/// then from NeMo's defaults. `path` is the script; its folders name the benchmark, its name the machine.
void read_mlperf(const shell::Script& script, const std::filesystem::path& path, Report& report);

}  // namespace foretoken::io::launch::mlperf
