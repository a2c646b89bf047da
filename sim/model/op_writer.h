// Writes kernels and collectives into a list, in order.
#pragma once

#include <string_view>
#include <utility>

#include "sim/model/layer_ops.h"

namespace foretoken::model {

/// Appends kernels and collectives. It knows the cut of the layer.
class OpWriter {
 public:
  explicit OpWriter(const LayerContext& context) : context_(context) {}

  void gemm(std::string_view name, OpRole role, GemmShape shape, Userbuffers userbuffers = {}) {
    const bool for_weight = shape.pass == GemmPass::kWeightGradient;
    ops_.push_back({name, role, shape, false, userbuffers, for_weight ? BackwardPart::kWeight : BackwardPart::kInput});
  }
  void memory(std::string_view name, OpRole role, double bytes, BackwardPart part = BackwardPart::kInput) {
    if (bytes > 0) ops_.push_back({name, role, MemoryBoundShape{Bytes(bytes)}, false, {}, part});
  }
  void attention(std::string_view name, AttentionShape shape) { ops_.push_back({name, OpRole::kAttention, shape}); }
  /// Appends a tensor-parallel collective. Appends nothing when one rank holds the layer.
  void collective(std::string_view name, CollectiveKind kind, double payload, bool beside_next = false,
                  BackwardPart part = BackwardPart::kInput) {
    if (context_.tensor > 1)
      ops_.push_back(
          {name, OpRole::kComm, LayerCollective{kind, Bytes(payload), Axis::kTensor}, beside_next, {}, part});
  }
  /// Appends a collective over any axis. The next kernel waits for it.
  void collective_over(Axis axis, std::string_view name, CollectiveKind kind, double payload) {
    ops_.push_back({name, OpRole::kComm, LayerCollective{kind, Bytes(payload), axis}});
  }
  void ring_message(Axis axis, std::string_view name, double payload, bool beside_next) {
    ops_.push_back({name, OpRole::kComm, RingMessage{Bytes(payload), axis}, beside_next});
  }
  void add(LayerOp op) { ops_.push_back(std::move(op)); }
  [[nodiscard]] OpList take() { return std::move(ops_); }

 private:
  const LayerContext& context_;
  OpList ops_;
};

}  // namespace foretoken::model
