// Reads the lengths of sequences and answers, and the width of a beam search.
#include "sim/io/serve/read_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace foretoken::io {
namespace {

/// Reads the tokens of an answer. An encoder has none.
std::int64_t read_output(const Node& node, const model::Transformer& model) {
  if (!model.encoder) return node.whole("output_tokens", kTokenCount);
  if (node.has("output_tokens"))
    node.complain("output_tokens",
                  fmt::format("expected none: {} is an encoder, which generates no tokens", model.name));
  return 0;
}

/// Reads the length of an encoder's sequences with their padding.
std::int64_t read_padded(const Node& node, const model::Transformer& model, std::int64_t input_tokens) {
  const auto padded = node.find_whole("padded_tokens", kTokenCount);
  if (padded && !model.encoder)
    node.complain("padded_tokens", fmt::format("expected none: {} is no encoder", model.name));
  else if (padded && *padded < input_tokens)
    node.complain("padded_tokens",
                  fmt::format("expected at least the {} of input_tokens, found {}", input_tokens, *padded));
  return padded.value_or(0);
}

/// Reads the mean of answers that are not equally long. A static batch has them.
std::int64_t read_mean_output(const Node& node, const model::Transformer& model, std::int64_t output_tokens) {
  const auto mean = node.find_whole("mean_output_tokens", kTokenCount);
  if (mean && model.encoder)
    node.complain("mean_output_tokens", fmt::format("expected none: {} is an encoder", model.name));
  else if (mean && *mean > output_tokens)
    node.complain("mean_output_tokens", fmt::format("expected at most the {} of output_tokens, the longest answer, "
                                                    "found {}",
                                                    output_tokens, *mean));
  return mean.value_or(0);
}

}  // namespace

void read_answers(const Node& node, const model::Transformer& model, serve::Requests& requests) {
  requests.output_tokens = read_output(node, model);
  requests.padded_tokens = read_padded(node, model, requests.input_tokens);
  requests.mean_output_tokens = read_mean_output(node, model, requests.output_tokens);
}

// FasterTransformer's beam search (df4a753) has kernels of its own for 2, 3, 4 and 8 beams
// (kernels/online_softmax_beamsearch_kernels.cu, CASE_K). From 16 on it sorts, up to 64 beams
// (OnlineBeamSearchLayer.cu, allocateBuffer); other widths than these three take a kernel that is not modelled.
std::int64_t read_beams(const Node& node) {
  const std::int64_t beams = node.whole_or("beam_width", 1, {.low = 1, .high = 64});
  constexpr std::array<std::int64_t, 8> kWidths{1, 2, 3, 4, 8, 16, 32, 64};
  if (std::find(kWidths.begin(), kWidths.end(), beams) == kWidths.end())
    node.complain("beam_width",
                  fmt::format("expected 1, 2, 3, 4, 8, 16, 32 or 64, the widths whose kernels are modelled, "
                              "found {}",
                              beams));
  return beams;
}

}  // namespace foretoken::io
