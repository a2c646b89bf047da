// Flags by which a command shows that it is one of Megatron-LM, whatever else it states.
#pragma once

#include <string_view>

namespace foretoken::io::launch::megatron {

/// No other program that is read here has these. Source: NVIDIA/Megatron-LM, megatron/training/arguments.py.
inline constexpr std::string_view kOnlyMegatrons[] = {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                                                      "max-position-embeddings", "use-checkpoint-args",
                                                      "use-mcore-models"};
/// Megatron-LM counts its steps by these, and so do programs that name weights to start from.
inline constexpr std::string_view kIterations[] = {"train-iters", "train-samples"};

}  // namespace foretoken::io::launch::megatron
