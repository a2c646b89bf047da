// Computes the times of exchanges of tokens.
#include "sim/cost/exchanges/exchange.h"

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"

namespace foretoken::cost {
namespace {

// Dividing by the larger time keeps powers of any sharpness finite.
Seconds bent(Seconds work, Seconds link, double sharpness) {
  const Seconds larger = std::max(work, link), smaller = std::min(work, link);
  if (smaller <= Seconds(0)) return larger;
  if (sharpness == 1) return larger + smaller;
  return std::pow(1 + std::pow(smaller / larger, sharpness), 1 / sharpness) * larger;
}

BytesPerSecond rate_of(BytesPerSecond rate, const ExchangeShape& shape, const ExchangeLaw& law) {
  return law.by_multiprocessor ? static_cast<double>(shape.multiprocessors) * rate : rate;
}

Seconds inside_time(const ExchangeShape& s, const ExchangeLaw& law) {
  const Bytes each = s.copies * (s.row + Bytes(law.copy_bytes)) + Bytes(law.token_bytes) + law.token_rows * s.row;
  const Bytes sent = (1 - 1.0 / s.ranks) * s.payload();
  return law.launch +
         bent(s.tokens * each / rate_of(law.rate, s, law), sent / (s.link_factor * law.link), law.sharpness);
}

Seconds across_time(const ExchangeShape& s, const ExchangeLaw& law) {
  const ExchangeAcross& across = *law.across;
  const Bytes work = s.tokens * (s.copies + across.network_rows * s.network_copies) * s.row;
  const Bytes sent = s.tokens * s.network_copies * s.row;
  const double doublings = std::log2(s.nodes / 2.0);
  return across.launch + doublings * across.launch_per_doubling +
         bent(work / rate_of(across.rate, s, law), sent / (across.nic_efficiency * s.nic), across.sharpness);
}

}  // namespace

Seconds exchange_time(const ExchangeShape& shape, const ExchangeLaw& law) {
  expects(shape.tokens >= 0 && shape.copies >= 0 && shape.row >= Bytes(0), "an exchange moves no negative bytes");
  expects(shape.ranks >= 1 && shape.nodes >= 1 && shape.multiprocessors >= 1, "an exchange has ranks that run it");
  if (shape.nodes == 1) return inside_time(shape, law);
  expects(law.across.has_value() && shape.nic.value() > 0, "an exchange between nodes has its law, and NICs");
  return across_time(shape, law);
}

const ExchangeLaw* find_exchange(const std::vector<ExchangeLaw>& laws, ExchangeLibrary library, ExchangePhase phase) {
  const auto found = std::find_if(laws.begin(), laws.end(),
                                  [&](const ExchangeLaw& law) { return law.library == library && law.phase == phase; });
  return found == laws.end() ? nullptr : &*found;
}

}  // namespace foretoken::cost
