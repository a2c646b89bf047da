// Computes the time of a cache's transfer.
#include "sim/serve/run/transfer.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/serve/passes.h"

namespace foretoken::serve {

Seconds transfer_time(const Service& service, std::int64_t tokens) {
  expects(service.disaggregated.has_value(), "only disaggregated services move caches");
  const auto& [prefill, decode] = *service.disaggregated;
  // All bytes of a cache once, whatever ranks hold copies.
  const double all = real(tokens) * real(service.model.layers) * layer_cache_bytes(service, 1);
  const int side_by_side = std::min(prefill.degrees.gpus(), decode.degrees.gpus());
  const int domain = service.cluster.links.gpus;
  const PointToPointShape message{.payload = Bytes(all / side_by_side),
                                  .crosses_nodes = prefill.gpus + decode.gpus > domain,
                                  .senders_per_node = std::min(side_by_side, domain)};
  return cost::point_to_point_time(message, service.cluster.links, service.profile);
}

}  // namespace foretoken::serve
