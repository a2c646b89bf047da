// Names of models whose layers are not those of one transformer.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/text.h"

namespace foretoken::io {

inline constexpr const char* kHybrid = "a hybrid of state-space and attention layers";

/// Returns true for the name of a model of state spaces or linear attention, alone or beside attention: "bamba". The
/// case of letters does not count. Source: model files of AMD-AGI/Primus, primus/configs/models/megatron; model types
/// of huggingface/transformers.
[[nodiscard]] inline bool is_hybrid_name(std::string_view name) {
  constexpr std::string_view kWords[] = {"mamba",      "bamba",      "jamba",      "zamba",       "zebra",
                                         "hybrid",     "lfm",        "gdn",        "gated_delta", "kda",
                                         "rwkv",       "retnet",     "hymba",      "falcon_h1",   "falcon-h1",
                                         "nemotron_h", "nemotron-h", "qwen3_next", "qwen3-next"};
  const std::string small = lower_case(name);
  return std::ranges::any_of(kWords, [&](std::string_view word) { return small.find(word) != std::string::npos; });
}

}  // namespace foretoken::io
