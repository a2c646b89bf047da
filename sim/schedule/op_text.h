// Ops as text: "F3" is the forward of micro-batch 3, "W0.1" the backward for weight of micro-batch 0 in chunk 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// Returns "F3". The chunk follows ("F3.0") when stages hold several, or when the op is not of chunk 0.
[[nodiscard]] std::string to_text(StageOp op, int chunks);

/// Returns the op that `text` names (chunk 0 when it names none), or nothing when the text is no op.
[[nodiscard]] std::optional<StageOp> parse_op(std::string_view text);

/// Returns the op that a word names, or both passes of a pair: "F1.1+B0.0". Nothing when the word is neither.
[[nodiscard]] StageProgram parse_word(std::string_view word);

/// Returns the ops of one stage, separated by spaces. A + joins the passes of a pair.
[[nodiscard]] std::string to_text(const StageProgram& ops, int chunks);

/// The letters in a program's text: "F forward, B backward".
[[nodiscard]] std::string letters_text(const Program& program);

}  // namespace foretoken::schedule
