// Finds sender and receiver of each message, and posts messages in the way that works for every program.
#include "sim/step/pipeline/messages.h"

#include "sim/base/check.h"
#include "sim/step/pipeline/megatron_messages.h"

namespace foretoken::step {
namespace {

using schedule::Place;
using schedule::StageOp;

// Receives are posted long before, and a send costs its stage no time. Only the wait for an op's own input counts. A
// pair waits for the inputs of both its passes, and sends both results when it ends.
class AsProduced final : public ActionSource {
 public:
  AsProduced(const schedule::Program& program, Stage stage)
      : ops_(program.stages[stage]),
        sent_(OpMessages::sent(program, stage)),
        needed_(OpMessages::needed(program, stage)) {}

 private:
  bool write_next(ActionPiece& piece) override {
    if (at_ == ops_.size()) return false;
    const auto begin = ops_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = begin + (begin->kind == schedule::OpKind::kPairedForward ? 2 : 1);
    for (auto op = begin; op != end; ++op) add(piece, ActionKind::kWait, needed_, *op);
    for (auto op = begin; op != end; ++op) piece.add(Action(*op));
    for (auto op = begin; op != end; ++op) add(piece, ActionKind::kPost, sent_, *op);
    at_ = static_cast<std::size_t>(end - ops_.begin());
    return true;
  }

  static void add(ActionPiece& piece, ActionKind kind, const OpMessages& messages, const StageOp& op) {
    if (const MessageKey* const key = messages.find(op))
      piece.add({kind, MessageKey{key->sender, op.microbatch, key->to}});
  }

  const schedule::StageProgram& ops_;
  OpMessages sent_, needed_;
  std::size_t at_ = 0;
};

}  // namespace

OpMessages OpMessages::sent(const schedule::Program& program, Stage stage) {
  return OpMessages({program.placement, [&program, stage](const StageOp& op) {
                       return is_sent(program.placement, stage, op) ? std::optional(sent_by(stage, op)) : std::nullopt;
                     }});
}

OpMessages OpMessages::needed(const schedule::Program& program, Stage stage) {
  return OpMessages({program.placement, [&program, stage](const StageOp& op) {
                       const Place* const sender = sender_to(program.placement, stage, op);
                       return sender != nullptr ? std::optional(needed_by(op, *sender)) : std::nullopt;
                     }});
}

std::unique_ptr<ActionSource> action_source(const schedule::Program& program, Stage stage, MessagePolicy policy) {
  switch (policy) {
    case MessagePolicy::kLatency:
    case MessagePolicy::kAsProduced:
      return std::make_unique<AsProduced>(program, stage);
    case MessagePolicy::kBlocking:
      return megatron_blocking_actions(program, stage);
    case MessagePolicy::kOverlapped:
      return megatron_overlapped_actions(program, stage);
  }
  contract_broken("every policy has its actions", __FILE__, __LINE__);
}

std::vector<Action> stage_actions(const schedule::Program& program, Stage stage, MessagePolicy policy) {
  std::vector<Action> actions;
  actions.reserve(program.stages[stage].size() * 5);
  const std::unique_ptr<ActionSource> source = action_source(program, stage, policy);
  ActionPiece piece;
  while (source->write_piece(piece)) actions.insert(actions.end(), piece.begin(), piece.end());
  return actions;
}

}  // namespace foretoken::step
