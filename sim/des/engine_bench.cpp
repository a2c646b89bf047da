// Speed of the engine on whole graphs: a pipeline of 64 stages and 512 items, and a million random tasks.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <span>
#include <vector>

#include "sim/des/engine.h"

namespace foretoken::des {
namespace {

/// Builds a one-forward-one-backward pipeline. Stage s runs min(stages - s - 1, items) forwards, then alternates, then
/// drains. Transfers run in order, on one stream for each stage and direction.
TaskGraph pipeline(std::uint32_t stages, std::uint32_t items) {
  const Duration forward{1'000'000}, backward{2'000'000}, transfer{30'000};
  TaskGraph graph;
  graph.reserve(std::size_t{4} * stages * items, std::size_t{6} * stages * items);
  std::vector<StreamId> down, up;
  std::vector<TaskId> forwards(std::size_t{stages} * items), backwards(std::size_t{stages} * items);
  for (std::uint32_t s = 0; s < stages; ++s) {
    const StreamId compute = graph.add_stream();
    down.push_back(graph.add_stream());
    up.push_back(graph.add_stream());
    const std::uint32_t ahead = std::min(stages - s - 1, items);
    for (std::uint32_t i = 0; i < items + ahead; ++i) {
      if (i < items) forwards[s * items + i] = graph.add_occupy(compute, forward);
      if (i >= ahead) {
        const TaskId task = backwards[s * items + i - ahead] = graph.add_occupy(compute, backward);
        graph.add_dependency(forwards[s * items + i - ahead], task);
      }
    }
  }
  const auto send = [&](StreamId stream, TaskId from, TaskId to) {
    const TaskId task = graph.add_occupy(stream, transfer);
    graph.add_dependency(from, task);
    graph.add_dependency(task, to);
  };
  for (std::uint32_t s = 0; s + 1 < stages; ++s) {
    for (std::uint32_t i = 0; i < items; ++i) {
      send(down[s], forwards[s * items + i], forwards[(s + 1) * items + i]);
      send(up[s + 1], backwards[(s + 1) * items + i], backwards[s * items + i]);
    }
  }
  return graph;
}

/// Builds tasks of random durations on random streams. Each depends on two tasks drawn from the `reach` before it.
TaskGraph random_graph(std::uint32_t tasks, std::uint32_t streams, std::uint32_t reach) {
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  TaskGraph graph;
  graph.reserve(tasks, std::size_t{2} * tasks);
  for (std::uint32_t i = 0; i < streams; ++i) graph.add_stream();
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskId task = graph.add_occupy({below(streams)}, {1 + std::int64_t{below(1'000'000'000)}});
    for (int k = 0; k < 2 && i > 0; ++k) graph.add_dependency({i - 1 - below(std::min(i, reach))}, task);
  }
  return graph;
}

void count_tasks(benchmark::State& state, const TaskGraph& graph) {
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(graph.tasks()));
}

void BM_PipelineBuild(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(pipeline(64, 512));
  count_tasks(state, pipeline(64, 512));
}
BENCHMARK(BM_PipelineBuild)->Unit(benchmark::kMillisecond);

void BM_PipelineRun(benchmark::State& state) {
  const TaskGraph graph = pipeline(64, 512);
  for (auto _ : state) benchmark::DoNotOptimize(run(graph));
  count_tasks(state, graph);
}
BENCHMARK(BM_PipelineRun)->Unit(benchmark::kMillisecond);

void BM_PipelineBuildAndRun(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(run(pipeline(64, 512)));
  count_tasks(state, pipeline(64, 512));
}
BENCHMARK(BM_PipelineBuildAndRun)->Unit(benchmark::kMillisecond);

void BM_PipelineObserved(benchmark::State& state) {
  const TaskGraph graph = pipeline(64, 512);
  Observer nobody;
  Observer* const observers[] = {&nobody};
  for (auto _ : state) benchmark::DoNotOptimize(run(graph, observers));
  count_tasks(state, graph);
}
BENCHMARK(BM_PipelineObserved)->Unit(benchmark::kMillisecond);

/// Runs a million tasks. The argument says how far back the dependencies of a task may lie.
void BM_MillionTasks(benchmark::State& state) {
  const TaskGraph graph = random_graph(1'000'000, 1000, static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(run(graph));
  count_tasks(state, graph);
}
BENCHMARK(BM_MillionTasks)->Arg(1'000'000)->Arg(10'000)->Unit(benchmark::kMillisecond);

/// Runs rings of eight streams. Each round sends a flow from every stream to the next over two links; a barrier of the
/// ring follows.
void BM_Flows(benchmark::State& state) {
  constexpr std::uint32_t kStreams = 512, kRing = 8, kRounds = 16;
  TaskGraph graph;
  std::vector<LinkId> out, in;
  for (std::uint32_t i = 0; i < kStreams; ++i) {
    graph.add_stream();
    out.push_back(graph.add_link(BytesPerSecond(25e9)));
    in.push_back(graph.add_link(BytesPerSecond(25e9)));
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    for (std::uint32_t i = 0; i < kStreams; ++i) {
      const StreamId member[] = {{i}};
      const LinkId route[] = {out[i], in[i / kRing * kRing + (i + 1) % kRing]};
      graph.add_flow(member, Bytes(1e6 + i), route, {5'000'000});
    }
  }
  for (auto _ : state) benchmark::DoNotOptimize(run(graph));
  count_tasks(state, graph);
}
BENCHMARK(BM_Flows)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace foretoken::des
