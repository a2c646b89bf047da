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

void hide(TimedOp& exchange, double beside, int microbatches) {
  const double hidden = std::min(static_cast<double>(exchange.duration.ps), beside) * (1 - 1.0 / microbatches);
  exchange.duration.ps -= std::llround(hidden);
}

}  // namespace

void hide_exchanges(TimedOps& forward, TimedOps& backward, int microbatches) {
  expects(microbatches >= 1, "a step has a micro-batch");
  const Parts ahead(forward), back(backward);
  if (ahead.first == ahead.last || back.first == back.last) return;
  const double attention = kernels(ahead.begin, ahead.first), experts = kernels(ahead.first, ahead.last);
  const double experts_back = kernels(back.first, back.last), attention_back = kernels(back.last, back.end);
  hide(*ahead.first, experts_back, microbatches);
  hide(*ahead.last, attention_back, microbatches);
  hide(*back.first, attention, microbatches);
  hide(*back.last, experts, microbatches);
}

}  // namespace foretoken::step
