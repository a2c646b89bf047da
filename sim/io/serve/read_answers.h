// Reads the lengths of sequences and answers, and the width of a beam search.
#pragma once

#include <cstdint>

#include "sim/base/parse_count.h"
#include "sim/io/json/node.h"
#include "sim/serve/service.h"

namespace foretoken::io {

/// The range of a number of tokens in a question about serving.
inline constexpr WholeRange kTokenCount{.low = 1, .high = 1 << 24, .thousand = kBinaryThousand};

/// Reads output_tokens, padded_tokens and mean_output_tokens. Complains about those that the model cannot have.
/// Precondition: input_tokens are read.
void read_answers(const Node& node, const model::Transformer& model, serve::Requests& requests);

/// Reads beam_width, 1 without it. Complains about a width whose kernels are not modelled.
[[nodiscard]] std::int64_t read_beams(const Node& node);

}  // namespace foretoken::io
