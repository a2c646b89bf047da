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
