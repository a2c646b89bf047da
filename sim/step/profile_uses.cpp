// What the lowering asks of the cost models, in a few rules.
#include "sim/step/profile_uses.h"

#include <algorithm>

#include "sim/job/parts.h"
#include "sim/net/cables.h"

namespace foretoken::step {

cost::Uses uses_of(const job::Job& job) {
  const NodeLinks& links = job.cluster.links;
  const net::RankGrid grid = job.grid();
  const bool several = job.gpus > 1, nvlink = links.nvlink_per_gpu.value() > 0;
  const auto lacks_cables = [&](AxisSet axes) { return net::lacks_cables(job.cluster, grid.groups(axes)); };
  const std::initializer_list<AxisSet> groups{Axis::kTensor, Axis::kContext, net::kReplicaAxes, net::kDenseAxes};
  const bool pcie = !nvlink || std::any_of(groups.begin(), groups.end(), lacks_cables);
  const bool several_stages = grid.degree(Axis::kPipeline) > 1;
  cost::Uses uses{.precisions = {job.precision},
                  .fused_attention = job.attention == model::AttentionKind::kFlash,
                  .head_dim = static_cast<int>(job.model.head_dim),
                  .nvlink = several && nvlink,
                  .pcie = several && pcie,
                  .network = job.gpus > links.gpus,
                  .messages_inside = several_stages && grid.stage_ranks() < links.gpus,
                  .messages_across = several_stages && job.gpus > links.gpus};
  if (job.precision == Precision::kFp8) uses.precisions.push_back(Precision::kBf16);  // the head's products
  return uses;
}

std::vector<std::pair<const cost::Profile*, cost::Uses>> profiles_used(const job::Job& job) {
  if (job.groups.empty()) return {{&job.profile, uses_of(job)}};
  std::vector<std::pair<const cost::Profile*, cost::Uses>> used;
  const job::Parts parts(job);
  const std::vector<const job::Job*> all = parts.all();
  for (std::size_t group = 0; group < all.size(); ++group) {
    cost::Uses uses = uses_of(*all[group]);
    uses.network = uses.messages_across = true;  // between the groups
    used.emplace_back(&job.groups[group].profile, std::move(uses));
  }
  return used;
}

}  // namespace foretoken::step
