// Finds sender and receiver of each message, and posts messages in the way that works for every program.
#include "sim/step/pipeline/messages.h"

#include "sim/base/check.h"
#include "sim/step/pipeline/megatron_messages.h"

namespace foretoken::step {
namespace {

using schedule::Neighbour;
using schedule::Place;
using schedule::Placement;

// Receives are posted long before, and a send costs its stage no time. Only the wait for an op's own input counts. A
// pair waits for the inputs of both its passes, and sends both results when it ends.
std::vector<Action> actions_as_produced(const schedule::Program& program, Stage stage) {
  const schedule::StageProgram& ops = program.stages[stage];
  std::vector<Action> actions;
  actions.reserve(ops.size() * 3);
  for (auto begin = ops.begin(); begin != ops.end();) {
    const auto end = begin + (begin->kind == schedule::OpKind::kPairedForward ? 2 : 1);
    for (auto op = begin; op != end; ++op)
      if (const Place* const sender = sender_to(program.placement, stage, *op))
        actions.emplace_back(ActionKind::kWait, needed_by(*op, *sender));
    for (auto op = begin; op != end; ++op) actions.emplace_back(*op);
    for (auto op = begin; op != end; ++op)
      if (is_sent(program.placement, stage, *op)) actions.emplace_back(ActionKind::kPost, sent_by(stage, *op));
    begin = end;
  }
  return actions;
}

}  // namespace

std::vector<Action> stage_actions(const schedule::Program& program, Stage stage, MessagePolicy policy) {
  switch (policy) {
    case MessagePolicy::kLatency:
    case MessagePolicy::kAsProduced:
      return actions_as_produced(program, stage);
    case MessagePolicy::kBlocking:
      return megatron_blocking_actions(program, stage);
    case MessagePolicy::kOverlapped:
      return megatron_overlapped_actions(program, stage);
  }
  contract_broken("every policy has its actions", __FILE__, __LINE__);
}

}  // namespace foretoken::step
