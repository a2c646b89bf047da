// Measures the speed of the cost models. A search asks them millions of times.
#include <benchmark/benchmark.h>

#include "sim/cost/costs.h"
#include "sim/cost/example_profile.h"
#include "sim/cost/test_clusters.h"

namespace foretoken::cost {
namespace {

void BM_Gemm(benchmark::State& state) {
  const Profile profile = example_a100_profile();
  GemmShape shape{.m = 2048, .n = 12288, .k = 12288};
  for (auto _ : state) {
    shape.m ^= 64;
    benchmark::DoNotOptimize(gemm_time(shape, profile));
  }
}
BENCHMARK(BM_Gemm);

/// Uses a grid as in the shipped profiles: 7 x 6 x 6 knots.
void BM_GemmCorrected(benchmark::State& state) {
  Profile profile = example_a100_profile();
  GemmCorrection grid{.m = {0, 15, 7}, .n = {5, 16, 6}, .k = {5, 16, 6}};
  grid.log_ratio.assign(7 * 6 * 6, 0.01);
  profile.gemm.at(Precision::kBf16).corrections[static_cast<std::size_t>(GemmPass::kForward)] = grid;
  GemmShape shape{.m = 2048, .n = 12288, .k = 12288};
  for (auto _ : state) {
    shape.m ^= 64;
    benchmark::DoNotOptimize(gemm_time(shape, profile));
  }
}
BENCHMARK(BM_GemmCorrected);

/// As full tables have it: fine tiles, a soft last wave, 11 x 8 x 8 uneven knots, lines of waves.
void BM_GemmFullTable(benchmark::State& state) {
  Profile profile = example_a100_profile();
  GemmLaw& gemm = profile.gemm.at(Precision::kBf16);
  auto& law = std::get<TileWaveLaw>(gemm.law);
  law.tiles = TileSet::kFine;
  law.wave_softness = 0.8;
  const GemmCorrection::Axis m{.last = 15, .knots = 11, .places = {0, 3, 5, 7, 8.5, 10, 10.7, 11.4, 12, 13, 15}};
  const GemmCorrection::Axis n{.first = 5, .last = 16, .knots = 8, .places = {5, 7, 9, 10, 11, 12, 13.5, 16}};
  GemmCorrection grid{.m = m, .n = n, .k = n};
  grid.log_ratio.assign(11 * 8 * 8, 0.01);
  grid.wave_log_ratio.assign(kWaveTiles.size() * kWaveKnots, 0.01);
  gemm.corrections[static_cast<std::size_t>(GemmPass::kForward)] = grid;
  GemmShape shape{.m = state.range(0), .n = 4096, .k = 4096};
  for (auto _ : state) {
    shape.m ^= 64;
    benchmark::DoNotOptimize(gemm_time(shape, profile));
  }
}
BENCHMARK(BM_GemmFullTable)->Arg(256)->Arg(2048)->Arg(16384);

void BM_Attention(benchmark::State& state) {
  const Profile profile = example_a100_profile();
  const AttentionShape shape{.batch = 1, .heads = 12, .q_length = 2048, .kv_length = 2048, .head_dim = 96};
  for (auto _ : state) benchmark::DoNotOptimize(attention_time(shape, profile));
}
BENCHMARK(BM_Attention);

void BM_AllReduce(benchmark::State& state) {
  const Profile profile = example_a100_profile();
  const CollectiveShape shape{.payload = Bytes(50e6), .group = {.ranks = 8, .nodes = 1, .ranks_per_node = 8}};
  const NodeLinks links = dgx_a100();
  for (auto _ : state) benchmark::DoNotOptimize(collective_time(shape, links, profile));
}
BENCHMARK(BM_AllReduce);

}  // namespace
}  // namespace foretoken::cost
