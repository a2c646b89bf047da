// Times decode attention.
#include "sim/cost/kernels/decode_attention.h"

#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

constexpr double kKeysOfAPart = 256;  // keys that one block of threads walks through, at most

const DecodeLaw* law_of(const std::map<CacheKind, DecodeLaw>& laws, CacheKind kind) {
  const auto found = laws.find(kind);
  return found == laws.end() ? nullptr : &found->second;
}

CacheKind with_16_bits(CacheKind kind) {
  if (kind == CacheKind::kNarrow) return CacheKind::kWide;
  return kind == CacheKind::kLatentNarrow ? CacheKind::kLatent : kind;
}

}  // namespace

const DecodeLaw* decode_law(const ServingLaws& laws, const DecodeKernels& kernels) {
  const auto found = laws.engine_decode.find(kernels.engine);
  const bool fitted = found != laws.engine_decode.end() && found->second.fewest_shared <= kernels.shared &&
                      kernels.shared <= found->second.most_shared;
  for (const CacheKind kind : {kernels.kind, with_16_bits(kernels.kind)}) {
    if (const DecodeLaw* const own = fitted ? law_of(found->second.laws, kind) : nullptr; own != nullptr) return own;
    if (const DecodeLaw* const law = law_of(laws.decode, kind); law != nullptr) return law;
  }
  return nullptr;
}

Seconds decode_attention_time(const DecodeShape& shape, const DecodeLaw& law) {
  expects(shape.sequences >= 1 && shape.cached_tokens >= 1, "every sequence attends to a token");
  const double width = real(shape.kv_heads) * real(shape.key_dim + shape.value_dim);
  const double queries = real(shape.sequences) * real(shape.heads) * real(shape.key_dim + shape.value_dim);
  const Bytes bytes(shape.cached_tokens * width * shape.cache_bytes + 2 * queries);
  const double memory = (bytes / law.bandwidth).value();
  const double walk = law.step.value() * std::log2(1 + shape.cached_tokens / real(shape.sequences) / kKeysOfAPart);
  const double p = law.sharpness, l2 = std::pow(shape.l2.value(), p);
  return law.launch + Seconds(std::pow(std::pow(memory, p) + std::pow(walk, p) + l2, 1 / p));
}

}  // namespace foretoken::cost
