// Measures how the time of a prediction grows with micro-batches and stages. unfold_bench.cpp does so with GPUs.
// tools/plot_growth_main.cpp draws what they print.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/process/keep_memory.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

constexpr std::int64_t kTensor = 8, kData = 6, kLayers = 128;

// Predicts a step of a GPT with `stages` pipeline stages, `chunks` chunks on each, and `microbatches` in each replica.
// The run keeps its tasks, as for a trace, or takes the step from its plan.
void predict_pipeline(benchmark::State& state, std::int64_t stages, std::int64_t microbatches, std::int64_t chunks,
                      bool keeps_tasks) {
  const std::vector<std::string> sets = {"gpus=" + std::to_string(kTensor * kData * stages),
                                         "parallelism.pipeline=" + std::to_string(stages),
                                         "parallelism.virtual_pipeline=" + std::to_string(chunks),
                                         chunks > 1 ? "schedule=interleaved-1f1b" : "schedule=1f1b",
                                         "batch.global=" + std::to_string(kData * microbatches)};
  const job::Job job =
      io::read_scenario_file(std::string(FORETOKEN_SOURCE_DIR) + "/scenarios/gpt-1t-3072-a100.json", sets).job;
  keep_freed_memory();  // as the program does
  std::size_t tasks = 0;
  for (auto _ : state) tasks = predict(job, {.keeps_tasks = keeps_tasks}).metrics.tasks;
  state.counters["tasks"] = static_cast<double>(tasks);
}

void by_m(benchmark::State& state, std::int64_t chunks, bool keeps_tasks) {
  constexpr std::int64_t kStages = 16;
  predict_pipeline(state, kStages, state.range(0), chunks, keeps_tasks);
}

void by_p(benchmark::State& state, std::int64_t chunks, bool keeps_tasks) {
  constexpr std::int64_t kMicrobatches = 1024;
  predict_pipeline(state, state.range(0), kMicrobatches, chunks, keeps_tasks);
}

void few_to_many_microbatches(benchmark::internal::Benchmark* growth) {
  growth->RangeMultiplier(2)->Range(256, 8192)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(by_m, 1f1b, 1, false)->Apply(few_to_many_microbatches);
BENCHMARK_CAPTURE(by_m, interleaved, 2, false)->Apply(few_to_many_microbatches);
BENCHMARK_CAPTURE(by_m, 1f1b_tasks, 1, true)->Apply(few_to_many_microbatches);
BENCHMARK_CAPTURE(by_m, interleaved_tasks, 2, true)->Apply(few_to_many_microbatches);

// Interleaved stages have two layers or more, one for each chunk.
void few_to_many_stages(benchmark::internal::Benchmark* growth) {
  growth->RangeMultiplier(2)->Range(4, kLayers / 2)->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(by_p, 1f1b, 1, false)->Apply(few_to_many_stages);
BENCHMARK_CAPTURE(by_p, interleaved, 2, false)->Apply(few_to_many_stages);
BENCHMARK_CAPTURE(by_p, 1f1b_tasks, 1, true)->Apply(few_to_many_stages);
BENCHMARK_CAPTURE(by_p, interleaved_tasks, 2, true)->Apply(few_to_many_stages);

}  // namespace
}  // namespace foretoken::study
