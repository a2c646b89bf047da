// Adds copies of activations to passes.
//
// Transformer Engine keeps two buffers in each direction (pytorch/cpu_offload.py,
// AsyncDoubleBufferGroupOffloadHandler): the forward pass of a layer waits until the layer two before it has left, and
// a layer comes back once the backward pass of the layer two behind it has ended. Here that holds for every runtime.
#include "sim/step/offload/activation_copies.h"

#include "sim/job/layout.h"

namespace foretoken::step {
namespace {

using des::TaskId;
using schedule::StageOp;

constexpr std::size_t kBuffers = 2;  // layers under way in each direction

// Blocks of a chunk: the embedding, where it stands there, layers, and the head.
struct ChunkBlocks {
  std::size_t layers = 0, all = 0;
  bool embedding = false, head = false;

  explicit ChunkBlocks(const job::ChunkContents& contents)
      : layers(static_cast<std::size_t>(contents.layer_count())),
        all(layers + (contents.embedding ? 1 : 0) + (contents.head ? 1 : 0)),
        embedding(contents.embedding),
        head(contents.head) {}
  [[nodiscard]] std::size_t forward(std::size_t layer) const { return layer + (embedding ? 1 : 0); }
  [[nodiscard]] std::size_t backward(std::size_t layer) const { return layers - 1 - layer + (head ? 1 : 0); }
};

// Adds copies around the passes of another emitter.
class OffloadingEmitter final : public PassEmitter {
 public:
  OffloadingEmitter(PassEmitter& passes, ActivationCopies& copies, const job::Job& job)
      : passes_(passes), copies_(copies), job_(job) {}

  TaskId emit(Workload& workload, Stage stage, const StageOp& op, const std::vector<TaskId>& after,
              const BlockHooks& hooks) override {
    std::vector<std::vector<TaskId>> gates;
    if (hooks.gates != nullptr) gates = *hooks.gates;
    std::vector<AfterBlock> waiting;
    add_copies({op, stage, gates, waiting});
    std::vector<TaskId> ends;
    const TaskId last = passes_.emit(workload, stage, op, after, {.gates = &gates, .ends = &ends});
    for (const AfterBlock& one : waiting) workload.graph.add_dependency(ends[one.block], one.task);
    if (hooks.ends != nullptr) *hooks.ends = std::move(ends);
    return last;
  }

 private:
  void add_copies(const PassCopies& pass) {
    const ChunkBlocks blocks(job::contents_of(job_, pass.stage, pass.op.chunk));
    pass.gates.resize(blocks.all);
    const schedule::OpTraits& kind = schedule::traits(pass.op.kind);
    if (kind.stash == schedule::Stash::kStores) {
      for (std::size_t layer = 0; layer < blocks.layers; ++layer)
        copies_.leave(pass, static_cast<int>(layer), blocks.forward(layer));
    } else if (kind.makes.has(schedule::Result::kInputGradient)) {
      for (std::size_t left = blocks.layers; left > 0; --left)
        copies_.come_back(pass, static_cast<int>(left - 1), blocks.backward(left - 1));
    }
  }

  PassEmitter& passes_;
  ActivationCopies& copies_;
  const job::Job& job_;
};

}  // namespace

ActivationCopies::ActivationCopies(HostCopies& copies, const job::Job& job)
    : copies_(copies), job_(job), memory_(job, Rows::kMean) {}

Bytes ActivationCopies::bytes_of(const PassCopies& pass, int layer) const {
  return memory_.offloaded_activations(pass.stage, pass.op.chunk, layer);
}

void ActivationCopies::leave(const PassCopies& pass, int layer, std::size_t block) {
  const Bytes bytes = bytes_of(pass, layer);
  if (bytes == Bytes(0)) return;
  TaskId task = copies_.add({pass.stage, HostPath::kToHost, "activations to host", bytes}, pass.op.microbatch, {});
  pass.after.push_back({task, block});
  if (block + kBuffers < pass.gates.size()) pass.gates[block + kBuffers].push_back(task);
  if (job_.offload.activations.to == job::Tier::kDisk)
    task = copies_.add({pass.stage, HostPath::kToDisk, "activations to disk", bytes}, pass.op.microbatch, {task});
  away_.insert_or_assign(Key{pass.stage, pass.op.chunk, pass.op.microbatch, layer}, task);
}

void ActivationCopies::come_back(const PassCopies& pass, int layer, std::size_t block) {
  const auto away = away_.find(Key{pass.stage, pass.op.chunk, pass.op.microbatch, layer});
  if (away == away_.end()) return;
  const Bytes bytes = bytes_of(pass, layer);
  TaskId ready = away->second;
  away_.erase(away);
  if (job_.offload.activations.to == job::Tier::kDisk)
    ready = copies_.add({pass.stage, HostPath::kFromDisk, "activations from disk", bytes}, pass.op.microbatch, {ready});
  const TaskId task =
      copies_.add({pass.stage, HostPath::kFromHost, "activations from host", bytes}, pass.op.microbatch, {ready});
  if (block >= kBuffers) pass.after.push_back({task, block - kBuffers});
  pass.gates[block].push_back(task);
}

std::unique_ptr<PassEmitter> offloading_passes(PassEmitter& passes, ActivationCopies& copies, const job::Job& job) {
  return std::make_unique<OffloadingEmitter>(passes, copies, job);
}

}  // namespace foretoken::step
