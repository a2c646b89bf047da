// Writes kernels and collectives into a list, in order.
#pragma once

#include <string_view>
#include <utility>

#include "sim/model/layer_ops.h"

namespace foretoken::model {

/// Appends kernels and collectives. It knows the cut of the layer. Bytes are those of 16-bit elements; with elements of
/// 32 bits twice as many move. Masks of one byte count too much then, by a tenth of a dropout.
class OpWriter {
 public:
  explicit OpWriter(const LayerContext& context) : context_(context) {}

  void gemm(std::string_view name, OpRole role, GemmShape shape, Userbuffers userbuffers = {}) {
    const bool for_weight = shape.pass == GemmPass::kWeightGradient;
    ops_.push_back({name, role, shape, false, userbuffers, for_weight ? BackwardPart::kWeight : BackwardPart::kInput});
  }
  void memory(std::string_view name, OpRole role, double bytes, BackwardPart part = BackwardPart::kInput) {
    if (bytes > 0) ops_.push_back({name, role, MemoryBoundShape{wide(bytes)}, false, {}, part});
  }
  void attention(std::string_view name, AttentionShape shape) { ops_.push_back({name, OpRole::kAttention, shape}); }
  /// Appends a tensor-parallel collective. Appends nothing when one rank holds the layer.
  void collective(std::string_view name, CollectiveKind kind, double payload, bool beside_next = false,
                  BackwardPart part = BackwardPart::kInput) {
    if (context_.tensor > 1)
      ops_.push_back({name, OpRole::kComm, LayerCollective{kind, wide(payload), Axis::kTensor}, beside_next, {}, part});
  }
  /// Appends a collective over any axis. The next kernel waits for it.
  void collective_over(Axis axis, std::string_view name, CollectiveKind kind, double payload) {
    ops_.push_back({name, OpRole::kComm, LayerCollective{kind, wide(payload), axis}});
  }
  void ring_message(Axis axis, std::string_view name, double payload, bool beside_next) {
    ops_.push_back({name, OpRole::kComm, RingMessage{wide(payload), axis}, beside_next});
  }
  /// Appends a copy that runs beside the next kernel.
  void peer_copy(std::string_view name, double payload, int barriers) {
    ops_.push_back({name, OpRole::kComm, PeerCopy{wide(payload), barriers}, /*beside_next=*/true});
  }
  /// Appends a part of a product, which takes turns with copies of `payload` bytes.
  void product_part(std::string_view name, OpRole role, GemmShape shape, double payload, int barriers) {
    gemm(name, role, shape);
    ops_.back().turns = PeerCopy{wide(payload), barriers};
  }
  void add(LayerOp op) { ops_.push_back(std::move(op)); }
  [[nodiscard]] OpList take() { return std::move(ops_); }

 private:
  [[nodiscard]] Bytes wide(double bytes) const { return Bytes((is_wide(context_.precision) ? 2 : 1) * bytes); }

  const LayerContext& context_;
  OpList ops_;
};

}  // namespace foretoken::model
