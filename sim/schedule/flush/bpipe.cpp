// BPipe: 1F1B whose first stages send activations to the last ones, so that all stages hold about as many.
//
// Stage r of 1F1B holds p - r activations, so a stage of the first half and its partner p-1-r hold p + 1 together. Each
// keeps at most (p + 2) / 2 of them, rounded up. A stage that reaches its share sends the newest away, to its partner,
// and brings it back before its backward pass (arXiv:2401.02088, section 2; the share is derived from that balance).
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/schedule/flush/flush.h"
#include "sim/schedule/flush/one_f_one_b.h"

namespace foretoken::schedule {
namespace {

StageProgram balanced(const StageProgram& ops, int share) {
  StageProgram moved;
  std::vector<bool> away(ops.size(), false);  // by micro-batch
  int held = 0;
  for (const StageOp& op : ops) {
    const std::size_t microbatch = op.microbatch.index();
    if (op.kind == OpKind::kBackward && away[microbatch]) {
      moved.push_back({OpKind::kBringBack, op.microbatch, op.chunk});
      ++held;
    }
    moved.push_back(op);
    held += op.kind == OpKind::kForward ? 1 : -1;
    if (op.kind != OpKind::kForward || held < share) continue;
    moved.push_back({OpKind::kSendAway, op.microbatch, op.chunk});
    away[microbatch] = true;
    --held;
  }
  return moved;
}

Program bpipe_program(PipelineShape shape) {
  Program program = one_f_one_b(shape);
  program.warm_up = {};  // its messages are not those of Megatron-LM
  const int share = (shape.stages + 3) / 2;
  for (int stage = 0; stage < shape.stages / 2; ++stage) {
    StageProgram& ops = program.stages[id_of<Stage>(stage)];
    ops = balanced(ops, share);
  }
  return program;
}

std::optional<std::string> bpipe_rule(PipelineShape shape) {
  if (shape.stages == 2)
    return "expected at least 4 pipeline stages: of 2 none holds too much, found 2; try pipeline 4";
  if (shape.stages % 2 == 0) return std::nullopt;
  return fmt::format("expected an even number of pipeline stages, found {}; try pipeline {}", shape.stages,
                     shape.stages + 1);
}

}  // namespace

Schedule bpipe() {
  return {.name = "bpipe",
          .description =
              "1f1b with activations sent to a partner stage and "
              "brought back (arXiv:2401.02088)",
          .moves_activations = true,
          .build = bpipe_program,
          .own_rule = bpipe_rule};
}

}  // namespace foretoken::schedule
