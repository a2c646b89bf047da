// Memory of one GPU of a service: weights, cache, activations and the engine's own, and what limits batch and context.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/base/units.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// The part that leaves too little room.
enum class MemoryLimit : std::uint8_t { kNone, kWeights, kActivations, kCache };
[[nodiscard]] std::string_view name_of(MemoryLimit limit);  ///< "none", "weights", "activations", "cache"

/// Memory of the fullest GPU of a pool.
struct Memory {
  Bytes weights{}, activations{}, overhead{};
  Bytes cache{};                   ///< static: what the batch needs; continuous: all pages
  Bytes needed{};                  ///< of all parts; continuous: with a cache for the longest request alone
  Bytes capacity{};                ///< that the engine may take
  Bytes token{};                   ///< of keys and values of one token on this GPU
  std::int64_t pages = 0;          ///< of the cache of an instance, over all its attention groups
  std::int64_t cached_tokens = 0;  ///< that these pages hold
  std::int64_t max_batch = 0;      ///< requests of the stated (longest) lengths that fit at once
  std::int64_t max_context = 0;    ///< tokens of one request, alone
  MemoryLimit limit = MemoryLimit::kNone;

  [[nodiscard]] bool fits() const { return limit == MemoryLimit::kNone; }
  [[nodiscard]] Bytes peak() const { return weights + activations + overhead + cache; }
};

/// Bytes of weights on the fullest GPU.
[[nodiscard]] Bytes weights_of(const Service& service, const Degrees& degrees);

/// Returns the memory of one instance of `pool`.
[[nodiscard]] Memory memory_of(const Service& service, const Pool& pool);

}  // namespace foretoken::serve
