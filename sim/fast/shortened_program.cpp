// Finds the longest part of each stage's ops that repeats.
#include "sim/fast/shortened_program.h"

#include <algorithm>

#include "sim/base/check.h"

namespace foretoken::fast {
namespace {

using schedule::Program;
using schedule::StageOp;
using schedule::StageProgram;

// A part of a stage's ops that repeats with other micro-batches.
struct Period {
  std::size_t ops = 0;
  std::uint32_t microbatches = 0;
};

bool repeats(const StageOp& op, const StageOp& next, Period period) {
  return op.kind == next.kind && op.chunk == next.chunk &&
         op.microbatch.value + period.microbatches == next.microbatch.value;
}

// Returns the shortest part that repeats in the middle of a stage's ops, as far as one op tells.
std::optional<Period> period_of(const StageProgram& ops, std::size_t microbatches) {
  const std::size_t of_one = ops.size() / microbatches, middle = ops.size() / 2;
  for (std::size_t at = middle + of_one; at < ops.size(); at += of_one) {
    const Period period{at - middle, static_cast<std::uint32_t>((at - middle) / of_one)};
    if (repeats(ops[middle], ops[at], period)) return period;
  }
  return std::nullopt;
}

// Returns the longest part of the ops that repeats.
SteadyOps steady_ops(const StageProgram& ops, Period period) {
  SteadyOps longest;
  for (std::size_t begin = 0; begin + period.ops < ops.size();) {
    std::size_t at = begin;
    while (at + period.ops < ops.size() && repeats(ops[at], ops[at + period.ops], period)) ++at;
    if (at - begin > longest.end - longest.begin) longest = {begin, at};
    begin = at + 1;
  }
  if (longest.end > longest.begin) longest.end += period.ops;
  return longest;
}

bool has_only_passes(const StageProgram& ops) {
  return std::ranges::all_of(ops, [](const StageOp& op) { return traits(op.kind).is_pass; });
}

// Leaves out some ops from `begin` on. Those behind them get earlier micro-batches.
StageProgram without(const StageProgram& ops, std::size_t begin, std::size_t count, std::uint32_t microbatches) {
  StageProgram rest;
  rest.reserve(ops.size() - count);
  rest.insert(rest.end(), ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(begin));
  for (std::size_t at = begin + count; at < ops.size(); ++at) {
    StageOp op = ops[at];
    op.microbatch.value -= microbatches;
    rest.push_back(op);
  }
  return rest;
}

}  // namespace

std::optional<ShortenedProgram> shortened(const Program& program) {
  const auto microbatches = static_cast<std::size_t>(schedule::microbatches_of(program));
  const std::size_t ops = program.stages.front().size();
  if (microbatches == 0 || ops % microbatches != 0) return std::nullopt;
  const std::optional<Period> period = period_of(program.stages.front(), microbatches);
  if (!period) return std::nullopt;

  const std::size_t turn = (2 * program.stages.size() + period->ops - 1) / period->ops;
  // Two turns are compared. Before them the stages come into step: those that meet for every message do so first.
  const std::size_t kept = (program.warm_up.empty() ? 5 : 3) * turn + 1;
  ShortenedProgram shorter{.program = {.placement = program.placement, .stages = {}, .warm_up = program.warm_up},
                           .period = period->ops,
                           .left_out = microbatches,
                           .turn = turn};
  for (const StageProgram& stage : program.stages) {
    if (stage.size() != ops || !has_only_passes(stage)) return std::nullopt;
    const SteadyOps steady = steady_ops(stage, *period);
    const std::size_t periods = (steady.end - steady.begin) / period->ops;
    if (periods < kept + turn) return std::nullopt;
    shorter.left_out = std::min(shorter.left_out, (periods - kept) / turn * turn);
    shorter.steady.push_back(steady);
  }
  const std::size_t count = shorter.left_out * period->ops;
  for (const Stage stage : program.stages.ids()) {
    const auto fewer = static_cast<std::uint32_t>(shorter.left_out) * period->microbatches;
    shorter.program.stages.push_back(without(program.stages[stage], shorter.steady[stage].begin, count, fewer));
    shorter.steady[stage].end -= count;
  }
  return shorter;
}

}  // namespace foretoken::fast
