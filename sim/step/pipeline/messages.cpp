// Finds sender and receiver of each message, and posts messages in the way that works for every program.
#include "sim/step/pipeline/messages.h"

#include "sim/base/check.h"
#include "sim/step/pipeline/megatron_messages.h"

namespace foretoken::step {
namespace {

using schedule::Neighbour;
using schedule::Place;
using schedule::Placement;
using schedule::StageOp;

// Receives are posted long before, and a send costs its stage no time. Only the wait for an op's own input counts.
std::vector<Action> actions_as_produced(const schedule::Program& program, Stage stage) {
  std::vector<Action> actions;
  actions.reserve(program.stages[stage].size() * 3);
  for (const StageOp& op : program.stages[stage]) {
    if (const auto message = needed_by(program.placement, stage, op))
      actions.push_back({ActionKind::kWait, {}, *message});
    actions.push_back({ActionKind::kCompute, op, {}});
    if (const auto message = sent_by(program.placement, stage, op))
      actions.push_back({ActionKind::kPost, {}, *message});
  }
  return actions;
}

}  // namespace

std::optional<MessageKey> sent_by(const Placement& placement, Stage stage, const StageOp& op) {
  const std::optional<Neighbour> to = traits(op.kind).result_to;
  if (!to || !placement.neighbour_elsewhere({stage, op.chunk}, *to)) return std::nullopt;
  return MessageKey{{stage, op.chunk}, op.microbatch, *to};
}

std::optional<MessageKey> needed_by(const Placement& placement, Stage stage, const StageOp& op) {
  const std::optional<Neighbour> from = traits(op.kind).input_from;
  if (!from) return std::nullopt;
  const std::optional<Place> sender = placement.neighbour_elsewhere({stage, op.chunk}, *from);
  if (!sender) return std::nullopt;
  return MessageKey{*sender, op.microbatch, opposite(*from)};
}

Neighbour link_of(const Placement& placement, const MessageKey& message) {
  const std::optional<Place> receiver = placement.neighbour_elsewhere(message.sender, message.to);
  expects(receiver.has_value(), "a message goes to another stage");
  const int stages = placement.stages();
  if (stages == 2) return message.to;  // both links lead to the other stage
  return (message.sender.stage.number() + 1) % stages == receiver->stage.number() ? Neighbour::kNext
                                                                                  : Neighbour::kPrevious;
}

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
