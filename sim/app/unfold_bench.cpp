// How long it takes to simulate every GPU of a job.
#include <benchmark/benchmark.h>

#include <numeric>
#include <string>

#include "sim/app/simulate.h"
#include "sim/cost/costs.h"
#include "sim/cost/network_share.h"
#include "sim/io/read_scenario.h"
#include "sim/lowering/wires.h"

namespace foretoken::app {
namespace {

const std::string kScenarios = std::string(FORETOKEN_SOURCE_DIR) + "/scenarios/";

void simulate_unfolded(benchmark::State& state, const lowering::Scenario& scenario, lowering::Traffic traffic) {
  const lowering::LoweredStep step = lowering::lower(scenario, lowering::Fidelity::kStage);
  double tasks = 0;
  for (auto _ : state) {
    const lowering::UnfoldedStep every = lowering::unfold(step, scenario, traffic);
    benchmark::DoNotOptimize(des::run(every.graph).makespan);
    tasks = static_cast<double>(every.graph.tasks());
  }
  state.counters["gpus"] = scenario.gpus;
  state.counters["tasks"] = tasks;
  state.counters["tasks/s"] = benchmark::Counter(tasks, benchmark::Counter::kIsIterationInvariantRate);
}

void gpt_1t_3072(benchmark::State& state, lowering::Traffic traffic) {
  simulate_unfolded(state, io::read_scenario_file(kScenarios + "gpt-1t-3072-a100.json", {}), traffic);
}
BENCHMARK_CAPTURE(gpt_1t_3072, analytic, lowering::Traffic::kAnalytic)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gpt_1t_3072, flows, lowering::Traffic::kFlows)->Unit(benchmark::kMillisecond);

// Llama 3 405B on 1024 to 16,384 GPUs: more replicas of the same pipelines.
void llama_3_405b(benchmark::State& state) {
  const auto gpus = state.range(0);
  const std::vector<std::string> sets = {"gpus=" + std::to_string(gpus),
                                         "parallelism.data=" + std::to_string(gpus / 256),
                                         "batch.global=" + std::to_string(gpus / 8)};
  simulate_unfolded(state, io::read_scenario_file(kScenarios + "llama-3-405b-1024-h100.json", sets),
                    lowering::Traffic::kAnalytic);
}
BENCHMARK(llama_3_405b)->RangeMultiplier(2)->Range(1024, 16384)->Unit(benchmark::kMillisecond);

// One all-reduce of 1 GB over every GPU of a cluster as flows: routes and rates.
void all_reduce_flows(benchmark::State& state) {
  const auto gpus = static_cast<int>(state.range(0));
  lowering::Scenario scenario = io::read_scenario_file(kScenarios + "llama-3-405b-1024-h100.json", {});
  scenario.gpus = gpus;
  const NodeLinks& links = scenario.cluster.links;
  const GroupShape all{.ranks = gpus, .nodes = gpus / links.gpus, .ranks_per_node = links.gpus, .groups_per_node = 1};
  const Seconds time = cost::collective_time({CollectiveKind::kAllReduce, Bytes(1e9), all}, links, scenario.profile);
  std::vector<int> ring(static_cast<std::size_t>(gpus));
  std::iota(ring.begin(), ring.end(), 0);
  for (auto _ : state) {
    des::TaskGraph graph;
    lowering::Wires wires(scenario, graph);
    for (const lowering::Leg& leg : wires.ring(ring, time, cost::network_share(links, links.gpus, 1)))
      graph.add_flow({}, leg.bytes, leg.route, {});
    benchmark::DoNotOptimize(des::run(graph).makespan);
  }
}
BENCHMARK(all_reduce_flows)->Arg(512)->Arg(4096)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::app
