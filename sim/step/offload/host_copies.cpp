// Copies between a GPU and its host, and between the host and its disks.
//
// All GPUs of a host copy at once, so each has its part of what they share: of a link to the host, of the host's
// memory, of the disks. Both directions of a link run at once. The update on the host is bound by its memory.
#include "sim/step/offload/host_copies.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/step/duration.h"

namespace foretoken::step {
namespace {

/// Copies of pinned memory reach this part of a link's datasheet: 51 GB/s of 63 on Azure ND H100 v5 and 54.8 on Voltage
/// Park's H100 (Azure/azurehpc and vendor pages of 2024), 12 of 15.75 on DGX-2 (arXiv:2104.07857, section 4).
constexpr double kPinnedCopies = 0.8;

const net::Host& host_of(const job::Job& job, Stage stage) {
  const auto& host = job.cluster_of(stage).host;
  expects(host.has_value(), "only a job on stated hosts offloads");
  return *host;
}

des::StreamId stream_of(const HostStreams& streams, HostPath path) {
  switch (path) {
    case HostPath::kToHost:
      return streams.to_host;
    case HostPath::kFromHost:
      return streams.from_host;
    case HostPath::kToDisk:
      return streams.to_disk;
    case HostPath::kFromDisk:
      break;
  }
  return streams.from_disk;
}

}  // namespace

int gpus_on_host(const job::Job& job, Stage stage) { return std::min(job.cluster_of(stage).gpus_per_node, job.gpus); }

BytesPerSecond host_rate(const job::Job& job, Stage stage, HostPath path) {
  const net::Host& host = host_of(job, stage);
  const double gpus = gpus_on_host(job, stage);
  if (path == HostPath::kToDisk) return host.disks.value().write / gpus;
  if (path == HostPath::kFromDisk) return host.disks.value().read / gpus;
  const double on_link = std::min<double>(host.gpus_per_link, gpus);
  return std::min(kPinnedCopies * job.cluster_of(stage).links.pcie_per_gpu / on_link, host.memory_bandwidth / gpus);
}

Seconds host_update_time(const job::Job& job, Stage stage, double parameters) {
  const BytesPerSecond share = host_of(job, stage).memory_bandwidth / static_cast<double>(gpus_on_host(job, stage));
  return Bytes(parameters * job.runtime.offload.host_update_bytes) / share;
}

const HostStreams& HostCopies::streams(Stage stage) {
  std::optional<HostStreams>& streams = workload_.stages[stage].offload;
  des::TaskGraph& graph = workload_.graph;
  if (!streams)
    streams = HostStreams{.to_host = graph.add_stream(),
                          .from_host = graph.add_stream(),
                          .to_disk = graph.add_stream(),
                          .from_disk = graph.add_stream(),
                          .update = graph.add_stream()};
  return *streams;
}

HostCopies::Moved HostCopies::moved(const HostCopy& copy) {
  const auto [at, is_new] = rows_.try_emplace({copy.stage, copy.path, copy.name, copy.bytes.value()});
  if (!is_new) return at->second;
  Communication row{.name = copy.name,
                    .purpose = Purpose::kHostCopy,
                    .payload = copy.bytes,
                    .from = copy.stage,
                    .to = copy.stage,
                    .site = {.stage = copy.stage, .group = {}, .links = job_.cluster_of(copy.stage).links},
                    .host_path = copy.path,
                    .host_rate = host_rate(job_, copy.stage, copy.path)};
  const des::Duration time = time_of(row, job_);
  return at->second = {workload_.add(std::move(row)), time};
}

des::TaskId HostCopies::add(const HostCopy& copy, schedule::MicroBatch microbatch,
                            const std::vector<des::TaskId>& after) {
  const Moved one = moved(copy);
  const des::TaskId task = workload_.graph.add_occupy(stream_of(streams(copy.stage), copy.path), one.time);
  for (const des::TaskId before : after) workload_.graph.add_dependency(before, task);
  workload_.note(
      task,
      {.stage = copy.stage, .microbatch = microbatch, .kind = TaskMeaning::kCommunication, .communication = one.row});
  return task;
}

des::TaskId HostCopies::update(Stage stage, double parameters, const std::vector<des::TaskId>& after) {
  const des::TaskId task =
      workload_.graph.add_occupy(streams(stage).update, duration_of(host_update_time(job_, stage, parameters)));
  for (const des::TaskId before : after) workload_.graph.add_dependency(before, task);
  workload_.note(task, {.stage = stage, .kind = TaskMeaning::kHostUpdate});
  return task;
}

}  // namespace foretoken::step
