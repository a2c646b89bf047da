// Engines run kernels of their own beside attention. Each engine has its constants, and attention has one law.
#include "calibration/fit/laws/attention_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "calibration/fit/laws/benchmark_clock.h"
#include "calibration/fit/numerics/residuals.h"
#include "sim/cost/costs.h"
#include "sim/cost/kernels/attention.h"

namespace foretoken::fit {
namespace {

// Threads that write one token into a cache at most: vLLM's kernel (csrc/cache_kernels.cu, reshape_and_cache_flash).
constexpr double kMostThreads = 512;
// Launch of the kernel that writes keys and values into a cache, where no table states it. Tables show 7 to 13 us at
// one token.
constexpr Seconds kUsualCacheLaunch(8e-6);
const double kFirstToken = std::log(1e-9);  // where fits of the time of a token in a cache begin

}  // namespace

std::optional<cost::InferenceEngine> engine_of(const measured::AttentionSample& sample) {
  constexpr std::array<std::string_view, 6> kOfSglang{
      "fa3", "trtllm_mha", "flashinfer", "flash_attention", "flash_attention_v3", "flash_attention_v4"};
  const std::string& kernel = sample.implementation;
  if (kernel.starts_with("vllm")) return cost::InferenceEngine::kVllm;
  if (kernel.starts_with("torch_flow")) return cost::InferenceEngine::kTensorRtLlm;
  if (std::ranges::find(kOfSglang, kernel) != kOfSglang.end()) return cost::InferenceEngine::kSglang;
  return std::nullopt;
}

std::string attention_key(const AttentionShape& s) {
  return fmt::format("{} {} {} {} {} {} {}", s.batch, s.heads, s.q_length, s.kv_length, s.head_dim, s.causal,
                     s.backward);
}

AttentionShape shape_of_kernel(const measured::AttentionSample& sample) {
  AttentionShape shape = sample.shape;
  if (sample.beside.value() > 0) shape.kernel = FlashKernel::kServing;
  return shape;
}

CacheWork cache_work(const measured::AttentionSample& sample) {
  const AttentionShape& shape = sample.shape;
  const double part = std::min(1.0, static_cast<double>(shape.kv_heads * shape.head_dim) / kMostThreads);
  const auto queries = static_cast<double>(shape.batch * shape.q_length * shape.heads * shape.head_dim);
  return {.bytes = sample.beside,
          .queries = Bytes(queries * (2 + bytes_per_element(shape.precision))),
          .full_tokens = static_cast<double>(shape.batch * shape.kv_length) * part};
}

Seconds cache_time(const CacheWork& work, const cost::CacheWrite& write) {
  if (work.bytes.value() <= 0) return Seconds(0);
  const Seconds keys = write.launch + work.bytes / write.bandwidth + work.full_tokens * write.token;
  return write.queries.value() > 0 ? keys + work.queries / write.queries : keys;
}

cost::CacheWrite usual_cache_write(const cost::MemoryBoundLaw& law) {
  return {kUsualCacheLaunch, law.efficiency * law.bandwidth};
}

void FittedCacheWrite::start(std::vector<double>& arguments, const cost::CacheWrite& usual) const {
  arguments.insert(arguments.end(), {std::log(usual.launch.value()), std::log(usual.bandwidth.value())});
  if (by_token) arguments.push_back(kFirstToken);
  if (with_queries) arguments.push_back(-std::log(usual.bandwidth.value()));
}

cost::CacheWrite FittedCacheWrite::at(const std::vector<double>& arguments, std::size_t place) const {
  const auto rate = [](double log_rate) {
    return BytesPerSecond(rounded(std::min(std::exp(log_rate), kFreeBandwidth.value()), 3));
  };
  cost::CacheWrite write{Seconds(std::round(std::exp(arguments[place]) * 1e8) / 1e8), rate(arguments[place + 1])};
  place += 2;
  if (by_token) write.token = Seconds(std::round(std::exp(arguments[place++]) * 1e11) / 1e11);
  if (with_queries) write.queries = rate(-arguments[place]);
  if (write.queries >= kFreeBandwidth) write.queries = {};
  return write;
}

EnginePrediction::EnginePrediction(cost::AttentionLaw law, const cost::EngineAttention& engine,
                                   const cost::AttentionLaws& frame)
    : engine_(engine) {
  if (engine.windowed) law.window_overhang = engine.window_overhang;
  if (engine.forward) law.forward = *engine.forward;
  law.engines.clear();
  law.evidence = {};
  sustained_.attention = {.laws = {law},
                          .multiprocessors = frame.multiprocessors,
                          .block_rows = frame.block_rows,
                          .launch = frame.launch,
                          .sustained_factor = frame.sustained_factor};
  brief_.attention = sustained_.attention;
  brief_.attention.sustained_factor = 1;
}

Seconds EnginePrediction::operator()(const measured::AttentionSample& sample) const {
  const Seconds brief = engine_.kernel_factor * cost::attention_time(sample.shape, brief_);
  Seconds kernel = brief;
  if (!engine_.forward && brief > kFullClockAttention)
    kernel = in_table(brief, engine_.kernel_factor * cost::attention_time(sample.shape, sustained_),
                      kFullClockAttention, sample.shape.precision);
  return engine_.cache_write ? kernel + cache_time(cache_work(sample), *engine_.cache_write) : kernel;
}

const cost::AttentionLaw* own_law(const cost::AttentionLaws& attention, const measured::AttentionSample& sample) {
  const AttentionShape shape = shape_of_kernel(sample);
  const bool narrow = bytes_per_element(shape.precision) < 2;
  const std::vector<cost::AttentionLaw>& laws = cost::laws_of(attention, shape);
  if (narrow && &laws != &attention.fp8) return nullptr;  // a law of 16 bits
  const auto found = std::ranges::find_if(
      laws, [&](const auto& law) { return law.head_dim == shape.head_dim && law.causal == shape.causal; });
  return found == laws.end() ? nullptr : &*found;
}

std::optional<EngineLaw> engine_law(const cost::AttentionLaws& attention, const measured::AttentionSample& sample) {
  const auto engine = engine_of(sample);
  const cost::AttentionLaw* const law = engine ? own_law(attention, sample) : nullptr;
  if (law == nullptr) return std::nullopt;
  const auto found = std::ranges::find_if(law->engines, [&](const cost::EngineAttention& one) {
    return one.engine == *engine && one.windowed == (sample.shape.window > 0);
  });
  if (found == law->engines.end()) return std::nullopt;
  return EngineLaw{law, &*found};
}

}  // namespace foretoken::fit
