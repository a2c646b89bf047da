// Events, streams, graphs and the timing loop.
#include "calibration/measure/gpu/stopwatch.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "calibration/measure/gpu/cuda_check.h"

namespace foretoken::gpu {
namespace {

constexpr Seconds kRun{5e-4};        // event timers tick in half microseconds: 0.1 % of a run
constexpr Seconds kWarmUp{2e-3};     // replays before the first one that counts
constexpr int kMostLaunches = 2000;  // nodes of a graph
constexpr int kBatch = 10;           // runs in flight, so that the GPU never waits for the host

int launches_per_run(Seconds one, int copies) {
  const double wanted = std::ceil(kRun / std::max(one, Seconds(1e-7)));
  const double rounds = std::ceil(std::min(wanted, double{kMostLaunches}) / copies);
  return copies * static_cast<int>(std::max(rounds, 1.0));
}

Seconds first_guess(cudaStream_t stream, int copies, const Launch& launch) {
  Event begin, end;
  launch(0);  // loads the kernel
  check(cudaStreamSynchronize(stream), "first launch");
  begin.record(stream);
  launch(1 % copies);
  launch(2 % copies);
  end.record(stream);
  end.wait();
  return end.since(begin) / 2;
}

}  // namespace

Event::Event() { check(cudaEventCreate(&event_), "cudaEventCreate"); }
Event::~Event() { cudaEventDestroy(event_); }
void Event::record(cudaStream_t stream) { check(cudaEventRecord(event_, stream), "cudaEventRecord"); }
void Event::wait() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
bool Event::reached() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status == cudaErrorNotReady) return false;
  check(status, "cudaEventQuery");
  return true;
}
Seconds Event::since(const Event& earlier) const {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime");
  return Seconds(static_cast<double>(milliseconds) * 1e-3);
}

Stream::Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate"); }
Stream::~Stream() { cudaStreamDestroy(stream_); }
void Stream::wait() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

Graph::Graph(cudaStream_t stream, const std::function<void()>& launches) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  try {
    launches();
  } catch (...) {
    if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
    throw;
  }
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
}
Graph::~Graph() { cudaGraphExecDestroy(executable_); }
void Graph::replay(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }

measured::Timing time_replays(const Graph& graph, cudaStream_t stream, int launches, int in_flight,
                              measure::StoppingRule rule) {
  measure::Series series(rule);
  std::vector<Event> events(static_cast<std::size_t>(in_flight) + 1);
  do {
    events[0].record(stream);
    for (std::size_t i = 1; i < events.size(); ++i) {
      graph.replay(stream);
      events[i].record(stream);
    }
    events.back().wait();
    for (std::size_t i = 1; i < events.size(); ++i) series.add(events[i].since(events[i - 1]), launches);
  } while (!series.enough());
  return series.timing();
}

measured::Timing time_launches(cudaStream_t stream, int copies, const Launch& launch, measure::StoppingRule rule) {
  const Seconds guess = first_guess(stream, copies, launch);
  const int launches = launches_per_run(guess, copies);
  const Graph graph(stream, [&] {
    for (int i = 0; i < launches; ++i) launch(i % copies);
  });
  const double replays = std::ceil(kWarmUp / std::max(guess * static_cast<double>(launches), Seconds(1e-6)));
  for (int i = 0; i < static_cast<int>(std::clamp(replays, 1.0, 20.0)); ++i) graph.replay(stream);
  return time_replays(graph, stream, launches, kBatch, rule);
}

}  // namespace foretoken::gpu
