// A static batch: all requests start together, and the batch ends with its last token (FasterTransformer, Megatron).
#pragma once

#include "sim/serve/run/simulate.h"

namespace foretoken::serve {

/// Returns the sequences of one micro-batch in a pass of `length` tokens each. Without a pipeline, or where the engine
/// does not split, it is the whole batch. Otherwise the batch is cut over the stages where they divide it, and then
/// halved while a micro-batch has more tokens than `engine.split_tokens` and an even number of sequences. Source:
/// getLocalBatchSize in FasterTransformer@df4a753, src/fastertransformer/utils/nccl_utils.h.
[[nodiscard]] std::int64_t micro_batch(const Engine& engine, std::int64_t batch, std::int64_t length, int stages);

/// Runs one batch. Each micro-batch goes to the first stage again as soon as the last stage has its next token. Answers
/// that are shorter than the longest one count with their own tokens, and end with the batch, too.
/// `times` are those of the only pool. Precondition: the batch fits.
[[nodiscard]] Run run_static(const Service& service, PassTimes& times, bool traces);

}  // namespace foretoken::serve
