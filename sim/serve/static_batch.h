// A static batch: all requests start together, and the batch ends with its last token (FasterTransformer, Megatron).
#pragma once

#include "sim/serve/simulate.h"

namespace foretoken::serve {

/// Returns the sequences of one micro-batch in a pass of `length` tokens each. Without a pipeline, or where the engine
/// does not split, it is the whole batch. Source: getLocalBatchSize in FasterTransformer@df4a753,
/// src/fastertransformer/utils/nccl_utils.h: the batch over the stages where they divide it, then halved while a
/// micro-batch has more than 4096 tokens and an even number of sequences.
[[nodiscard]] std::int64_t micro_batch(const Engine& engine, std::int64_t batch, std::int64_t length, int stages);

/// Runs one batch. Each micro-batch goes to the first stage again as soon as the last stage has its next token.
/// Precondition: the batch fits.
[[nodiscard]] Run run_static(const Service& service, bool traces = false);

}  // namespace foretoken::serve
