// Times launches, graph replays and copies between host and GPU.
#include <chrono>
#include <functional>
#include <map>

#include "calibration/measure/gpu/benches.h"
#include "calibration/measure/gpu/cuda_check.h"
#include "calibration/measure/gpu/kernels/kernels.h"

namespace foretoken::gpu {
namespace {

constexpr std::size_t kKiB = 1024, kLargestCopy = kKiB * kKiB * kKiB;
constexpr int kGraphNodes = 1000;
constexpr int kLaunches = 500;  // fewer than the driver's queue (about a thousand); a full one makes the host wait

/// Returns the time of `work` by the host's clock.
Seconds by_host(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return Seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

/// Repeats `work` until its time is known well. `work` returns its time and the number of repetitions in it.
measured::Timing repeat(const std::function<std::pair<Seconds, int>()>& work) {
  measure::Series series({.relative_noise = 0.01, .fewest = 20, .most = 300, .longest = Seconds(0.5)});
  (void)work();
  do {
    const auto [time, times] = work();
    series.add(time, times);
  } while (!series.enough());
  return series.timing();
}

/// Owns memory of the host that the GPU can copy from directly.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) { check(cudaMallocHost(&data_, bytes), "cudaMallocHost"); }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  void* data_ = nullptr;
};

/// Returns the host time to issue one launch while the GPU keeps up or queues. It bounds the rate of a framework.
measured::Timing launch(cudaStream_t stream) {
  return repeat([stream] {
    const Seconds time = by_host([stream] {
      for (int i = 0; i < kLaunches; ++i) empty(stream);
    });
    check(cudaStreamSynchronize(stream), "empty kernels");
    return std::pair(time, kLaunches);
  });
}

measured::Timing launch_and_wait(cudaStream_t stream) {
  return repeat([stream] {
    return std::pair(by_host([stream] {
                       empty(stream);
                       check(cudaStreamSynchronize(stream), "empty kernel");
                     }),
                     1);
  });
}

/// Returns the time on the GPU from one empty kernel to the next inside a graph.
measured::Timing graph_node(cudaStream_t stream) {
  const Graph graph(stream, [stream] {
    for (int i = 0; i < kGraphNodes; ++i) empty(stream);
  });
  Event begin, end;
  return repeat([&] {
    begin.record(stream);
    graph.replay(stream);
    end.record(stream);
    end.wait();
    return std::pair(end.since(begin), kGraphNodes);
  });
}

/// Returns the host time to launch a whole graph of a thousand kernels.
measured::Timing graph_launch(cudaStream_t stream) {
  const Graph graph(stream, [stream] {
    for (int i = 0; i < kGraphNodes; ++i) empty(stream);
  });
  return repeat([&] {
    const Seconds time = by_host([&] { graph.replay(stream); });
    check(cudaStreamSynchronize(stream), "graph");
    return std::pair(time, 1);
  });
}

measured::Timing timed_copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  Event begin, end;
  return repeat([&] {
    begin.record(stream);
    check(cudaMemcpyAsync(to, from, bytes, kind, stream), "cudaMemcpyAsync");
    end.record(stream);
    end.wait();
    return std::pair(end.since(begin), 1);
  });
}

}  // namespace

std::vector<measured::HostSample> host_plan(bool quick) {
  std::vector<measured::HostSample> plan;
  for (const char* what : {"launch", "launch_and_wait", "graph_node", "graph_launch_of_1000"})
    plan.push_back({.what = what, .bytes = {}, .time = {}});
  for (std::size_t bytes = 4 * kKiB; bytes <= (quick ? kLargestCopy / 16 : kLargestCopy); bytes *= quick ? 16 : 4)
    for (const char* what : {"copy_to_device", "copy_to_host", "copy_on_device"})
      plan.push_back({.what = what, .bytes = Bytes(static_cast<double>(bytes)), .time = {}});
  return plan;
}

std::optional<measured::HostSample> time_host(Workbench& bench, measured::HostSample sample) {
  cudaStream_t stream = bench.stream();
  const auto bytes = static_cast<std::size_t>(sample.bytes.value());
  if (bytes > bench.outputs().bytes() || bytes > bench.inputs(Precision::kBf16).bytes()) return std::nullopt;
  std::byte* device = bench.outputs().data();
  const std::map<std::string, std::function<measured::Timing()>> benches{
      {"launch", [&] { return launch(stream); }},
      {"launch_and_wait", [&] { return launch_and_wait(stream); }},
      {"graph_node", [&] { return graph_node(stream); }},
      {"graph_launch_of_1000", [&] { return graph_launch(stream); }},
      {"copy_to_device",
       [&] {
         const Pinned host(bytes);
         return timed_copy(device, host.data(), bytes, cudaMemcpyHostToDevice, stream);
       }},
      {"copy_to_host",
       [&] {
         const Pinned host(bytes);
         return timed_copy(host.data(), device, bytes, cudaMemcpyDeviceToHost, stream);
       }},
      {"copy_on_device", [&] {
         return timed_copy(device, bench.inputs(Precision::kBf16).data(), bytes, cudaMemcpyDeviceToDevice, stream);
       }}};
  sample.time = benches.at(sample.what)();
  return sample;
}

}  // namespace foretoken::gpu
