// Builds and checks lists of ops over named tensors.
#include "sim/model/block.h"

#include <utility>

namespace foretoken::model {

WeightId BlockOps::add(Weight weight) {
  weights.push_back(weight);
  return id_of<WeightId>(static_cast<int>(weights.size()) - 1);
}

TensorId BlockOps::add(Tensor tensor) {
  tensors.push_back(tensor);
  return id_of<TensorId>(static_cast<int>(tensors.size()) - 1);
}

Op& BlockOps::add(Op op) {
  ops.push_back(std::move(op));
  return ops.back();
}

std::optional<std::string> find_mistake(const BlockOps& block) {
  std::vector<bool> written(block.tensors.size(), false);
  const auto says = [&](const Op& op, TensorId id, const char* mistake) {
    return std::string(op.name) + mistake + std::string(block[id].name);
  };
  written.at(block.input.index()) = true;
  for (const Op& op : block.ops) {
    for (const TensorId id : op.reads)
      if (!written.at(id.index())) return says(op, id, " reads a tensor that no op has written: ");
    for (const TensorId id : op.writes) written.at(id.index()) = true;
    for (const TensorId id : op.saves)
      if (!op.reads.contains(id) && !op.writes.contains(id))
        return says(op, id, " saves a tensor that it does not use: ");
  }
  return std::nullopt;
}

}  // namespace foretoken::model
