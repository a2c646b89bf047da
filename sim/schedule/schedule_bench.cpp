// Measures the time to build and to check the largest schedules.
#include <benchmark/benchmark.h>

#include <cstdint>

#include "sim/schedule/check_program.h"
#include "sim/schedule/flush/interleaved_1f1b.h"
#include "sim/schedule/flush/one_f_one_b.h"

namespace foretoken::schedule {
namespace {

// The shape of MT-NLG 530B (35 stages, arXiv:2205.05198 table 3 with 3 chunks) and a deep pipeline of one chunk.
constexpr PipelineShape kInterleaved{.stages = 35, .microbatches = 280, .chunks = 3};
constexpr PipelineShape kDeep{.stages = 64, .microbatches = 512};

std::int64_t ops_of(PipelineShape shape) { return std::int64_t{2} * shape.stages * shape.microbatches * shape.chunks; }

void BM_BuildInterleaved1f1b(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(interleaved_1f1b(kInterleaved));
  state.SetItemsProcessed(state.iterations() * ops_of(kInterleaved));
}
BENCHMARK(BM_BuildInterleaved1f1b)->Unit(benchmark::kMicrosecond);

void BM_Build1f1b(benchmark::State& state) {
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(one_f_one_b(kDeep));
  state.SetItemsProcessed(state.iterations() * ops_of(kDeep));
}
BENCHMARK(BM_Build1f1b)->Unit(benchmark::kMicrosecond);

void BM_CheckInterleaved1f1b(benchmark::State& state) {
  const Program program = interleaved_1f1b(kInterleaved);
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(check_program(program, kInterleaved));
  state.SetItemsProcessed(state.iterations() * ops_of(kInterleaved));
}
BENCHMARK(BM_CheckInterleaved1f1b)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace foretoken::schedule
