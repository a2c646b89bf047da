// Maps a row of NVIDIA's tables of recommended runs: NeMo's CSV files and Megatron-Bridge's perf_matrix.
#pragma once

#include <string>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// The facts that stand beside the numbers of a row.
struct RecommendedRun {
  std::string model{}, task{}, dtype{};   ///< "llama3_70b"; "pre_train", "sft", "lora"; "bf16", "fp8", "fp8_cs"
  std::string fp8_recipe = "tensorwise";  ///< of a dtype that names none
};

/// Maps the columns of the row. The recipes of both frameworks reduce gradients in bf16, shard optimizer states and
/// overlap what they can.
void map_recommended_run(const Settings& row, const RecommendedRun& run, Report& report);

}  // namespace foretoken::io::launch::nemo
