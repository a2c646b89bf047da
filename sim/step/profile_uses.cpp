// Finds the laws of a profile that a job uses, from the rows of everything that it moves.
#include "sim/step/profile_uses.h"

#include <algorithm>

#include "sim/job/layout.h"
#include "sim/job/parts.h"
#include "sim/model/cut.h"
#include "sim/step/memory/parameters.h"
#include "sim/step/messages.h"
#include "sim/step/passes/pass_communication.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

void add_messages(Communications& rows, const job::Job& job, const job::Parts& parts) {
  for (const Stage from : ids<Stage>(job.parallelism.pipeline - 1)) {
    const Stage to = from.next();
    rows.push_back(message_between(job, parts, from, to, Purpose::kActivations));
    rows.push_back(message_between(job, parts, to, from, Purpose::kActivationGradients));
  }
}

void add_collectives(Communications& rows, const job::Job& job, const job::Parts& parts) {
  const bool replicas = replica_group(job).ranks > 1;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    const job::Job& part = parts.of(stage);
    if (job.parallelism.sequence_parallel && job.parallelism.tensor > 1) rows.push_back(norm_reduction(part, stage, 1));
    if (replicas) rows.push_back(gradient_reduction(part, stage, 1));
    if (replicas && job.optimizer.zero_stage >= 1) rows.push_back(parameter_gather(part, stage, 1));
    if (!job.model.experts || part.grid().degree(Axis::kExpertData) == 1) continue;
    rows.push_back(expert_gradient_reduction(part, stage, 1));
    if (job.optimizer.zero_stage >= 1) rows.push_back(expert_parameter_gather(part, stage, 1));
  }
  if (job::stage_of_decoder_table(job)) rows.push_back(decoder_table_reduction(job, parts, local_token_table(job)));
  if (job::stages_share_embedding(job)) rows.push_back(tied_embedding_reduction(job, parts, local_token_table(job)));
  if (job.parallelism.copies > 1)
    for (const Stage stage : ids<Stage>(job.parallelism.pipeline / 2))
      rows.push_back(copy_reduction(job, parts, stage, 1));
  if (job.gpus > 1) rows.push_back(gradient_norm(job, parts));
}

// Adds the links that a row passes: links inside a node as its group finds them, and the network.
void add_uses(const Communication& row, cost::Uses& uses) {
  const GroupShape& group = row.site.group;
  if (is_message(row.purpose)) {
    uses.messages_across |= group.nodes > 1;
    uses.messages_inside |= group.nodes == 1;
    return;
  }
  if (row.exchange) {
    (group.nodes > 1 ? uses.exchanges_across : uses.exchanges_inside) = true;
    return;
  }
  uses.network |= group.nodes > 1;
  if (group.ranks_per_node < 2) return;
  (row.site.links.nvlink_per_gpu.value() > 0 ? uses.nvlink : uses.pcie) = true;
}

}  // namespace

Communications communications_of(const job::Job& job) {
  const job::Parts parts(job);
  Communications rows = pass_communications(job);
  add_messages(rows, job, parts);
  add_collectives(rows, job, parts);
  return rows;
}

cost::Uses uses_of(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  const model::Cut cut(context);
  cost::Uses uses{.precisions = {cut.product_precision()},
                  .grouped_products = job.model.experts.has_value(),
                  .fused_attention = job.attention == model::AttentionKind::kFlash,
                  .fp8_attention = job.recipe.fp8_attention,
                  .serving = false,
                  .head_dim = static_cast<int>(job.model.head_dim),
                  .nvlink = false,
                  .pcie = false,
                  .network = false,
                  .exchanges_inside = false,
                  .exchanges_across = false,
                  .messages_inside = false,
                  .messages_across = false};
  for (const Communication& row : communications_of(job)) add_uses(row, uses);
  if (cut.quantises()) uses.precisions.push_back(Precision::kBf16);  // the head's products
  if (job.model.tuning.method == model::TuningMethod::kInt8Lora && context.int8_products)
    uses.precisions.push_back(Precision::kInt8);
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
