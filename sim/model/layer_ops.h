// The kernels of a layer, one by one and in order, forward and backward, on one GPU of a tensor-parallel group.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/axis.h"
#include "sim/base/kernel.h"
#include "sim/model/layer_context.h"

namespace foretoken::model {

struct Transformer;

/// A collective inside a layer, over the ranks of one axis. `payload` as in CollectiveShape.
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload;
  Axis axis = Axis::kTensor;
};

enum class OpRole : std::uint8_t {
  kLinear,
  kAttention,
  kNorm,
  kActivation,
  kElementwise,
  kEmbedding,
  kHead,
  kLoss,
  kAccumulate,
  kComm
};

/// A message to the next rank of a ring of the axis' ranks, while one comes from the rank before.
struct RingMessage {
  Bytes payload;
  Axis axis = Axis::kTensor;
};

/// How Transformer Engine's userbuffers run a GEMM with its collective.
struct Userbuffers {
  int pieces = 1;  ///< the GEMM is cut along m into so many, one after the other, each behind its part of the data
  int held_processors = 0;  ///< multiprocessors that the collective holds meanwhile
};

/// A backward pass has two parts, which a schedule may issue one long after the other. The part for the input passes
/// gradients on to the layer before; recomputed ops belong to it. The part for the weight makes the weights' gradients.
enum class BackwardPart : std::uint8_t { kInput, kWeight };

/// One kernel or collective. Kernels run in list order; a collective marked `beside_next` starts when the ops before
/// it have ended, runs beside the next kernel, and the kernel after that waits for both.
struct LayerOp {
  std::string_view name;
  OpRole role = OpRole::kElementwise;
  std::variant<GemmShape, AttentionShape, MemoryBoundShape, LayerCollective, RingMessage> work;
  bool beside_next = false;
  Userbuffers userbuffers{};  ///< of a GEMM
  BackwardPart part = BackwardPart::kInput;
};

using OpList = std::vector<LayerOp>;

/// Forward pass of one layer.
[[nodiscard]] OpList layer_forward(const Transformer& model, const LayerContext& context);
/// Backward pass of one layer, without recomputation.
[[nodiscard]] OpList layer_backward(const Transformer& model, const LayerContext& context);
/// The attention core alone (scores, softmax, dropout, values): what selective recomputation repeats.
[[nodiscard]] OpList attention_core_forward(const Transformer& model, const LayerContext& context);

/// Embedding on the first stage.
[[nodiscard]] OpList embedding_forward(const Transformer& model, const LayerContext& context);
[[nodiscard]] OpList embedding_backward(const Transformer& model, const LayerContext& context);
/// Final norm, output projection and loss on the last stage.
[[nodiscard]] OpList head_forward(const Transformer& model, const LayerContext& context);
[[nodiscard]] OpList head_backward(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
