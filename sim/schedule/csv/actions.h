// The actions of PyTorch's schedule files: "0F1" is the forward pass of stage 0 over micro-batch 1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/ops.h"

namespace foretoken::schedule {

/// The words of actions. Source: PyTorch, torch/distributed/pipelining/schedules.py, _ComputationType. Files of 2024
/// have BW for the whole backward pass, and B for its part that makes the gradient of the input.
enum class CsvWord : std::uint8_t {
  kForward,
  kBackward,
  kBackwardInput,
  kBackwardWeight,
  kOlderBackward,
  kUnshard,     ///< the all-gather of the weights of a stage, in FSDP
  kReshard,     ///< frees them
  kReduceGrad,  ///< the reduction of the gradients of a stage
  kSendForward,
  kReceiveForward,
  kSendBackward,
  kReceiveBackward,
};
inline constexpr std::size_t kCsvWords = 12;

/// The meaning of one word.
struct CsvWordTraits {
  CsvWord word;
  std::string_view text;                   ///< "SEND_F"
  std::optional<OpKind> pass = {};         ///< in files since 2025
  std::optional<Neighbour> sends = {};     ///< the neighbour that a message goes to
  std::optional<Neighbour> receives = {};  ///< the neighbour that a message comes from
  bool has_microbatch = true;
};

/// One row a word, in the order of CsvWord.
inline constexpr std::array<CsvWordTraits, kCsvWords> kCsvWordTraits = {{
    {.word = CsvWord::kForward, .text = "F", .pass = OpKind::kForward},
    {.word = CsvWord::kBackward, .text = "B", .pass = OpKind::kBackward},
    {.word = CsvWord::kBackwardInput, .text = "I", .pass = OpKind::kBackwardInput},
    {.word = CsvWord::kBackwardWeight, .text = "W", .pass = OpKind::kBackwardWeight},
    {.word = CsvWord::kOlderBackward, .text = "BW", .pass = OpKind::kBackward},
    {.word = CsvWord::kUnshard, .text = "UNSHARD", .has_microbatch = false},
    {.word = CsvWord::kReshard, .text = "RESHARD", .has_microbatch = false},
    {.word = CsvWord::kReduceGrad, .text = "REDUCE_GRAD", .has_microbatch = false},
    {.word = CsvWord::kSendForward, .text = "SEND_F", .sends = Neighbour::kNext},
    {.word = CsvWord::kReceiveForward, .text = "RECV_F", .receives = Neighbour::kPrevious},
    {.word = CsvWord::kSendBackward, .text = "SEND_B", .sends = Neighbour::kPrevious},
    {.word = CsvWord::kReceiveBackward, .text = "RECV_B", .receives = Neighbour::kNext},
}};

[[nodiscard]] constexpr const CsvWordTraits& traits(CsvWord word) {
  return kCsvWordTraits[static_cast<std::size_t>(word)];
}

/// The word of two passes in one cell: "(0F1;3B0)OVERLAP_F_B".
inline constexpr std::string_view kOverlapWord = "OVERLAP_F_B";

/// One action and its place in the file.
struct CsvAction {
  CsvWord word = CsvWord::kForward;
  std::optional<OpKind> pass = {};  ///< by the letters of this file's year
  int stage = 0;                    ///< virtual stage of the model
  int microbatch = 0;               ///< 0 for a word without micro-batches
  int row = 0, at = 0;              ///< rank, and position among the actions of its row, from 0
  int column = 1;                   ///< cell of the row, from 1; the passes of a pair share one
};

/// Returns "0F1", or "0UNSHARD".
[[nodiscard]] std::string to_text(const CsvAction& action);
[[nodiscard]] std::string to_text(int stage, CsvWord word, int microbatch);

/// The actions of one cell: none for an idle one, two for a pair. `wrong` says what is wrong with any other text.
struct CsvCell {
  std::vector<CsvAction> actions = {};
  std::string wrong = {};
};

/// Reads one cell, without the comma. Places are not set.
[[nodiscard]] CsvCell parse_cell(std::string_view text);

}  // namespace foretoken::schedule
