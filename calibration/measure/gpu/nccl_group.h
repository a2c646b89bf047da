// Communicators over the GPUs of one process, or over many processes with one GPU each.
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

/// One rank of a group in this process.
struct Member {
  int device = 0, rank = 0;
  Comm comm;
  std::unique_ptr<Stream> stream;
  Memory send, receive;
};

/// The ranks of one group in this process: all of them, one, or none.
struct Team {
  GroupShape shape;
  std::vector<Member> members;
  std::size_t buffer_bytes = 0;  ///< size of each of a member's two buffers

  /// Issues the collective once on every member's stream. Precondition: it fits the buffers.
  void issue(const measured::CollectiveSample& sample) const;
  /// Returns the time that NCCL predicts, or nothing where it has no model (point to point).
  [[nodiscard]] std::optional<Seconds> estimate(const measured::CollectiveSample& sample) const;
};

/// Returns the size of buffers for the largest collective: 4 GiB, or a third of the GPU's free memory.
[[nodiscard]] std::size_t affordable_buffer();

/// Makes one group in one node of all these GPUs.
[[nodiscard]] Team team_of_devices(const std::vector<int>& devices, std::size_t buffer_bytes);

/// All processes of a job. Rank 0 passes NCCL's id to the others through a file in `folder`, which all must see.
class Job {
 public:
  Job(const measure::JobPlace& place, const std::filesystem::path& folder);

  [[nodiscard]] int rank() const { return place_.rank; }
  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int node() const { return node_; }
  [[nodiscard]] const measure::JobPlace& place() const { return place_; }

  /// Replaces each value by the largest of all ranks. All ranks meet here.
  void maximum(std::vector<double>& values) const;
  /// Returns rank 0's number on every rank.
  [[nodiscard]] int from_first(int value) const;
  /// Makes a group of the ranks that name the same colour. All ranks must call it.
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
