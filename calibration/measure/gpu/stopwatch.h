// Times kernels on the GPU's own clock, without the host: back to back in a CUDA graph.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>

#include "calibration/measure/statistics.h"

namespace foretoken::gpu {

/// Owns an event.
class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  void record(cudaStream_t stream);
  void wait() const;
  [[nodiscard]] bool reached() const;
  [[nodiscard]] Seconds since(const Event& earlier) const;

 private:
  cudaEvent_t event_ = nullptr;
};

/// Owns a stream.
class Stream {
 public:
  Stream();
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

/// A recorded sequence of launches that replays as one.
class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void()>& launches);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void replay(cudaStream_t stream) const;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Times replays of a graph of `launches` launches until the rule ends them. `in_flight` replays are queued at a time,
/// so the GPU never waits for the host. Returns the time of one launch.
[[nodiscard]] measured::Timing time_replays(const Graph& graph, cudaStream_t stream, int launches, int in_flight,
                                            measure::StoppingRule rule);

/// Launches the kernel on copy number `copy` of its data.
using Launch = std::function<void(int copy)>;

/// Returns the time of one launch in a stream that always has the next one ready. A run is a graph of launches. It
/// lasts half a millisecond and visits all `copies`, so copies beyond the cache are cold every time.
[[nodiscard]] measured::Timing time_launches(cudaStream_t stream, int copies, const Launch& launch,
                                             measure::StoppingRule rule = {});

}  // namespace foretoken::gpu
