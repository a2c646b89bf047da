// Predicts published times of attention: an engine's kernels beside attention, and the clock of the benchmark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Bandwidth from which on bytes count as free: 1,000 TB/s.
inline constexpr BytesPerSecond kFreeBandwidth(1e15);

/// Returns the engine whose tables have kernels of this name; nothing for kernels of training.
[[nodiscard]] std::optional<cost::InferenceEngine> engine_of(const measured::AttentionSample& sample);

/// Returns the key that decides whether a kernel is held out.
[[nodiscard]] std::string attention_key(const AttentionShape& shape);

/// Returns the shape with its kernel: kernels beside one that writes a cache are of engines of inference.
[[nodiscard]] AttentionShape shape_of_kernel(const measured::AttentionSample& sample);

/// The work of the kernels beside attention that a sample's time includes.
struct CacheWork {
  Bytes bytes{};           ///< of keys and values, read and written
  Bytes queries{};         ///< read and written
  double full_tokens = 0;  ///< thread blocks of vLLM's kernel, in full ones
};
[[nodiscard]] CacheWork cache_work(const measured::AttentionSample& sample);

/// Returns no time where no cache is written.
[[nodiscard]] Seconds cache_time(const CacheWork& work, const cost::CacheWrite& write);

/// Returns the kernel that writes a cache as fast as any kernel bound by memory.
[[nodiscard]] cost::CacheWrite usual_cache_write(const cost::MemoryBoundLaw& law);

/// The constants of a cache write that a fit moves: launch, rate, and these two. A fit moves their logarithms.
struct FittedCacheWrite {
  bool by_token = false, with_queries = false;

  /// Adds the places where a fit begins.
  void start(std::vector<double>& arguments, const cost::CacheWrite& usual) const;
  /// Returns the constants that begin at `place`. Engines that write the cache inside another kernel have no launch for
  /// it: less than 10 ns is none. So is less than 10 ps of a token, and a rate of queries of kFreeBandwidth.
  [[nodiscard]] cost::CacheWrite at(const std::vector<double>& arguments, std::size_t place) const;
};

/// Predicts an engine's table with one law of attention and the engine's constants.
class EnginePrediction {
 public:
  /// `frame` gives the GPU's constants that all laws share.
  EnginePrediction(cost::AttentionLaw law, const cost::EngineAttention& engine, const cost::AttentionLaws& frame);

  /// Precondition: the sample has the law's head dimension and mask.
  [[nodiscard]] Seconds operator()(const measured::AttentionSample& sample) const;

 private:
  cost::EngineAttention engine_;
  cost::Profile brief_{}, sustained_{};
};

/// A law, and an engine's constants beside it.
struct EngineLaw {
  const cost::AttentionLaw* law;
  const cost::EngineAttention* engine;
};
/// Returns those of a sample; nothing where the law does not know the engine.
[[nodiscard]] std::optional<EngineLaw> engine_law(const cost::AttentionLaws& attention,
                                                  const measured::AttentionSample& sample);

/// Returns the law of exactly the sample's head dimension, mask, width and kernel; nothing where there is none.
[[nodiscard]] const cost::AttentionLaw* own_law(const cost::AttentionLaws& attention,
                                                const measured::AttentionSample& sample);

}  // namespace foretoken::fit
