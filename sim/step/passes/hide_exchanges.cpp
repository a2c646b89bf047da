// Pairs each exchange with the kernels of the other direction that run beside it.
#include "sim/step/passes/hide_exchanges.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/check.h"
#include "sim/job/hidden_exchanges.h"

namespace foretoken::step {
namespace {

using Ops = TimedOps::iterator;

bool is_exchange(const TimedOp& op) { return op.axis == Axis::kExpert; }

/// The parts of a pass around its two exchanges.
struct Parts {
  Ops begin, first, last, end;  ///< from `first` to `last`: the first and the last exchange

  explicit Parts(TimedOps& ops)
      : begin(ops.begin()), first(std::find_if(ops.begin(), ops.end(), is_exchange)), last(first), end(ops.end()) {
    for (Ops op = first; op != end; ++op)
      if (is_exchange(*op)) last = op;
  }
};

double kernels(Ops from, Ops to) {
  double sum = 0;
  for (Ops op = from; op != to; ++op)
    if (!op->axis) sum += static_cast<double>(op->duration.ps);
  return sum;
}

void hide(TimedOp& exchange, double beside, double with_partner, double held) {
  const double alone = static_cast<double>(exchange.duration.ps) * (1 - held);
  exchange.duration.ps -= std::llround(std::min(alone, beside) * with_partner);
}

}  // namespace

// NCCL holds one for each channel: 24 for gathers on Ampere and Hopper, and for messages the next power of two
// (ncclTopoComputeP2pChannels in src/graph/paths.cc). The others are the defaults of Megatron-Core's
// moe_deepep_num_sms and moe_hybridep_num_sms (Megatron-LM@d98e8a6, megatron/core/transformer/transformer_config.py);
// a runtime may state the first.
int held_multiprocessors(const job::Job& job) {
  switch (job.routing.dispatcher) {
    case model::Dispatcher::kAllGather:
      return 24;
    case model::Dispatcher::kDeepEp:
      return job.runtime.deepep_multiprocessors;
    case model::Dispatcher::kHybridEp:
      return 16;
    case model::Dispatcher::kAllToAll:
      break;
  }
  return 32;
}

double held_by_exchanges(const job::Job& job) {
  const int all = job.cluster.gpu.streaming_multiprocessors;
  return all > 0 ? std::min(1.0, static_cast<double>(held_multiprocessors(job)) / all) : 0;
}

bool pairs_hide_exchanges(const job::Job& job) {
  if (!job.schedule.pairs_passes) return false;
  const job::ExchangeSetting setting{
      .expert = job.parallelism.expert,
      .dispatcher = job.routing.dispatcher,
      .recomputes_experts = job::recomputes_experts(job.recompute.granularity, job.recompute.modules),
      .shared_expert_overlap = job.routing.shared_expert_overlap};
  return !job::why_exchanges_stay(setting);
}

void hide_exchanges(TimedOps& forward, TimedOps& backward, double with_partner, double held) {
  expects(with_partner >= 0 && with_partner <= 1 && held >= 0 && held <= 1, "both are parts of a whole");
  const Parts ahead(forward), back(backward);
  if (ahead.first == ahead.last || back.first == back.last) return;
  const double attention = kernels(ahead.begin, ahead.first), experts = kernels(ahead.first, ahead.last);
  const double experts_back = kernels(back.first, back.last), attention_back = kernels(back.last, back.end);
  hide(*ahead.first, experts_back, with_partner, held);
  hide(*ahead.last, attention_back, with_partner, held);
  hide(*back.first, attention, with_partner, held);
  hide(*back.last, experts, with_partner, held);
}

}  // namespace foretoken::step
