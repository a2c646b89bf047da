// Draws arrivals and lengths from a seeded generator.
#include "sim/serve/run/request.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace foretoken::serve {
namespace {

/// Uniform numbers between 0 and 1, the same on every machine: the distributions of <random> are not.
class Uniform {
 public:
  explicit Uniform(std::uint64_t seed) : bits_(seed) {}
  double operator()() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 bits_;
};

std::int32_t length(std::int64_t stated, double spread, Uniform& uniform) {
  if (spread <= 0) return static_cast<std::int32_t>(stated);
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, std::llround(real(stated) * (1 - spread * uniform()))));
}

}  // namespace

std::vector<Request> requests_of(const Service& service) {
  const Requests& asked = service.requests;
  Uniform uniform(asked.seed);
  std::vector<Request> requests(static_cast<std::size_t>(asked.count));
  double at = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Request& request = requests[i];
    if (asked.kind == ArrivalKind::kTrace) {
      const TracedRequest& row = asked.trace[i];
      request.input = static_cast<std::int32_t>(row.input_tokens);
      request.output = static_cast<std::int32_t>(row.output_tokens);
      at = row.arrival_s;
    } else {
      request.input = length(asked.input_tokens, asked.length_spread, uniform);
      request.output = length(asked.output_tokens, asked.length_spread, uniform);
    }
    if (asked.kind == ArrivalKind::kPoisson) at -= std::log(1 - uniform()) / asked.rate_per_s;
    const bool waits_for_user = asked.kind == ArrivalKind::kClosed && static_cast<std::int64_t>(i) >= asked.at_once;
    if (!waits_for_user) request.arrival = des::Instant{} + des::to_duration(Seconds(at));
    request.prefix =
        static_cast<std::int32_t>(std::min<double>(request.input - 1, std::floor(asked.prefix_share * request.input)));
  }
  return requests;
}

}  // namespace foretoken::serve
