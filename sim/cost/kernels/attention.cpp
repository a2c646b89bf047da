// Time of fused attention (FlashAttention, cuDNN): a rate that grows with the sequence and the number of thread blocks.
#include "sim/cost/kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/cost/costs.h"

namespace foretoken::cost {
namespace {

constexpr int kPad = 8;  // kernels pad the head dimension to a multiple of 8 (flash_attn_interface, 16-byte loads).

const AttentionRate& half_of(const AttentionLaw& law, bool backward) { return backward ? law.backward : law.forward; }

/// Time of an older kernel relative to FlashAttention-2. Source: arXiv:2307.08691 section 4.1, A100: "around 2x faster
/// than FlashAttention", "around 1.3-1.5x faster than FlashAttention in Triton in the forward pass and around 2x faster
/// in the backward pass".
double times_slower(FlashKernel kernel, bool backward) {
  switch (kernel) {
    case FlashKernel::kFastest:
    case FlashKernel::kFlash2:
    case FlashKernel::kServing:
      return 1.0;
    case FlashKernel::kFlash1:
      return 2.0;
    case FlashKernel::kTriton:
      return backward ? 2.0 : 1.4;
  }
  return 1.0;
}

/// The laws around a head dimension d. Constants between measured dimensions are interpolated over log2(d). Below the
/// smallest the rate falls in proportion to d: the softmax per score stays, the products shrink. Above the largest they
/// stay.
struct LawsAround {
  const AttentionLaw *low, *high;
  double weight = 0;     ///< of `high`
  double peak_part = 1;  ///< of the interpolated peak

  /// Returns a constant of both laws, interpolated.
  template <class Constant>
  [[nodiscard]] auto between(const Constant& constant) const {
    return (1 - weight) * constant(*low) + weight * constant(*high);
  }
};

LawsAround laws_around(const std::vector<AttentionLaw>& laws, const AttentionShape& shape) {
  const int dim = (static_cast<int>(shape.head_dim) + kPad - 1) / kPad * kPad;
  const auto [below, above] = nearest_laws(laws, shape.causal, dim);
  if (!above) return {below, below};
  if (!below) return {above, above, 0, static_cast<double>(dim) / above->head_dim};
  if (below == above) return {below, below};
  return {below, above,
          std::log2(static_cast<double>(dim) / below->head_dim) /
              std::log2(static_cast<double>(above->head_dim) / below->head_dim)};
}

AttentionRate rate_for(const LawsAround& laws, bool backward) {
  const auto between = [&](auto AttentionRate::*constant) {
    return laws.between([&](const AttentionLaw& law) { return half_of(law, backward).*constant; });
  };
  return {.peak = laws.peak_part * between(&AttentionRate::peak),
          .half_length = between(&AttentionRate::half_length),
          .sharpness = between(&AttentionRate::sharpness)};
}

/// Time relative to the time at the peak rate: it falls from s0 / s for short sequences to 1 for long ones.
double short_sequence_factor(const AttentionRate& rate, double length) {
  const double ratio = rate.half_length / length;
  if (rate.sharpness == 1) return 1 + ratio;
  return std::pow(1 + std::pow(ratio, rate.sharpness), 1 / rate.sharpness);
}

/// The rows that a kernel cuts into thread blocks: `each` of them in every one of `sequences` (batch x heads).
struct RowsToCut {
  double sequences = 1, each = 1;
};

/// Time relative to that of blocks that keep all multiprocessors busy to the end.
double tail_factor(const AttentionRate& rate, const RowsToCut& rows, const AttentionLaws& attention) {
  if (!rate.waves) {
    const double blocks = rows.sequences * std::max(1.0, rows.each / attention.block_rows);
    return 1.0 + rate.tail * attention.multiprocessors / blocks;
  }
  const AttentionWaves& waves = *rate.waves;
  const double even = rows.sequences * rows.each / waves.block_rows / attention.multiprocessors;
  const double filled = rows.sequences * std::ceil(rows.each / waves.block_rows) / attention.multiprocessors;
  const double paid = filled <= 1 ? filled : (1 - waves.softness) * std::ceil(filled) + waves.softness * filled;
  return std::pow(std::pow(paid, waves.knee) + std::pow(rate.tail, waves.knee), 1 / waves.knee) / even;
}

/// The length that a short sequence is judged by. A backward pass in waves cuts the keys, and its last block takes as
/// long as a full one.
double length_walked(const AttentionRate& rate, double keys, const AttentionShape& shape) {
  if (!rate.waves || !shape.backward) return keys;
  const auto block = static_cast<double>(rate.waves->block_rows);
  return std::ceil(keys / block) * block;
}

}  // namespace

// Training without a law in 8 bits is refused (sim/job/rules/hardware.cpp). Services in 8 bits take the law of 16 bits
// for a mask that was not measured. A table's kernels are compared with it, too.
const std::vector<AttentionLaw>& laws_of(const AttentionLaws& attention, const AttentionShape& shape) {
  const bool serving = shape.kernel == FlashKernel::kServing;
  if (!serving && shape.kernel != FlashKernel::kFastest) {
    expects(!attention.flash2.empty(), "the profile has laws of FlashAttention-2");
    return attention.flash2;
  }
  if (bytes_per_element(shape.precision) < 2 && has_mask(attention.fp8, shape.causal)) return attention.fp8;
  const auto is_of_shape = [&](const AttentionLaw& law) {
    return law.causal == shape.causal && law.head_dim == shape.head_dim;
  };
  return serving && std::ranges::any_of(attention.serving, is_of_shape) ? attention.serving : attention.laws;
}

bool has_mask(const std::vector<AttentionLaw>& laws, bool causal) {
  return std::any_of(laws.begin(), laws.end(), [&](const AttentionLaw& law) { return law.causal == causal; });
}

NearestLaws nearest_laws(const std::vector<AttentionLaw>& laws, bool causal, int head_dim) {
  NearestLaws found;
  for (const AttentionLaw& law : laws) {
    if (law.causal != causal) continue;
    if (law.head_dim <= head_dim && (!found.below || law.head_dim > found.below->head_dim)) found.below = &law;
    if (law.head_dim >= head_dim && (!found.above || law.head_dim < found.above->head_dim)) found.above = &law;
  }
  expects(found.below || found.above, "the profile has attention laws for causal and for full attention");
  return found;
}

namespace {

/// Returns the time by the laws of the shape's kernel, precision and mask.
Seconds time_by_laws(const AttentionShape& shape, const Profile& profile) {
  const AttentionLaws& attention = profile.attention;
  const LawsAround laws = laws_around(laws_of(attention, shape), shape);
  const AttentionRate rate = rate_for(laws, shape.backward);
  const double overhang = laws.between([](const AttentionLaw& law) { return law.window_overhang; });
  const double padded = static_cast<double>((shape.head_dim + kPad - 1) / kPad * kPad);
  const double flop = shape.flop(overhang).value() * padded / static_cast<double>(shape.head_dim);
  const double keys = shape.keys_per_query(overhang) * (shape.causal ? 2 : 1);
  const double length =
      laws.between([&](const AttentionLaw& law) { return length_walked(half_of(law, shape.backward), keys, shape); });
  const std::int64_t cut = shape.backward ? shape.kv_length : shape.q_length;
  const RowsToCut rows{static_cast<double>(shape.batch * shape.heads), static_cast<double>(cut)};
  const double tail =
      laws.between([&](const AttentionLaw& law) { return tail_factor(half_of(law, shape.backward), rows, attention); });
  const double slowdown = attention.sustained_factor * short_sequence_factor(rate, length) * tail;
  return attention.launch + times_slower(shape.kernel, shape.backward) * slowdown * (Flop(flop) / rate.peak);
}

/// Returns the part of the 16-bit time that a causal kernel takes in 8 bits, with as many queries as keys.
double part_of_wide_time(AttentionShape shape, const Profile& profile) {
  shape.causal = true;
  shape.q_length = shape.kv_length;
  AttentionShape wide = shape;
  wide.precision = Precision::kBf16;
  return time_by_laws(shape, profile) / time_by_laws(wide, profile);
}

}  // namespace

bool is_mask_assumed(const AttentionLaws& attention, const AttentionShape& shape) {
  return shape.kernel == FlashKernel::kFastest && bytes_per_element(shape.precision) < 2 && !shape.causal &&
         has_mask(attention.fp8, true) && !has_mask(attention.fp8, false);
}

/// Time of one fused attention kernel.
///
///   t = launch + flop / peak (1 + (s0 / s)^g)^(1/g) (1 + c multiprocessors / blocks) sustained_factor slower
///
/// s is kv_length, or with a window the keys that a query looks at on average: of the window and the law's overhang,
/// because tiles at its edges are computed whole (twice that number under a causal mask, as for kv_length). The forward
/// pass cuts queries into thread blocks, the backward pass keys. Padding of the head dimension to a multiple of 8 is
/// paid for.
///
/// Time never falls with any dimension: s (1 + (s0/s)^g)^(1/g) = (s^g + s0^g)^(1/g).
///
/// A law with waves has another last factor. Its blocks of r rows all take equally long, and x waves of them run:
///
///   (w^p + c^p)^(1/p) / (batch heads rows / (r multiprocessors))
///   w = (1 - f) ceil(x) + f x,   x = batch heads ceil(rows / r) / multiprocessors;   w = x below one wave
///
/// Kernels cut the keys where blocks fill less than a wave. So time falls there, too, down to c.
///
/// No table has kernels in 8 bits without a mask. Such a kernel of training takes the part of its 16-bit time that a
/// causal one takes: an assumption.
///
/// Source: series of the flash-attention repository, arXiv:2307.08691 and 2407.08608; c from SimuMax's operator tables.
/// Holds for: sequences >= 512; head dimensions 32 to 256.
/// Error: the profile's attention residuals.
Seconds attention_time(const AttentionShape& shape, const Profile& profile) {
  expects(shape.batch >= 1 && shape.heads >= 1 && shape.q_length >= 1 && shape.kv_length >= 1 && shape.head_dim >= 1,
          "attention has positive dimensions");
  const double part = is_mask_assumed(profile.attention, shape) ? part_of_wide_time(shape, profile) : 1;
  return part * time_by_laws(shape, profile);
}

}  // namespace foretoken::cost
