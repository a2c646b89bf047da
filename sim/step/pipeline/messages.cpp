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
class AsProduced final : public ActionSource {
 public:
  AsProduced(const schedule::Program& program, Stage stage)
      : placement_(program.placement), ops_(program.stages[stage]), stage_(stage) {}

  bool write_next(std::vector<Action>& actions) override {
    if (at_ == ops_.size()) return false;
    const auto begin = ops_.begin() + static_cast<std::ptrdiff_t>(at_);
    const auto end = begin + (begin->kind == schedule::OpKind::kPairedForward ? 2 : 1);
    for (auto op = begin; op != end; ++op)
      if (const Place* const sender = sender_to(placement_, stage_, *op))
        actions.emplace_back(ActionKind::kWait, needed_by(*op, *sender));
    for (auto op = begin; op != end; ++op) actions.emplace_back(*op);
    for (auto op = begin; op != end; ++op)
      if (is_sent(placement_, stage_, *op)) actions.emplace_back(ActionKind::kPost, sent_by(stage_, *op));
    at_ = static_cast<std::size_t>(end - ops_.begin());
    return true;
  }

 private:
  const Placement& placement_;
  const schedule::StageProgram& ops_;
  Stage stage_;
  std::size_t at_ = 0;
};

}  // namespace

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
  while (source->write_next(actions)) {
  }
  return actions;
}

}  // namespace foretoken::step
