// Adds the optimizer's update on the host.
//
// A piece of the states passes through these tasks. Where the runtime overlaps them, its pieces follow each other, as
// in ZeRO-Offload (arXiv:2101.06840, section 5.1) and ZeRO-Infinity (arXiv:2104.07857, section 6.2):
//
//   gradients to host, states from disk   ->   update   ->   weights from host, states to disk
#include "sim/step/offload/host_update.h"

namespace foretoken::step {
namespace {

using des::TaskId;

constexpr int kPieces = 8;

class Piece {
 public:
  Piece(HostCopies& copies, const job::Job& job, const HostUpdate& update, double parameters)
      : copies_(copies), job_(job), update_(update), parameters_(parameters) {}

  // Returns the tasks that end the piece.
  std::vector<TaskId> add(const std::vector<TaskId>& after) {
    const job::PrecisionRecipe& recipe = job_.recipe;
    const double states = recipe.master_bytes + recipe.moment_bytes;
    const bool on_disk = job_.offload.optimizer.to == job::Tier::kDisk;
    std::vector<TaskId> ends = after;
    if (update_.updates) {
      std::vector<TaskId> ready = after;
      if (update_.brings_gradients)
        ready.push_back(copy(HostPath::kToHost, "gradients to host", recipe.gradient_bytes, after));
      if (on_disk) ready.push_back(copy(HostPath::kFromDisk, "states from disk", states, after));
      ends = {copies_.update(update_.stage, parameters_, ready)};
      if (on_disk) ends.push_back(copy(HostPath::kToDisk, "states to disk", states, {ends.front()}));
    }
    if (update_.returns_weights) {
      const std::vector<TaskId> updated = update_.updates ? std::vector<TaskId>{ends.front()} : after;
      ends.push_back(copy(HostPath::kFromHost, "weights from host", recipe.weight_bytes, updated));
    } else if (update_.updates && job_.offload.parameters.to == job::Tier::kDisk) {
      ends.push_back(copy(HostPath::kToDisk, "parameters to disk", recipe.weight_bytes, {ends.front()}));
    }
    return ends;
  }

 private:
  TaskId copy(HostPath path, std::string_view name, double element, const std::vector<TaskId>& after) {
    return copies_.add({update_.stage, path, name, Bytes(element * parameters_)}, {}, after);
  }

  HostCopies& copies_;
  const job::Job& job_;
  const HostUpdate& update_;
  double parameters_;
};

}  // namespace

std::vector<TaskId> add_host_update(HostCopies& copies, const job::Job& job, const HostUpdate& update,
                                    const std::vector<TaskId>& after) {
  const bool overlaps = job.runtime.offload.overlaps_update;
  const int pieces = overlaps ? kPieces : 1;
  std::vector<TaskId> ends;
  for (int piece = 0; piece < pieces; ++piece) {
    const std::vector<TaskId> of_piece = Piece(copies, job, update, update.parameters / pieces).add(after);
    ends.insert(ends.end(), of_piece.begin(), of_piece.end());
  }
  return ends;
}

}  // namespace foretoken::step
