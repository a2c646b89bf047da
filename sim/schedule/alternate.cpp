// Warm up, one forward one backward, drain: the merge of a forward and a backward order.
#include "sim/schedule/alternate.h"

#include <cstddef>

#include "sim/base/check.h"

namespace foretoken::schedule {

StageProgram warm_up_then_alternate(std::span<const StageOp> forwards, std::span<const StageOp> backwards, int warmup) {
  expects(forwards.size() == backwards.size(), "every forward has one backward");
  expects(warmup >= 0 && static_cast<std::size_t>(warmup) <= forwards.size(), "warm-up takes some of the forwards");
  const auto first_forwards = static_cast<std::size_t>(warmup);

  StageProgram ops;
  ops.reserve(2 * forwards.size());
  ops.insert(ops.end(), forwards.begin(), forwards.begin() + warmup);
  for (std::size_t next = first_forwards; next < forwards.size(); ++next) {
    ops.push_back(forwards[next]);
    ops.push_back(backwards[next - first_forwards]);
  }
  ops.insert(ops.end(), backwards.end() - warmup, backwards.end());
  return ops;
}

StageProgram passes_in_order(OpKind kind, int microbatches) {
  StageProgram ops;
  ops.reserve(static_cast<std::size_t>(microbatches));
  for (int microbatch = 0; microbatch < microbatches; ++microbatch) ops.push_back({kind, microbatch, 0});
  return ops;
}

}  // namespace foretoken::schedule
