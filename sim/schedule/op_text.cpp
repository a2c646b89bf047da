// Writing and reading of ops.
#include "sim/schedule/op_text.h"

#include <fmt/format.h>

#include <cstddef>

#include "sim/base/parse_number.h"

namespace foretoken::schedule {
namespace {

std::optional<int> parse_index(std::string_view text) { return parse_number<int>(text, 0); }

}  // namespace

std::string to_text(StageOp op, int chunks) {
  const char letter = op.kind == OpKind::kForward ? 'F' : 'B';
  if (chunks > 1 || op.chunk != 0) return fmt::format("{}{}.{}", letter, op.microbatch, op.chunk);
  return fmt::format("{}{}", letter, op.microbatch);
}

std::optional<StageOp> parse_op(std::string_view text) {
  if (text.empty() || (text.front() != 'F' && text.front() != 'B')) return std::nullopt;
  const OpKind kind = text.front() == 'F' ? OpKind::kForward : OpKind::kBackward;
  const std::string_view numbers = text.substr(1);
  const std::size_t dot = numbers.find('.');
  const auto microbatch = parse_index(numbers.substr(0, dot));
  const auto chunk = dot == std::string_view::npos ? 0 : parse_index(numbers.substr(dot + 1));
  if (!microbatch || !chunk) return std::nullopt;
  return StageOp{kind, *microbatch, *chunk};
}

std::string to_text(const StageProgram& ops, int chunks) {
  std::string text;
  for (const StageOp op : ops) {
    if (!text.empty()) text += ' ';
    text += to_text(op, chunks);
  }
  return text;
}

}  // namespace foretoken::schedule
