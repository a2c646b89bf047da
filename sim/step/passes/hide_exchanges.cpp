// Pairs each exchange with the kernels of the other direction that run beside it.
#include "sim/step/passes/hide_exchanges.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "sim/base/check.h"

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

void hide(TimedOp& exchange, double beside, int microbatches, double held) {
  const double alone = static_cast<double>(exchange.duration.ps) * (1 - held);
  exchange.duration.ps -= std::llround(std::min(alone, beside) * (1 - 1.0 / microbatches));
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

void hide_exchanges(TimedOps& forward, TimedOps& backward, int microbatches, double held) {
  expects(microbatches >= 1 && held >= 0 && held <= 1, "a step has a micro-batch, and a GPU its multiprocessors");
  const Parts ahead(forward), back(backward);
  if (ahead.first == ahead.last || back.first == back.last) return;
  const double attention = kernels(ahead.begin, ahead.first), experts = kernels(ahead.first, ahead.last);
  const double experts_back = kernels(back.first, back.last), attention_back = kernels(back.last, back.end);
  hide(*ahead.first, experts_back, microbatches, held);
  hide(*ahead.last, attention_back, microbatches, held);
  hide(*back.first, attention, microbatches, held);
  hide(*back.last, experts, microbatches, held);
}

}  // namespace foretoken::step
