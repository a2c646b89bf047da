// Quantisation around products in 8 and 4 bit: bytes of its kernels.
//
// Transformer Engine does it so (TransformerEngine d0067d0, pytorch/module/linear.py and layernorm_linear.py;
// 01a4d04, pytorch/csrc/extensions/normalization.cpp). A kernel reads a tensor in 16 bit and writes it as products
// read it. Weight gradients read the tensor along its other dimension, so most recipes write it a second time.
#pragma once

#include "sim/model/cut.h"

namespace foretoken::model {

/// Bytes an element that are read before the scale is known: the tensor's largest element is looked for. nvfp4 has a
/// scale for the tensor beside those of its blocks.
[[nodiscard]] inline double scale_search_bytes(const Cut& cut) {
  const bool current = cut.context.precision == Precision::kFp8 && cut.context.fp8_recipe == Fp8Recipe::kTensorwise;
  return current || cut.context.precision == Precision::kNvfp4 ? 2 : 0;
}

/// Products need a copy of the tensor along its other dimension. Those of one scale a tensor do not on Blackwell.
[[nodiscard]] inline bool needs_both_directions(const Cut& cut) {
  return !(cut.scales_tensors() && cut.context.reads_any_layout);
}

/// The second direction has scales of its own, so it is quantised from 16 bit in the same kernel. Otherwise a
/// transposing kernel may make it from the first.
[[nodiscard]] inline bool quantises_both_directions(const Cut& cut) {
  return cut.context.precision == Precision::kNvfp4 || cut.context.fp8_recipe == Fp8Recipe::kMxfp8;
}

/// Bytes an element to quantise along one dimension.
[[nodiscard]] inline double quantise_bytes(const Cut& cut) { return 2 + cut.element_bytes() + scale_search_bytes(cut); }

/// Bytes an element to quantise along every dimension that products need.
[[nodiscard]] inline double quantise_whole_bytes(const Cut& cut) {
  return quantise_bytes(cut) + (needs_both_directions(cut) ? cut.element_bytes() : 0);
}

/// Bytes an element to quantise the output of a norm. With delayed scaling the norm writes 8 bit itself.
[[nodiscard]] inline double quantise_norm_bytes(const Cut& cut) {
  if (!cut.quantises() || (cut.scales_tensors() && cut.context.fp8_recipe == Fp8Recipe::kDelayed)) return 0;
  return quantises_both_directions(cut) ? quantise_whole_bytes(cut) : quantise_bytes(cut);
}

/// Bytes an element to arrange the scales of blocks as products read them: each scale is read and written. mxfp8 has a
/// scale of one byte for 32 elements, nvfp4 for 16. A kernel before each product does it for each operand
/// (TransformerEngine 0576070, pytorch/csrc/extensions/swizzle.cpp; common/swizzle/swizzle.cu).
[[nodiscard]] inline double arrange_scales_bytes(const Cut& cut) {
  if (cut.context.precision == Precision::kNvfp4) return 2.0 / 16;
  return cut.context.precision == Precision::kFp8 && cut.context.fp8_recipe == Fp8Recipe::kMxfp8 ? 2.0 / 32 : 0;
}

/// Bytes an element to transpose a tensor that came quantised along one dimension, from a gather or a norm.
[[nodiscard]] inline double transpose_bytes(const Cut& cut) {
  return cut.quantises() && needs_both_directions(cut) && !quantises_both_directions(cut) ? 2 : 0;
}

}  // namespace foretoken::model
