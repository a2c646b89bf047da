// Times decode attention.
#include "sim/cost/kernels/decode_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

constexpr double kKeysOfAPart = 256;  // keys that one block of threads walks through, at most

const DecodeLaw* law_of(const std::map<CacheKind, DecodeLaw>& laws, CacheKind kind) {
  const auto found = laws.find(kind);
  return found == laws.end() ? nullptr : &found->second;
}

/// Returns how many times a range must widen to hold the value, as a logarithm. 0: it holds the value.
double beyond(const FittedRange& range, std::int64_t value) {
  const std::int64_t nearest = std::clamp(value, range.low, range.high);
  return std::abs(std::log2(real(value) / real(nearest)));
}

/// Returns how far the heads lie from the ranges of a law. 0: it holds them.
double distance_of(const EngineDecodeLaw& law, const DecodeKernels& kernels) {
  return beyond(law.shared, kernels.shared) + beyond(law.head_dims, kernels.head_dim);
}

const DecodeLaw* nearest_law(const EngineDecode& laws, CacheKind kind, const DecodeKernels& kernels) {
  const auto found = laws.find(kind);
  if (found == laws.end()) return nullptr;
  const DecodeLaw* nearest = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const EngineDecodeLaw& each : found->second) {
    const double distance = distance_of(each, kernels);
    if (distance >= least) continue;
    least = distance;
    nearest = &each.law;
  }
  return nearest;
}

CacheKind with_16_bits(CacheKind kind) {
  if (kind == CacheKind::kNarrow) return CacheKind::kWide;
  return kind == CacheKind::kLatentNarrow ? CacheKind::kLatent : kind;
}

}  // namespace

const DecodeLaw* decode_law(const ServingLaws& laws, const DecodeKernels& kernels) {
  const auto engine = laws.engine_decode.find(kernels.engine);
  for (const CacheKind kind : {kernels.kind, with_16_bits(kernels.kind)}) {
    const DecodeLaw* const own =
        engine == laws.engine_decode.end() ? nullptr : nearest_law(engine->second, kind, kernels);
    if (own != nullptr) return own;
    if (const DecodeLaw* const law = law_of(laws.decode, kind); law != nullptr) return law;
  }
  return nullptr;
}

bool is_beyond_engine_laws(const ServingLaws& laws, const DecodeKernels& kernels) {
  const auto engine = laws.engine_decode.find(kernels.engine);
  if (engine == laws.engine_decode.end()) return false;
  const auto of_kind = engine->second.find(kernels.kind);
  return of_kind != engine->second.end() && !of_kind->second.empty() &&
         std::ranges::none_of(of_kind->second,
                              [&](const EngineDecodeLaw& law) { return distance_of(law, kernels) == 0; });
}

Seconds decode_attention_time(const DecodeShape& shape, const DecodeLaw& law) {
  expects(shape.sequences >= 1 && shape.cached_tokens >= 1, "every sequence attends to a token");
  const double width = real(law.each_head ? shape.heads : shape.kv_heads) * real(shape.key_dim + shape.value_dim);
  const double queries = real(shape.sequences) * real(shape.heads) * real(shape.key_dim + shape.value_dim);
  const Bytes bytes(shape.cached_tokens * width * shape.cache_bytes + 2 * queries);
  const double memory = (bytes / law.bandwidth).value();
  const double walk = law.step.value() * std::log2(1 + shape.cached_tokens / real(shape.sequences) / kKeysOfAPart);
  const double p = law.sharpness, l2 = std::pow(shape.l2.value(), p);
  const Seconds fill = law.fill.value() > 0 ? (bytes / (bytes + law.fill_bytes)) * law.fill : Seconds(0);
  return law.launch + fill + Seconds(std::pow(std::pow(memory, p) + std::pow(walk, p) + l2, 1 / p));
}

}  // namespace foretoken::cost
