// Writes and reads ops as text.
#include "sim/schedule/op_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/base/parse_number.h"

namespace foretoken::schedule {
namespace {

std::optional<int> parse_index(std::string_view text) { return parse_number<int>(text, 0); }

/// Returns the kind that a letter stands for.
std::optional<OpKind> kind_of(char letter) {
  for (const OpTraits& one : kOpTraits)
    if (one.letter == letter) return one.kind;
  return std::nullopt;
}

}  // namespace

std::string to_text(StageOp op, int chunks) {
  const char letter = traits(op.kind).letter;
  if (chunks > 1 || op.chunk != Chunk{0})
    return fmt::format("{}{}.{}", letter, op.microbatch.number(), op.chunk.number());
  return fmt::format("{}{}", letter, op.microbatch.number());
}

std::optional<StageOp> parse_op(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::optional<OpKind> kind = kind_of(text.front());
  const std::string_view numbers = text.substr(1);
  const std::size_t dot = numbers.find('.');
  const auto microbatch = parse_index(numbers.substr(0, dot));
  const auto chunk = dot == std::string_view::npos ? 0 : parse_index(numbers.substr(dot + 1));
  if (!kind || !microbatch || !chunk) return std::nullopt;
  return StageOp{*kind, id_of<MicroBatch>(*microbatch), id_of<Chunk>(*chunk)};
}

StageProgram parse_word(std::string_view word) {
  const std::size_t plus = word.find('+');
  const std::optional<StageOp> first = parse_op(word.substr(0, plus));
  if (plus == std::string_view::npos) return first ? StageProgram{*first} : StageProgram{};
  const std::optional<StageOp> second = parse_op(word.substr(plus + 1));
  if (!first || !second || first->kind != OpKind::kForward || second->kind != OpKind::kBackward) return {};
  return {{OpKind::kPairedForward, first->microbatch, first->chunk},
          {OpKind::kPairedBackward, second->microbatch, second->chunk}};
}

std::string to_text(const StageProgram& ops, int chunks) {
  std::string text;
  for (const StageOp& op : ops) {
    if (!text.empty()) text += op.kind == OpKind::kPairedBackward ? '+' : ' ';
    text += to_text(op, chunks);
  }
  return text;
}

std::string letters_text(const Program& program) {
  std::string text;
  for (const OpTraits& one : kOpTraits) {
    const auto is_one = [&](const StageOp& op) { return op.kind == one.kind; };
    const auto has_one = [&](const StageProgram& ops) { return std::any_of(ops.begin(), ops.end(), is_one); };
    if (std::none_of(program.stages.begin(), program.stages.end(), has_one)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.letter, one.name);
  }
  return text;
}

}  // namespace foretoken::schedule
