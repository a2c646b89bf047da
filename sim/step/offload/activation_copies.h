// Activations that leave for the host after a layer's forward pass, and come back before its backward pass.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "sim/step/memory/memory.h"
#include "sim/step/offload/host_copies.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// A task that starts after a block of a pass has ended. The block is in the graph after the task.
struct AfterBlock {
  des::TaskId task;
  std::size_t block;
};

/// One pass while its copies are added: tasks that its blocks wait for, and tasks that wait for its blocks.
struct PassCopies {
  schedule::StageOp op;
  Stage stage;
  std::vector<std::vector<des::TaskId>>& gates;  ///< by block
  std::vector<AfterBlock>& after;
};

/// Adds the copies of activations. Two layers are under way in each direction: a third one waits.
class ActivationCopies {
 public:
  ActivationCopies(HostCopies& copies, const job::Job& job);

  [[nodiscard]] bool any() const { return job_.offload.activations.any(); }
  /// Adds the copy of a layer, which is `block` of a forward pass, to the host.
  void leave(const PassCopies& pass, int layer, std::size_t block);
  /// Adds the copy back for a layer, which is `block` of a backward pass.
  void come_back(const PassCopies& pass, int layer, std::size_t block);

 private:
  using Key = std::tuple<Stage, Chunk, schedule::MicroBatch, int>;
  [[nodiscard]] Bytes bytes_of(const PassCopies& pass, int layer) const;

  HostCopies& copies_;
  const job::Job& job_;
  JobMemory memory_;
  std::map<Key, des::TaskId> away_;  // the task after which a layer's activations are outside
};

/// Returns an emitter that cuts passes into their blocks and adds the copies of activations. All must outlive it.
[[nodiscard]] std::unique_ptr<PassEmitter> offloading_passes(PassEmitter& passes, ActivationCopies& copies,
                                                             const job::Job& job);

}  // namespace foretoken::step
