// What the lowering asks of the cost models, in a few rules.
#include "sim/lowering/profile_uses.h"

#include "sim/lowering/parts.h"
#include "sim/net/cables.h"

namespace foretoken::lowering {

cost::Uses uses_of(const Scenario& scenario) {
  const NodeLinks& links = scenario.cluster.links;
  const net::Degrees degrees = scenario.degrees();
  const bool several = scenario.gpus > 1, nvlink = links.nvlink_per_gpu.value() > 0;
  const auto lacks_cables = [&](net::RankRow row) { return net::lacks_cables(scenario.cluster, degrees, row); };
  const bool pcie = !nvlink || lacks_cables(net::tensor_row(degrees)) || lacks_cables(net::context_row(degrees)) ||
                    lacks_cables(net::gradient_row(degrees)) || lacks_cables(net::world_row(degrees));
  const bool several_stages = degrees.pipeline > 1;
  const int stage_ranks = degrees.tensor * degrees.context * degrees.data;  // side by side in the order of ranks
  cost::Uses uses{.precisions = {scenario.precision},
                  .fused_attention = scenario.attention == model::AttentionKind::kFlash,
                  .head_dim = static_cast<int>(scenario.model.head_dim),
                  .nvlink = several && nvlink,
                  .pcie = several && pcie,
                  .network = scenario.gpus > links.gpus,
                  .messages_inside = several_stages && stage_ranks < links.gpus,
                  .messages_across = several_stages && scenario.gpus > links.gpus};
  if (scenario.precision == Precision::kFp8) uses.precisions.push_back(Precision::kBf16);  // the head's products
  return uses;
}

std::vector<std::pair<const cost::Profile*, cost::Uses>> profiles_used(const Scenario& scenario) {
  if (scenario.groups.empty()) return {{&scenario.profile, uses_of(scenario)}};
  std::vector<std::pair<const cost::Profile*, cost::Uses>> used;
  const Parts parts(scenario);
  const std::vector<const Scenario*> all = parts.all();
  for (std::size_t group = 0; group < all.size(); ++group) {
    cost::Uses uses = uses_of(*all[group]);
    uses.network = uses.messages_across = true;  // between the groups
    used.emplace_back(&scenario.groups[group].profile, std::move(uses));
  }
  return used;
}

}  // namespace foretoken::lowering
