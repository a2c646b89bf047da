// The kernels of a layer, one by one and in order, forward and backward, on one GPU of a tensor-parallel group.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/model/transformer.h"

namespace foretoken::model {

enum class AttentionKind : std::uint8_t { kUnfused, kFlash };

/// How context-parallel ranks come by the keys and values of the other ranks' tokens.
enum class ContextExchange : std::uint8_t { kRing, kAllGather, kAllToAll };
/// "unfused", "flash" (the fastest kernel), "flash-2", "flash-1", "flash-triton".
[[nodiscard]] std::string_view name_of(AttentionKind kind, FlashKernel kernel);

/// How fp8 finds the scale of a tensor: from earlier steps, from the tensor itself (one pass more), block by block.
enum class Fp8Recipe : std::uint8_t { kDelayed, kTensorwise, kBlockwise, kMxfp8 };

/// What the software fuses; each flag that is off adds the separate kernels.
struct Fusions {
  bool cross_entropy = false;           ///< fused vocabulary-parallel cross entropy (Transformer Engine, Megatron-Core)
  bool compiled_cross_entropy = false;  ///< the fused one is PyTorch's compiler's, whose kernels write out of place
};

/// How one layer is cut and executed.
struct LayerContext {
  std::int64_t sequence = 1;     ///< s
  std::int64_t micro_batch = 1;  ///< b
  int tensor = 1;                ///< t
  int context = 1;               ///< c
  bool sequence_parallel = false;
  ContextExchange exchange = ContextExchange::kRing;
  AttentionKind attention = AttentionKind::kFlash;
  FlashKernel flash_kernel = FlashKernel::kFastest;
  Precision precision = Precision::kBf16;  ///< of the GEMMs; activations are 16 bit
  Fp8Recipe fp8_recipe = Fp8Recipe::kDelayed;
  Fusions fusions;
  bool pads_vocabulary = true;  ///< to a multiple of 128 x t; otherwise tensor ranks share it as it is
  /// The weight-gradient GEMM adds to the fp32 main gradient itself; no kernel of its own does.
  bool fused_accumulation = true;
  /// Otherwise: bytes of traffic per weight and micro-batch of the kernel that adds a gradient to the main gradient.
  double gradient_accumulation_bytes = 6;
  /// Backward collectives run beside the weight-gradient (and, with sequence parallelism, input-gradient) GEMM.
  bool overlap_backward_collectives = true;
  /// Transformer Engine's tensor-parallel overlap (userbuffers), with sequence parallelism only: gathers run beside the
  /// GEMM that needs them, chunk by chunk, and three quarters of a reduce-scatter beside the GEMM that feeds it.
  bool overlap_forward_collectives = false;

  [[nodiscard]] double tokens() const {  ///< T = s b / c, tokens of a tensor-parallel group
    return static_cast<double>(sequence) * static_cast<double>(micro_batch) / context;
  }
};

/// Whose links a collective of a layer uses.
enum class CommGroup : std::uint8_t { kTensor, kContext };

/// A collective inside a layer. `payload` as in CollectiveShape.
struct LayerCollective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes payload;
  CommGroup group = CommGroup::kTensor;
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

/// A message to the next rank of the context-parallel ring, while one comes from the rank before.
struct RingMessage {
  Bytes payload;
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
