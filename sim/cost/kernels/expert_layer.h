// The time of a layer of experts as engines of inference run it: all kernels between the router's product and the sum
// over experts, without exchanges and shared experts.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/kernel.h"
#include "sim/base/units.h"
#include "sim/cost/evidence.h"

namespace foretoken::cost {

/// One law of an engine's layer of experts on a kind of GPU.
///
///   t = launch + experts expert + rows hidden row + tokens hidden token + (memory^p + compute^p)^(1/p)
///   memory = bytes of the weights that are met / bandwidth,  compute = 2 rows weights / rate
///
/// `row` is the time of copying one element of a row to its expert and back, `token` that of one element of a token in
/// kernels that run over all of them.
struct ExpertLayerLaw {
  Seconds launch{};
  Seconds expert{};            ///< for each expert of the GPU: rows are sorted by them
  Seconds row{}, token{};      ///< for each element
  BytesPerSecond bandwidth{};  ///< its efficiency is included
  FlopPerSecond rate{};
  double sharpness = 1;  ///< p
  Evidence evidence{};
};

/// The laws of one engine and one precision. Kernels work otherwise where experts are spread over ranks: some run over
/// the tokens of all ranks.
struct ExpertLayerLaws {
  std::optional<ExpertLayerLaw> one_rank{};  ///< all experts on each GPU
  std::optional<ExpertLayerLaw> spread{};    ///< a part of the experts on each GPU

  /// Returns the law for so many expert ranks, or else the other one. Null: there is none.
  [[nodiscard]] const ExpertLayerLaw* of(int expert_ranks) const;
};

/// The laws of a GPU by the engine (trt-llm, vllm, sglang) and by the precision of the products.
using EngineExperts = std::map<std::string, std::map<Precision, ExpertLayerLaws>, std::less<>>;

/// A layer on one GPU. Widths are those that remain after sharding.
struct ExpertLayer {
  double tokens = 1;         ///< of all expert ranks
  std::int64_t experts = 1;  ///< of this GPU
  std::int64_t met = 1;      ///< of them, by some token
  std::int64_t rows = 1;     ///< of each expert that is met
  std::int64_t hidden = 1;   ///< width of a token
  double weights = 1;        ///< elements of the matrices of one expert
  double weight_bytes = 2;   ///< of an element, with its part of the scales
};

/// Precondition: every number is positive.
[[nodiscard]] Seconds expert_layer_time(const ExpertLayer& layer, const ExpertLayerLaw& law);

/// An engine's laws of a precision, and the engine whose kernels they time.
struct FoundExperts {
  std::string_view engine;
  const ExpertLayerLaws* laws = nullptr;
};

/// Returns the engine's own laws, or else those of vLLM, TensorRT-LLM or SGLang, in this order: engines share Triton's
/// and TensorRT-LLM's kernels. No laws: the GPU has none of this precision.
[[nodiscard]] FoundExperts experts_or_stand_in(std::string_view engine, Precision precision, const EngineExperts& all);

}  // namespace foretoken::cost
