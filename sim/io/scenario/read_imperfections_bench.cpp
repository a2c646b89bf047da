// Measures the time to read long lists of slow hardware, which must grow with their length.
#include <benchmark/benchmark.h>

#include <nlohmann/json.hpp>

#include "sim/io/scenario/read_scenario.h"

namespace foretoken::io {
namespace {

using nlohmann::json;

// A job whose every GPU has a slow cable to its NVSwitch.
std::string with_slow_cables(int gpus) {
  constexpr int kGpusPerNode = 8;
  json cables = json::array();
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const std::string node = "node " + std::to_string(gpu / kGpusPerNode);
    cables.push_back({{"between", {node + " gpu " + std::to_string(gpu % kGpusPerNode), node + " nvswitch 0"}},
                      {"rate_factor", 0.5}});
  }
  return json({{"model", "gpt3-175b"},
               {"cluster", "selene"},
               {"gpus", gpus},
               {"batch", {{"micro", 1}, {"global", gpus}, {"sequence_length", 2048}}},
               {"parallelism", {{"tensor", 8}, {"pipeline", 8}}},
               {"imperfections", {{"slow_links", cables}}}})
      .dump();
}

void read_slow_cables(benchmark::State& state) {
  const std::string text = with_slow_cables(static_cast<int>(state.range(0)));
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(read_scenario_text(text, "slow.json").job.gpus);
}
BENCHMARK(read_slow_cables)->Arg(4096)->Arg(65536)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::io
