// Measures the speed of a whole prediction: reading, lowering, running, measuring.
#include <benchmark/benchmark.h>

#include <string>

#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

std::string path_of(const char* job) { return std::string(FORETOKEN_SOURCE_DIR "/scenarios/") + job + ".json"; }

void read(benchmark::State& state, const char* job) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(io::read_scenario_file(path_of(job)).job);
}

// Runs everything but reading: lowering, the engine's run, observations, metrics.
void simulate_once(benchmark::State& state, const char* job, step::Fidelity fidelity) {
  const job::Job question = io::read_scenario_file(path_of(job)).job;
  std::size_t tasks = 0;
  for ([[maybe_unused]] auto _ : state)
    tasks = predict(question, {.fidelity = fidelity, .keeps_tasks = false}).metrics.tasks;
  state.counters["tasks"] = static_cast<double>(tasks);
  state.counters["tasks/s"] =
      benchmark::Counter(static_cast<double>(tasks), benchmark::Counter::kIsIterationInvariantRate);
}

void run_only(benchmark::State& state, const char* job) {
  const step::LoweredStep step = step::lower(io::read_scenario_file(path_of(job)).job, step::Fidelity::kStage);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(des::run(step.workload.graph));
}

constexpr auto kStage = step::Fidelity::kStage;
constexpr auto kKernel = step::Fidelity::kKernel;

BENCHMARK_CAPTURE(read, gpt_1t_3072, "gpt-1t-3072-a100")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_once, gpt_1t_3072, "gpt-1t-3072-a100", kStage)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_only, gpt_1t_3072, "gpt-1t-3072-a100")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_once, gpt_530b_2520_interleaved, "gpt-530b-2520-a100", kStage)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(run_only, gpt_530b_2520_interleaved, "gpt-530b-2520-a100")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_once, gpt3_175b_1024, "gpt3-175b-1024-a100", kStage)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(simulate_once, gpt3_175b_1024_kernels, "gpt3-175b-1024-a100", kKernel)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::study
