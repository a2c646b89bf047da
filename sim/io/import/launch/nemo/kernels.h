// Layers of Transformer Engine and of NeMo 1 itself.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/io/import/launch/settings.h"

namespace foretoken::io::launch::nemo {

/// The model whose own layers run without Transformer Engine.
enum class OwnAttention : std::uint8_t { kOfGpt, kOfBert, kOfHalves };

/// Adds the flags of attention, and of fp8 beside Transformer Engine. Refuses fp8 without it.
void add_kernels(const Settings& settings, OwnAttention own, std::vector<Argument>& arguments);

/// Settles attention where the file states no transformer_engine. Call it behind the flags.
void settle_attention(const Settings& settings, OwnAttention own);

}  // namespace foretoken::io::launch::nemo
