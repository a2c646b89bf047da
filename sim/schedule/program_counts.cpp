// Counting stashes and messages by walking the op lists.
#include "sim/schedule/program_counts.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"

namespace foretoken::schedule {

int peak_in_flight(const Program& program, int stage) {
  expects(stage >= 0 && static_cast<std::size_t>(stage) < program.size(), "the stage is one of the program");
  int held = 0, peak = 0;
  for (const StageOp op : program[static_cast<std::size_t>(stage)]) {
    held += op.kind == OpKind::kForward ? 1 : -1;
    peak = std::max(peak, held);
  }
  return peak;
}

std::vector<std::int64_t> sends_per_stage(const Program& program) {
  std::vector<std::int64_t> sends(program.size(), 0);
  if (program.size() < 2) return sends;  // all virtual stages are on the one stage

  int chunks = 1;
  for (const StageProgram& ops : program) {
    for (const StageOp op : ops) chunks = std::max(chunks, op.chunk + 1);
  }
  const int stages = static_cast<int>(program.size());
  const int virtual_stages = stages * chunks;
  for (int stage = 0; stage < stages; ++stage) {
    for (const StageOp op : program[static_cast<std::size_t>(stage)]) {
      const int virtual_stage = op.chunk * stages + stage;
      const bool is_end = op.kind == OpKind::kForward ? virtual_stage == virtual_stages - 1 : virtual_stage == 0;
      if (!is_end) ++sends[static_cast<std::size_t>(stage)];
    }
  }
  return sends;
}

}  // namespace foretoken::schedule
