// Lists the families of models from 2021 on that differ from llama in more than sizes.
#pragma once

#include <span>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists qwen3, phi3, gemma, gemma2, gemma3_text, falcon, starcoder2, gptj, granite, olmo and olmo2.
[[nodiscard]] std::span<const ModelFamily> newer_families();

}  // namespace foretoken::io
