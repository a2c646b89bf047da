// Computes times of kernels of serving.
#include "sim/serve/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/text.h"
#include "sim/cost/costs.h"

namespace foretoken::serve {
namespace {

/// Returns true when products compute in 16 bits over narrower weights.
bool is_weight_only(WeightPrecision precision) {
  return precision == WeightPrecision::kInt8 || precision == WeightPrecision::kInt4 ||
         precision == WeightPrecision::kMxfp4;
}

cost::CacheKind cache_kind(const CacheAttention& shape, const Service& service) {
  const bool narrow = service.cache_bytes < 2;
  if (shape.latent) return narrow ? cost::CacheKind::kLatentNarrow : cost::CacheKind::kLatent;
  return narrow ? cost::CacheKind::kNarrow : cost::CacheKind::kWide;
}

}  // namespace

CacheReading cache_reading(std::int64_t heads, std::int64_t kv_heads, const Service& service) {
  const auto& sizes = service.engine.xqa_group_sizes;
  const bool shares = service.model.latent || !sizes || heads == kv_heads ||
                      std::find(sizes->begin(), sizes->end(), heads / kv_heads) != sizes->end();
  if (shares) return CacheReading::kShared;
  const bool has_rate = service.laws && service.laws->l2_rate;
  return has_rate && service.cache_bytes == 2 ? CacheReading::kThroughL2 : CacheReading::kFromMemory;
}

cost::DecodeKernels decode_kernels(const CacheAttention& shape, const Service& service) {
  const CacheReading reading = cache_reading(shape.heads, shape.kv_heads, service);
  const std::int64_t readers = reading == CacheReading::kFromMemory ? shape.heads : shape.kv_heads;
  return {.engine = reading == CacheReading::kShared ? std::string_view(service.engine.decode_attention) : "",
          .kind = cache_kind(shape, service),
          .shared = shape.latent ? 1 : shape.heads / readers,
          .head_dim = shape.head_dim};
}

// A kernel without shared readings has a block of threads for each query head, which reads the keys and values of its
// head. The blocks of a group run side by side: the first reads from memory, and all through the L2 cache. Where its
// rate is not known, all are taken to read from memory. So are those of a cache of 8 bits, which each block widens by
// itself: published rows take as long as three of the four readings that are counted (docs/modeller/serving.md).
Seconds cache_attention_time(const CacheAttention& shape, const Service& service) {
  const CacheReading reading = cache_reading(shape.heads, shape.kv_heads, service);
  const bool through_l2 = reading == CacheReading::kThroughL2;
  const std::int64_t readers = reading == CacheReading::kFromMemory ? shape.heads : shape.kv_heads;
  const double once = real(shape.sequences) * shape.cached * shape.token_bytes;
  const double read = once * (real(readers) / real(shape.kv_heads));
  const Seconds roofline = cost::memory_bound_time({Bytes(std::max(read, 1.0))}, service.profile);
  if (!service.laws) return roofline;
  // All heads read the same latent vectors, and the values are a part of them. The law was fitted so.
  const cost::DecodeShape read_once{
      .sequences = shape.sequences,
      .cached_tokens = std::max(1.0, real(shape.sequences) * shape.cached),
      .heads = shape.heads * shape.queries,
      .kv_heads = shape.latent ? 1 : readers,
      .key_dim = shape.head_dim,
      .value_dim = shape.latent ? 0 : shape.value_dim,
      .cache_bytes = service.cache_bytes,
      .l2 = through_l2 ? Bytes(once * real(shape.heads) / real(shape.kv_heads)) / *service.laws->l2_rate : Seconds(0)};
  const cost::DecodeLaw* const law = cost::decode_law(*service.laws, decode_kernels(shape, service));
  return law == nullptr ? roofline : cost::decode_attention_time(read_once, *law);
}

cost::AllReduceKernels all_reduce_kernels(int ranks, const Service& service) {
  const cost::AllReduceKernels wanted = service.engine.all_reduce;
  if (wanted == cost::AllReduceKernels::kNccl || !service.laws) return cost::AllReduceKernels::kNccl;
  return cost::kernels_or_stand_in(wanted, ranks, service.laws->all_reduces).value_or(cost::AllReduceKernels::kNccl);
}

std::optional<Seconds> small_all_reduce_time(Bytes payload, int ranks, const Service& service) {
  const cost::AllReduceKernels kernels = all_reduce_kernels(ranks, service);
  if (kernels == cost::AllReduceKernels::kNccl) return std::nullopt;
  return cost::small_all_reduce_time(payload, ranks, kernels, service.laws->all_reduces);
}

const cost::NarrowExpertsLaw* experts_law(const Service& service) {
  if (!service.laws) return nullptr;
  const auto& law =
      service.moe_backend == MoeBackend::kMarlin ? service.laws->marlin_experts : service.laws->mxfp4_experts;
  return law ? &*law : nullptr;
}

cost::FoundExperts expert_layers(const Service& service) {
  if (!service.laws || service.engine.experts.empty() || service.moe_backend != MoeBackend::kAuto) return {};
  if (is_weight_only(service.precision) || is_wide(service.precision)) return {};
  const Precision computed = computes_in(service.precision, service.profile);
  const Precision precision = computed == Precision::kFp16 ? Precision::kBf16 : computed;
  return cost::experts_or_stand_in(service.engine.experts, precision, service.laws->experts);
}

const cost::EngineProductsLaw* products_law(Precision precision, const Service& service) {
  if (!service.laws) return nullptr;
  const auto engine = service.laws->products.find(service.engine.products);
  if (engine == service.laws->products.end()) return nullptr;
  const auto law = engine->second.find(precision);
  return law == engine->second.end() ? nullptr : &law->second;
}

namespace {

// Products of a batch, as those of experts, are other kernels.
Seconds gemm_time_of_engine(const GemmShape& shape, const Service& service) {
  const Seconds time = cost::gemm_time(shape, service.profile);
  const cost::EngineProductsLaw* const law = shape.batch == 1 ? products_law(shape.precision, service) : nullptr;
  return law == nullptr ? time : cost::engine_product_time(time, shape.m, *law);
}

}  // namespace

// Weights of 8 or 4 bits are widened inside the product. It computes as in 16 bits, and reads fewer bytes:
//
//   t = max(t16 - (bytes16 - bytes) / rate, bytes / rate, m / 4096 x t16 of 4096 rows)
//
// The last term is the product where it is bound by computing. Not fitted: no table of such products is in the
// profiles. Experts in MXFP4 have a law where the GPU's laws of serving hold it.
Seconds product_time(const GemmShape& shape, WeightPrecision precision, const Service& service) {
  const cost::Profile& profile = service.profile;
  const cost::NarrowExpertsLaw* const experts = experts_law(service);
  if (precision == WeightPrecision::kMxfp4 && experts != nullptr)
    return cost::narrow_experts_time({.experts = shape.batch,
                                      .rows = shape.m,
                                      .outputs = shape.n,
                                      .inputs = shape.k,
                                      .choices = service.model.experts ? service.model.experts->count : 0,
                                      .weight_bytes = weight_bytes(precision)},
                                     *experts);
  const Seconds time = gemm_time_of_engine(shape, service);
  if (!is_weight_only(precision)) return time;
  const double weights = real(shape.n) * real(shape.k) * real(shape.batch);
  const BytesPerSecond rate = profile.memory_bound.efficiency * profile.memory_bound.bandwidth;
  const Seconds wide = Bytes(weights * 2) / rate, narrow = Bytes(weights * weight_bytes(precision)) / rate;
  constexpr std::int64_t kManyRows = 4096;
  GemmShape many = shape;
  many.m = std::max(shape.m, kManyRows);
  const Seconds computing = real(shape.m) / real(many.m) * cost::gemm_time(many, profile);
  return std::max({time - (wide - narrow), narrow, computing});
}

Precision computes_in(WeightPrecision precision, const cost::Profile& profile) {
  switch (precision) {
    case WeightPrecision::kFp16:
      return Precision::kFp16;
    case WeightPrecision::kFp8:
      return Precision::kFp8;
    case WeightPrecision::kFp8Block:
      return Precision::kFp8Block;
    case WeightPrecision::kNvfp4:
      return Precision::kNvfp4;
    case WeightPrecision::kMxfp4:
    case WeightPrecision::kInt8:
    case WeightPrecision::kInt4:
      if (!profile.gemm.empty() && !profile.gemm.contains(Precision::kBf16)) return Precision::kFp16;
      return Precision::kBf16;
    case WeightPrecision::kW8a8:
      return Precision::kInt8;
    case WeightPrecision::kTf32:
      return Precision::kTf32;
    case WeightPrecision::kFp32:
      return Precision::kFp32;
    case WeightPrecision::kBf16:
      return Precision::kBf16;
  }
  return Precision::kBf16;
}

namespace {

// Returns "; try bf16 or fp8", the precisions whose products the profile has; empty for none.
std::string other_products(const Service& service) {
  std::vector<std::string> names;
  for (const WeightPrecision other : {WeightPrecision::kBf16, WeightPrecision::kFp16, WeightPrecision::kFp8,
                                      WeightPrecision::kNvfp4, WeightPrecision::kW8a8})
    if (service.profile.gemm.contains(computes_in(other, service.profile)) && !why_not(other, service))
      names.emplace_back(name_of(other));
  return names.empty() ? "" : "; try " + either(names);
}

}  // namespace

// GPUs of Triton's experts: NVIDIA/TensorRT-LLM, examples/models/core/gpt_oss/README.md at commit 0ee4114.
std::optional<std::string> why_no_backend(WeightPrecision precision, const Service& service) {
  if (service.moe_backend == MoeBackend::kAuto || !service.model.experts) return std::nullopt;
  const bool triton = service.moe_backend == MoeBackend::kTriton;
  const net::Gpu& gpu = service.cluster.gpu;
  if (precision != WeightPrecision::kMxfp4)
    return fmt::format("expected auto: experts in {} have one kind of kernels; {} is of mxfp4", name_of(precision),
                       name_of(service.moe_backend));
  if (triton && !service.engine.triton)
    return fmt::format("expected auto: engine {} has no triton_launch_us of Triton's kernels; trt-llm-2025 has it",
                       service.engine.name);
  if (triton && gpu.architecture != "hopper")
    return fmt::format("expected auto: TensorRT-LLM has Triton's experts on Hopper alone, found {}", gpu.name);
  if (!triton && experts_law(service) == nullptr)
    return fmt::format(
        "expected auto: no table of {} has Marlin's kernels; h100-sxm5-80gb and h200-sxm5-141gb have one", gpu.name);
  return std::nullopt;
}

std::optional<std::string> why_not(WeightPrecision precision, const Service& service) {
  const cost::Profile& profile = service.profile;
  const bool decodes_alone = !service.model.encoder && !service.model.encoder_decoder;
  if (is_wide(precision) && decodes_alone)
    return fmt::format("expected 16 bits or fewer, found {}: decoders are not served in 32 bits", name_of(precision));
  if (is_wide(precision) != (service.cache_bytes > 2) && !service.model.encoder)
    return fmt::format("expected weights and cache of 32 bits, or neither, found {} and {}", name_of(precision),
                       service.cache_precision);
  if (precision == WeightPrecision::kW8a8 && !service.model.encoder)
    return fmt::format("w8a8 is of encoders, and {} generates tokens; try int8 (weights alone) or fp8",
                       service.model.name);
  if (precision == WeightPrecision::kMxfp4 && !service.model.experts)
    return fmt::format("mxfp4 is of experts' weights, and {} has no experts; try nvfp4 or int4", service.model.name);
  const Precision computes = computes_in(precision, profile);
  if (profile.gemm.empty() || profile.gemm.contains(computes)) return std::nullopt;
  return fmt::format("profile {} has no products in {}{}", profile.name, foretoken::name_of(computes),
                     other_products(service));
}

}  // namespace foretoken::serve
