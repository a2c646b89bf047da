// Measures the time to simulate every GPU of a job.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "sim/base/process/keep_memory.h"
#include "sim/io/hardware/read_nccl.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/ranks/nccl_flows.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

const std::string kScenarios = std::string(FORETOKEN_SOURCE_DIR) + "/scenarios/";

void simulate_unfolded(benchmark::State& state, const job::Job& job, ranks::Traffic traffic) {
  const step::LoweredStep step = step::lower(job, step::Fidelity::kStage);
  keep_freed_memory();  // as the program does
  double tasks = 0;
  for (auto _ : state) {
    const ranks::UnfoldedStep every = ranks::unfold(step, job, traffic);
    benchmark::DoNotOptimize(des::run(every.graph, {}, des::Kept::kStarts).makespan);
    tasks = static_cast<double>(every.graph.tasks());
  }
  state.counters["gpus"] = job.gpus;
  state.counters["tasks"] = tasks;
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
}

void gpt_1t_3072(benchmark::State& state, ranks::Traffic traffic) {
  simulate_unfolded(state, io::read_scenario_file(kScenarios + "gpt-1t-3072-a100.json", {}).job, traffic);
}
BENCHMARK_CAPTURE(gpt_1t_3072, analytic, ranks::Traffic::kAnalytic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt_1t_3072, flows, ranks::Traffic::kFlows)->Unit(benchmark::kMillisecond);

// Simulates Llama 3 405B on 1024 to 16,384 GPUs: more replicas of the same pipelines.
void llama_3_405b(benchmark::State& state) {
  const auto gpus = state.range(0);
  const std::vector<std::string> sets = {"gpus=" + std::to_string(gpus),
                                         "parallelism.data=" + std::to_string(gpus / 256),
                                         "batch.global=" + std::to_string(gpus / 8)};
  simulate_unfolded(state, io::read_scenario_file(kScenarios + "llama-3-405b-1024-h100.json", sets).job,
                    ranks::Traffic::kAnalytic);
}
BENCHMARK(llama_3_405b)->RangeMultiplier(2)->Range(1024, 16384)->Unit(benchmark::kMillisecond);

// Simulates DeepSeek-V3 on 2048 GPUs: 16 stages, and expert groups of 64 ranks on eight nodes.
void deepseek_v3_2048(benchmark::State& state, ranks::Traffic traffic) {
  constexpr const char* kScenario = R"({
      "model": "deepseek-v3", "cluster": "dgx-h100-ndr", "gpus": 2048, "runtime": "megatron-core", "precision": "bf16",
      "parallelism": {"pipeline": 16, "expert": 64, "layers_per_stage": [4,4,4,4,4,4,4,4,4,4,4,4,4,3,3,3]},
      "moe": {"dispatcher": "deepep"}, "optimizer": {"zero_stage": 1}, "recompute": "full",
      "batch": {"micro": 1, "global": 15360, "sequence_length": 4096}})";
  simulate_unfolded(state, io::read_scenario_text(kScenario, "deepseek-v3-2048", {}).job, traffic);
}
BENCHMARK_CAPTURE(deepseek_v3_2048, analytic, ranks::Traffic::kAnalytic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(deepseek_v3_2048, flows, ranks::Traffic::kFlows)->Unit(benchmark::kMillisecond);

// Simulates one all-reduce of 1 GB over every GPU of a cluster as flows, by a ring or by trees and switches.
void all_reduce_flows(benchmark::State& state, cost::NcclAlgorithm algorithm) {
  const auto gpus = static_cast<int>(state.range(0));
  const net::Cluster cluster = io::read_scenario_file(kScenarios + "llama-3-405b-1024-h100.json", {}).job.cluster;
  const ranks::Nccl nccl{
      .architecture = cost::NcclArchitecture::kHopper, .tuning = io::read_nccl_tuning(""), .settings = {algorithm, {}}};
  const int domain = cluster.links.gpus;
  for (auto _ : state)
    benchmark::DoNotOptimize(
        ranks::nccl_flow_time(CollectiveKind::kAllReduce, Bytes(1e9), domain, gpus / domain, cluster, nccl));
}
BENCHMARK_CAPTURE(all_reduce_flows, ring, cost::NcclAlgorithm::kRing)
    ->Arg(512)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce_flows, tree, cost::NcclAlgorithm::kTree)
    ->Arg(512)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(all_reduce_flows, nvls_tree, cost::NcclAlgorithm::kNvlsTree)
    ->Arg(512)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

// The parts of a cluster that are bad: every GPU, every NIC or every GPU's cable to its NVSwitch is slow, or one NIC of
// each node has failed.
enum class Bad : std::uint8_t { kSlowGpus, kSlowNics, kSlowLinks, kFailedNics };

constexpr int kGpusPerNode = 8;

std::string bad_part(Bad bad, int node, int place) {
  switch (bad) {
    case Bad::kSlowGpus:
      return fmt::format(R"({{"gpu": {}, "slowdown": {}}})", node * kGpusPerNode + place, 1.1 + 1e-4 * (node % 100));
    case Bad::kSlowNics:
      return fmt::format(R"({{"node": {}, "nic": {}, "rate_factor": 0.5}})", node, place);
    case Bad::kSlowLinks:
      return fmt::format(R"({{"between": ["node {0} gpu {1}", "node {0} nvswitch 0"], "rate_factor": 0.5}})", node,
                         place);
    case Bad::kFailedNics:
      return fmt::format(R"({{"node": {}, "nic": {}}})", node, place);
  }
  return "";
}

std::string with_bad_parts(Bad bad, int gpus) {
  constexpr const char* kLists[] = {"slow_gpus", "slow_nics", "slow_links", "failed_nics"};
  std::string parts;
  for (int node = 0; node < gpus / kGpusPerNode; ++node)
    for (int place = 0; place < (bad == Bad::kFailedNics ? 1 : kGpusPerNode); ++place)
      parts += fmt::format("{}{}", parts.empty() ? "" : ",", bad_part(bad, node, place));
  return fmt::format(
      R"({{"model": "gpt3-175b", "cluster": "selene", "gpus": {}, "parallelism": {{"tensor": 8, "pipeline": 8}},
           "batch": {{"micro": 1, "global": {}, "sequence_length": 2048}}, "imperfections": {{"{}": [{}]}}}})",
      gpus, gpus / 64, kLists[static_cast<std::size_t>(bad)], parts);
}

// Predicts a job with bad parts, and measures what they cost together or one by one.
void bad_parts(benchmark::State& state, Bad bad, Delays delays) {
  const job::Job job =
      io::read_scenario_text(with_bad_parts(bad, static_cast<int>(state.range(0))), "bad-parts", {}).job;
  keep_freed_memory();  // as the program does
  for (auto _ : state) benchmark::DoNotOptimize(predict(job, {.keeps_tasks = false, .delays = delays}).metrics);
}
void at_two_sizes(benchmark::internal::Benchmark* bench) {
  bench->Arg(4096)->Arg(65536)->UseRealTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK_CAPTURE(bad_parts, slow_gpus, Bad::kSlowGpus, Delays::kTogether)->Apply(at_two_sizes);
BENCHMARK_CAPTURE(bad_parts, slow_nics, Bad::kSlowNics, Delays::kTogether)->Apply(at_two_sizes);
BENCHMARK_CAPTURE(bad_parts, slow_links, Bad::kSlowLinks, Delays::kTogether)->Apply(at_two_sizes);
BENCHMARK_CAPTURE(bad_parts, failed_nics, Bad::kFailedNics, Delays::kTogether)->Apply(at_two_sizes);
BENCHMARK_CAPTURE(bad_parts, slow_nics_each, Bad::kSlowNics, Delays::kEach)->Apply(at_two_sizes);

}  // namespace
}  // namespace foretoken::study
