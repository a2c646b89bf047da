// Counts stashes and messages by walking the op lists.
#include "sim/schedule/program_counts.h"

#include <algorithm>

namespace foretoken::schedule {

int microbatches_of(const Program& program) {
  int count = 0;
  for (const StageOp& op : program.stages[Stage{0}]) count = std::max(count, op.microbatch.number() + 1);
  return count;
}

int peak_in_flight(const StageProgram& ops) {
  int held = 0, peak = 0;
  for (const StageOp& op : ops) {
    const Stash stash = traits(op.kind).stash;
    if (stash == Stash::kStores) ++held;
    if (stash == Stash::kFrees) --held;
    peak = std::max(peak, held);
  }
  return peak;
}

int peak_away(const StageProgram& ops) {
  int away = 0, peak = 0;
  for (const StageOp& op : ops) {
    if (op.kind == OpKind::kSendAway) peak = std::max(peak, ++away);
    if (op.kind == OpKind::kBringBack) --away;
  }
  return peak;
}

std::vector<std::int64_t> sends_per_stage(const Program& program) {
  std::vector<std::int64_t> sends(program.stages.size(), 0);
  for (const Stage stage : program.stages.ids())
    for (const StageOp& op : program.stages[stage]) {
      const std::optional<Neighbour> to = traits(op.kind).result_to;
      if (to && program.placement.neighbour_elsewhere({stage, op.chunk}, *to)) ++sends[stage.index()];
    }
  return sends;
}

}  // namespace foretoken::schedule
