// Communicators: the GPUs of one process, or one GPU each of many processes.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <vector>

#include "calibration/import/samples.h"
#include "calibration/measure/gpu/workbench.h"
#include "calibration/measure/launcher.h"

namespace foretoken::gpu {

/// Owns a communicator.
struct CommDeleter {
  void operator()(ncclComm* comm) const { ncclCommDestroy(comm); }
};
using Comm = std::unique_ptr<ncclComm, CommDeleter>;

/// One rank of a group that lives in this process.
struct Member {
  int device = 0, rank = 0;
  Comm comm;
  std::unique_ptr<Stream> stream;
  Memory send, receive;
};

/// The ranks of one group that live in this process: all of them, one, or none.
struct Team {
  GroupShape shape;
  std::vector<Member> members;
  std::size_t buffer_bytes = 0;  ///< of each of a member's two buffers

  /// Issues the collective once on every member's stream. Precondition: it fits the buffers.
  void issue(const measured::CollectiveSample& sample) const;
  /// What NCCL predicts for it; nothing where it has no model (point to point).
  [[nodiscard]] std::optional<Seconds> estimate(const measured::CollectiveSample& sample) const;
};

/// Buffers for the largest collective: 4 GiB, or a third of what is free on the GPU.
[[nodiscard]] std::size_t affordable_buffer();

/// All of these GPUs as one group in one node.
[[nodiscard]] Team team_of_devices(const std::vector<int>& devices, std::size_t buffer_bytes);

/// All processes of a job. Rank 0 passes NCCL's id to the others through a file in `folder`, which all must see.
class Job {
 public:
  Job(const measure::JobPlace& place, const std::filesystem::path& folder);

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] const measure::JobPlace& place() const { return place_; }

  /// The largest of all ranks' values, entry by entry; a rendezvous of all.
  void maximum(std::vector<double>& values) const;
  /// Rank 0's number, to all.
  [[nodiscard]] int from_first(int value) const;
  /// A group of the ranks that name the same colour. All ranks must call it.
  [[nodiscard]] Team team(int colour, GroupShape shape, std::size_t buffer_bytes) const;

 private:
  void find_nodes();

  measure::JobPlace place_;
  Comm comm_;
  Stream stream_;
  Memory scratch_;
  int nodes_ = 1, node_ = 0;
};

}  // namespace foretoken::gpu
