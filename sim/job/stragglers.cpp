// Draws the speeds of a job's GPUs.
#include "sim/job/stragglers.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/base/hash.h"

namespace foretoken::job {
namespace {

enum Stream : std::uint64_t { kRadius, kAngle, kHost, kPassRadius, kPassAngle };

// Returns the draw of a stream for one GPU or host, and for one of its passes, evenly in (0, 1). It has no state, so
// GPU i is the same in every job.
template <class Id>
double uniform(std::uint64_t seed, Stream stream, Id of, std::uint64_t pass = 0) {
  const std::uint64_t bits = hash(hash(hash(hash(seed) + stream) + of.value) + pass);
  return (static_cast<double>(bits >> 11U) + 0.5) * 0x1p-53;
}

double normal(double radius, double angle) {  // Box and Muller
  return std::sqrt(-2 * std::log(radius)) * std::cos(2 * std::numbers::pi * angle);
}

double factor_of(double spread, double draw) { return std::max(0.5, 1 + spread * draw); }

}  // namespace

double slowness(const Stragglers& how, Gpu gpu, HostId host) {
  const double own = factor_of(how.gpu_spread, normal(uniform(how.seed, kRadius, gpu), uniform(how.seed, kAngle, gpu)));
  const bool slow = uniform(how.seed, kHost, host) < how.slow_nodes;
  return slow ? own * how.slow_node_factor : own;
}

double jitter_of_pass(const Stragglers& how, Gpu gpu, std::uint64_t pass) {
  if (how.jitter == 0) return 1;
  return factor_of(how.jitter,
                   normal(uniform(how.seed, kPassRadius, gpu, pass), uniform(how.seed, kPassAngle, gpu, pass)));
}

}  // namespace foretoken::job
