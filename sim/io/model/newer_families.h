// Lists the families of models from 2021 on that differ from llama in more than sizes.
#pragma once

#include <span>

#include "sim/io/model/model_families.h"

namespace foretoken::io {

/// Lists qwen3, phi3, phi, exaone4, gemma, gemma2, gemma3_text, falcon, starcoder2, gptj, codegen, granite, olmo,
/// olmo2, internlm2, cohere, gpt_bigcode and Falcon's own RefinedWeb.
[[nodiscard]] std::span<const ModelFamily> newer_families();

}  // namespace foretoken::io
