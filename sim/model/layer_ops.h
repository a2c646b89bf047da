// The kernels of a layer, one by one and in order, forward and backward, on one GPU of a tensor-parallel group.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/axis.h"
#include "sim/base/kernel.h"
#include "sim/model/layer_context.h"

namespace foretoken::model {

struct Transformer;

/// A collective inside a layer, over the ranks of one axis. `payload` counts as in CollectiveShape.
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload;
  Axis axis = Axis::kTensor;
  bool sums = false;  ///< an exchange that brings copies of tokens back, and adds them up
};

enum class OpRole : std::uint8_t {
  kLinear,
  kAttention,
  kNorm,
  kActivation,
  kElementwise,
  kRouting,  ///< chooses experts, and copies tokens for them and back
  kEmbedding,
  kHead,
  kLoss,
  kAccumulate,
  kComm
};

/// A message to the next rank of a ring over an axis. Another message comes from the rank before at the same time.
struct RingMessage {
  Bytes payload;
  Axis axis = Axis::kTensor;
};

/// A copy from the memory of another rank by a copy engine, while every other rank copies from one of its own.
struct PeerCopy {
  Bytes payload;
  int barriers = 0;  ///< kernels before and after it in which the ranks wait for each other
  Axis axis = Axis::kTensor;
};

/// The way in which Transformer Engine's userbuffers run a GEMM with its collective.
struct Userbuffers {
  int pieces = 1;           ///< pieces of the GEMM along m; each runs once its part of the data is there
  int held_processors = 0;  ///< multiprocessors that the collective holds during the GEMM
};

/// The two parts of a backward pass. A schedule may issue one long after the other. The part for the input passes
/// gradients on to the layer before, and includes recomputed ops. The part for the weight makes the weights' gradients.
enum class BackwardPart : std::uint8_t { kInput, kWeight };

/// One kernel or collective. Kernels run in list order. A collective marked `beside_next` starts when the ops before it
/// have ended, and runs beside the next kernel. The kernel after that waits for both.
struct LayerOp {
  std::string_view name;
  OpRole role = OpRole::kElementwise;
  std::variant<GemmShape, AttentionShape, MemoryBoundShape, LayerCollective, RingMessage, PeerCopy> work;
  bool beside_next = false;
  Userbuffers userbuffers{};  ///< GEMMs only
  BackwardPart part = BackwardPart::kInput;
  /// GEMMs only: the copy that takes turns with such products on each of two streams.
  std::optional<PeerCopy> turns{};
};

using OpList = std::vector<LayerOp>;

/// Kernels of the forward pass of one layer.
[[nodiscard]] OpList layer_forward(const Transformer& model, const LayerContext& context);
/// Kernels of the backward pass of one layer, without recomputation.
[[nodiscard]] OpList layer_backward(const Transformer& model, const LayerContext& context);
/// Kernels of the attention core: scores, softmax, dropout, values. Selective recomputation repeats these.
[[nodiscard]] OpList attention_core_forward(const Transformer& model, const LayerContext& context);

/// Kernels of the embedding, on the first stage.
[[nodiscard]] OpList embedding_forward(const Transformer& model, const LayerContext& context);
[[nodiscard]] OpList embedding_backward(const Transformer& model, const LayerContext& context);
/// Kernels of final norm, output projection and loss, on the last stage.
[[nodiscard]] OpList head_forward(const Transformer& model, const LayerContext& context);
[[nodiscard]] OpList head_backward(const Transformer& model, const LayerContext& context);

}  // namespace foretoken::model
