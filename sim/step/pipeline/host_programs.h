// Carries out the host programs of all stages: makes the tasks of a pipeline and their dependencies.
//
// A message is a task on the link from its sender to its receiver. It starts when both sides have posted it and the
// messages before it on that link have ended. NCCL's send and receive kernels meet (a rendezvous), in the order in
// which they were issued. Where receives are posted ahead (MessagePolicy::kAsProduced), the sender decides.
//
// Each side first ends its frontier: its last pass, and the messages that it waited for since. After a wait, the next
// pass depends on the message.
//
// fast::StageWalk follows the same rules without tasks.
//
// Activations move in the order of the program. A stage sends them away once their pass has ended, and its next pass
// waits until they are gone: it has no room before. They come back beside the pass before the one that needs them.
#pragma once

#include <cstddef>
#include <optional>

#include "sim/step/pipeline/graph_tasks.h"
#include "sim/step/pipeline/lower_pipeline.h"

namespace foretoken::step {

/// The positions of two ops of each chunk: the first one, which reads the parameters, and the one that completes the
/// gradients.
class ChunkEnds {
 public:
  ChunkEnds(const schedule::StageProgram& ops, int chunks) : first_(chunks), last_(chunks) {
    for (std::size_t at = 0; at < ops.size(); ++at) {
      std::optional<std::size_t>& first = first_[ops[at].chunk];
      if (!first) first = at;
      if (traits(ops[at].kind).makes.has(schedule::Result::kWeightGradient)) last_[ops[at].chunk] = at;
    }
  }
  [[nodiscard]] bool is_first(Chunk chunk, std::size_t at) const { return first_[chunk] == at; }
  [[nodiscard]] bool completes_gradients(Chunk chunk, std::size_t at) const { return last_[chunk] == at; }

 private:
  Table<Chunk, std::optional<std::size_t>> first_, last_;
};

/// Carries out the whole program.
PipelineEnds carry_out(GraphTasks& tasks, const schedule::Program& program, const PipelineOptions& options);

}  // namespace foretoken::step
