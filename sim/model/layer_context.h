// The cut of a layer over GPUs, and its execution: degrees, batch, precision and software.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "sim/base/kernel.h"
#include "sim/model/experts.h"

namespace foretoken::model {

enum class AttentionKind : std::uint8_t { kUnfused, kFlash };

/// The way in which ranks that share a sequence exchange keys and values.
enum class ContextExchange : std::uint8_t { kRing, kAllGather, kAllToAll };
/// Returns "unfused", "flash" (the fastest kernel), "flash-2", "flash-1" or "flash-triton".
[[nodiscard]] std::string_view name_of(AttentionKind kind, FlashKernel kernel);

/// The way in which products run beside the tensor-parallel collectives of their own input or output.
enum class TensorOverlap : std::uint8_t {
  kNone,
  kUserbuffers,    ///< Transformer Engine's
  kMicroPipeline,  ///< PyTorch's compiler fuses both over symmetric memory: asynchronous tensor parallelism
};

/// The source of a tensor's fp8 scale: earlier steps, the tensor itself (one pass more), or each block of the tensor.
/// Blocks have 128 elements (blockwise) or 32 (mxfp8).
enum class Fp8Recipe : std::uint8_t { kDelayed, kTensorwise, kBlockwise, kMxfp8 };

/// Kernels that the software fuses. Each flag that is off adds the separate kernels.
struct Fusions {
  bool cross_entropy = false;           ///< fused vocabulary-parallel cross entropy (Transformer Engine, Megatron-Core)
  bool compiled_cross_entropy = false;  ///< PyTorch's compiler fuses it; its kernels write out of place
  bool rms_norm = true;                 ///< otherwise seven kernels, in fp32
  bool rotary = true;                   ///< otherwise a product of complex fp32 numbers between two casts
  bool gated_activation = true;         ///< otherwise activation and product are two kernels
  bool gelu_new = true;                 ///< otherwise the eight kernels of Hugging Face's gelu_new
  bool squared_relu = true;             ///< otherwise ReLU and square are two kernels
  bool grouped_attention = true;        ///< otherwise keys and values are repeated for every query head
  bool softmax =
      true;  ///< unfused attention: scale, mask and softmax in one kernel; otherwise those of mixed precision
  /// Unfused attention: scale, mask and softmax in one kernel, whatever the width and the number of scores.
  bool any_softmax = false;
  bool residual = true;  ///< dropout and residual in one kernel; otherwise two
  /// Bytes for each logit at the loss's highest moment, where eager code makes copies of them; 0: those of the loss
  /// above.
  double logit_bytes = 0;
  bool grouped_experts = true;  ///< otherwise the products of experts are kernels of their own, on a few streams
};

/// The cut and the execution of one layer.
struct LayerContext {
  std::int64_t sequence = 1;  ///< s; of an encoder-decoder: the encoder's
  /// Of the other half of an encoder-decoder: the decoder's, or for the decoder's layers the encoder's; 0: as long.
  std::int64_t other_sequence = 0;
  std::int64_t micro_batch = 1;  ///< b
  std::int64_t packed = 0;       ///< mean tokens of the sequences packed into one of s; 0: one fills it
  int tensor = 1;                ///< t
  int context = 1;               ///< c
  bool sequence_parallel = false;
  ContextExchange exchange = ContextExchange::kRing;
  AttentionKind attention = AttentionKind::kFlash;
  FlashKernel flash_kernel = FlashKernel::kFastest;
  Precision precision = Precision::kBf16;  ///< of the GEMMs; activations have 16 bits, or 32 with fp32 and tf32
  Fp8Recipe fp8_recipe = Fp8Recipe::kDelayed;
  bool fp8_attention = false;  ///< queries, keys and values are quantised
  bool int8_products = false;  ///< products in int8 have a law of their cost
  /// Products of one scale a tensor read their operands in any layout (Blackwell). Hopper needs transposed copies.
  bool reads_any_layout = false;
  Fusions fusions = {};
  /// PyTorch's autocast over fp32 weights: the residual stream and norms stay in fp32, and every product casts its
  /// weight and its input.
  bool autocast = false;
  bool compiled = false;        ///< PyTorch's compiler runs the layers
  bool pads_vocabulary = true;  ///< to a multiple of 128 x t; otherwise tensor ranks share it unpadded
  /// The weight-gradient GEMM adds to the main gradient itself. No separate kernel does.
  bool fused_accumulation = true;
  bool fp32_main_gradients = true;  ///< otherwise they have 16 bits
  /// Without fused_accumulation a kernel adds a gradient to the main gradient: its bytes of traffic per weight and
  /// micro-batch.
  double gradient_accumulation_bytes = 6;
  /// Backward collectives run beside the weight-gradient (and, with sequence parallelism, input-gradient) GEMM.
  bool overlap_backward_collectives = true;
  TensorOverlap tensor_overlap = TensorOverlap::kNone;  ///< changes nothing without sequence parallelism
  ExpertCut experts{};

  /// Bytes of an element of the gradient that weight-gradient GEMMs add to; 0: they write.
  [[nodiscard]] int adds_to_bytes() const { return fused_accumulation ? (fp32_main_gradients ? 4 : 2) : 0; }
  /// Returns the context of the other half of an encoder-decoder.
  [[nodiscard]] LayerContext other_half() const {
    LayerContext other = *this;
    if (other_sequence > 0) std::swap(other.sequence, other.other_sequence);
    return other;
  }
  [[nodiscard]] double tokens() const {  ///< T = s b / c, tokens of a tensor-parallel group
    return static_cast<double>(sequence) * static_cast<double>(micro_batch) / context;
  }
};

/// Names as scenarios spell them.
[[nodiscard]] std::string_view name_of(Fp8Recipe recipe);
[[nodiscard]] std::string_view name_of(Dispatcher dispatcher);

[[nodiscard]] std::string_view name_of(ContextExchange exchange);  ///< "ring", "all-gather" or "all-to-all"

/// Returns the name of the exchange; "none" where no ranks share a sequence.
[[nodiscard]] std::string_view exchange_name(const LayerContext& context);

/// Recomputation in Megatron's terms (recompute-granularity, recompute-modules).
enum class RecomputeGranularity : std::uint8_t { kNone, kSelective, kFull };
[[nodiscard]] std::string_view name_of(RecomputeGranularity granularity);  ///< as scenarios spell it

/// Modules that selective recomputation repeats. Core attention is the usual one.
struct SelectiveModules {
  bool core_attention = true;
  bool mlp = false;  ///< of dense layers
  bool layer_norm = false;
  bool activation = false;         ///< of every MLP, experts' included
  bool by_op = false;              ///< torchtitan's list: all but fused attention, and every second product
  bool experts = false;            ///< the whole mixture in place of an MLP
  bool expert_activation = false;  ///< of routed experts
  bool shared_experts = false;
  bool latent_up = false;  ///< the products from narrow vectors up to all heads, and positions
};

/// A module as scenarios and Megatron-LM's --recompute-modules spell it, and in words.
struct ModuleName {
  std::string_view key, words;
  bool SelectiveModules::*on;
  bool megatron = true;  ///< false: Megatron-LM has no such module
};
inline constexpr std::array<ModuleName, 9> kModules{{
    {"core_attn", "core attention", &SelectiveModules::core_attention},
    {"mlp", "MLP", &SelectiveModules::mlp},
    {"layernorm", "layer norm", &SelectiveModules::layer_norm},
    {"activation", "activation", &SelectiveModules::activation, /*megatron=*/false},
    {"op", "all ops but attention and every second product", &SelectiveModules::by_op, /*megatron=*/false},
    {"moe", "experts", &SelectiveModules::experts},
    {"moe_act", "activation of experts", &SelectiveModules::expert_activation},
    {"shared_experts", "shared experts", &SelectiveModules::shared_experts},
    {"mla_up_proj", "products up to all heads", &SelectiveModules::latent_up},
}};

/// No module at all. SelectiveModules{} would be core attention.
inline constexpr SelectiveModules kNoModule{.core_attention = false};

/// Returns true when a module is in both.
[[nodiscard]] constexpr bool meet(const SelectiveModules& a, const SelectiveModules& b) {
  for (const ModuleName& module : kModules)
    if (a.*module.on && b.*module.on) return true;
  return false;
}

}  // namespace foretoken::model
