// Copies between a GPU and its host, and between the host and its disks, as tasks on streams of their own.
#pragma once

#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "sim/step/workload.h"

namespace foretoken::step {

/// Returns the GPUs of the job on one host of `stage`.
[[nodiscard]] int gpus_on_host(const job::Job& job, Stage stage);

/// Returns the rate of one GPU's copies while all GPUs of the job on its host copy, too. Precondition: the host of
/// `stage`, and its disks for a path to them, are stated.
[[nodiscard]] BytesPerSecond host_rate(const job::Job& job, Stage stage, HostPath path);

/// Returns the time in which the host updates `parameters` of one GPU while it does the same for all others.
[[nodiscard]] Seconds host_update_time(const job::Job& job, Stage stage, double parameters);

/// One copy of a GPU.
struct HostCopy {
  Stage stage = {};
  HostPath path = HostPath::kToHost;
  std::string_view name = {};  ///< "gradients to host"
  Bytes bytes = {};
};

/// Adds copies to a workload. Copies of one name, size and stage share a row. `workload` and `job` must outlive it.
class HostCopies {
 public:
  HostCopies(Workload& workload, const job::Job& job) : workload_(workload), job_(job) {}

  /// Adds a copy after the copies before it on its path, and after the tasks `after`.
  des::TaskId add(const HostCopy& copy, schedule::MicroBatch microbatch, const std::vector<des::TaskId>& after);
  /// Adds an update of `parameters` on the host.
  des::TaskId update(Stage stage, double parameters, const std::vector<des::TaskId>& after);

 private:
  struct Moved {
    CommunicationId row;
    des::Duration time;
  };
  [[nodiscard]] const HostStreams& streams(Stage stage);
  [[nodiscard]] Moved moved(const HostCopy& copy);

  Workload& workload_;
  const job::Job& job_;
  std::map<std::tuple<Stage, HostPath, std::string_view, double>, Moved> rows_;
};

}  // namespace foretoken::step
