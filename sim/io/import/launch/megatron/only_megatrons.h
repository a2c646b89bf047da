// Flags that tell commands of Megatron-LM from those of other programs.
#pragma once

#include <string_view>

namespace foretoken::io::launch::megatron {

/// No other program that is read here has these. Source: NVIDIA/Megatron-LM, megatron/training/arguments.py.
inline constexpr std::string_view kOnlyMegatrons[] = {"tensor-model-parallel-size", "pipeline-model-parallel-size",
                                                      "max-position-embeddings", "use-checkpoint-args",
                                                      "use-mcore-models"};
/// Megatron-LM counts its steps by these, and so do programs that name weights to start from.
inline constexpr std::string_view kIterations[] = {"train-iters", "train-samples"};
/// Sizes of a model. No program states them beside the name of a model.
inline constexpr std::string_view kSizes[] = {"num-layers", "hidden-size"};
/// Weights to start from, under names that Megatron-LM does not have.
inline constexpr std::string_view kWeights[] = {"model-name-or-path", "base-model"};

}  // namespace foretoken::io::launch::megatron
