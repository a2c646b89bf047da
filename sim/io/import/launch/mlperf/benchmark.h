// The benchmarks of MLPerf: their models, lengths and adapters.
#pragma once

#include <string>

#include "sim/io/import/launch/mlperf/variables.h"

namespace foretoken::io::launch::mlperf {

/// The reason for what is asked for where nothing names the benchmark.
inline constexpr const char* kUnknownBenchmark = "the folders of the file name no known benchmark";

/// Maps the model, the length of a sequence and LoRA by the folder's name, by conf/ or by variables. Returns false
/// where they name no benchmark. `incomplete`: a file that the script reads is not there.
bool map_benchmark(const Settings& settings, const std::string& path, bool incomplete, Report& report);

/// Refuses a benchmark whose program is another one, by its name.
bool refuse_other_benchmark(const Settings& settings, const std::string& path, Report& report);

}  // namespace foretoken::io::launch::mlperf
