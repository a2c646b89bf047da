// Builds the collectives and messages inside passes.
#include "sim/step/passes/pass_communication.h"

#include <utility>
#include <variant>

#include "sim/model/blocks/experts.h"
#include "sim/model/kernels.h"
#include "sim/model/stacks/decoder.h"
#include "sim/net/cables.h"
#include "sim/step/passes/hide_exchanges.h"

namespace foretoken::step {
namespace {

// Returns the common part of all rows of a pass over the ranks of `axis`.
Communication inside_pass(const job::Job& part, Axis axis, Bytes payload) {
  return {.purpose = Purpose::kPass,
          .axes = axis,
          .counts_for = axis,
          .payload = payload,
          .all_stages = true,
          .site = site_of(part, Stage{}, axis)};
}

// Returns a message along a ring. One rank of a ring in a node sends to the next node.
Communication ring_message(const job::Job& part, const model::RingMessage& op) {
  Communication row = inside_pass(part, op.axis, op.payload);
  row.site.links = net::message_links(part.cluster, part.grid().groups(op.axis));
  return row;
}

// Returns a copy from another rank. A barrier is a kernel that moves next to nothing.
Communication peer_copy(const job::Job& part, const model::PeerCopy& op) {
  Communication row = inside_pass(part, op.axis, op.payload);
  row.by_copy_engine = true;
  row.site.links = net::pair_links(part.cluster, part.grid().groups(op.axis));
  row.overhead = static_cast<double>(op.barriers) * part.profile.memory_bound.launch;
  return row;
}

double hottest_of(const job::Job& part) { return part.routing.capacity_factor ? 1 : part.routing.imbalance_in_times(); }

/// Returns the exchange that DeepEP runs, or nothing for what NCCL moves. Tokens go out in 16 bits, as they come back.
std::optional<ExchangeShape> deepep_exchange(const job::Job& part, const Communication& row,
                                             const model::LayerCollective& op) {
  if (part.routing.dispatcher != model::Dispatcher::kDeepEp || op.axis != Axis::kExpert) return std::nullopt;
  const model::Experts& experts = *part.model.experts;
  const GroupShape& group = row.site.group;
  ExchangeShape shape{.library = ExchangeLibrary::kDeepEp,
                      .phase = op.sums ? ExchangePhase::kCombine : ExchangePhase::kDispatch,
                      .row = Bytes(2.0 * static_cast<double>(part.model.hidden)),
                      .copies = model::copies_over(experts, group.ranks, hottest_of(part)),
                      .ranks = group.ranks,
                      .nodes = group.nodes,
                      .multiprocessors = held_multiprocessors(part)};
  shape.tokens = op.payload / (shape.copies * shape.row);
  if (group.nodes > 1)
    shape.network_copies = (1 - 1.0 / group.nodes) * model::copies_over(experts, group.nodes, hottest_of(part));
  return shape;
}

std::optional<Communication> unnamed(const job::Job& part, const model::LayerOp& op) {
  if (const auto* message = std::get_if<model::RingMessage>(&op.work)) return ring_message(part, *message);
  if (const auto* copy = std::get_if<model::PeerCopy>(&op.work)) return peer_copy(part, *copy);
  const auto* collective = std::get_if<model::LayerCollective>(&op.work);
  if (collective == nullptr) return std::nullopt;
  Communication row = pass_collective(part, collective->axis, collective->kind, collective->payload);
  row.exchange = deepep_exchange(part, row, *collective);
  return row;
}

bool moves_the_same(const Communication& a, const Communication& b) {
  return a.name == b.name && a.collective == b.collective && a.exchange == b.exchange && a.axes == b.axes &&
         a.payload == b.payload && a.by_copy_engine == b.by_copy_engine && a.overhead == b.overhead;
}

}  // namespace

namespace {

/// Returns the payload of an exchange of experts. DeepEP and HybridEP send a token over the network once to each node
/// that has experts for it, and copy it there over NVLink (DeepEP's README, "normal kernels with NVLink and RDMA
/// forwarding"; HybridEP is a branch of it). The network is the slower part: the payload becomes one copy a node.
/// DeepEP has its own times beside these bytes. HybridEP has no public table: it moves them as fast as NCCL.
Bytes once_to_each_node(const job::Job& part, const Communication& row) {
  const bool once = model::is_flexible(part.routing.dispatcher);
  const int nodes = row.site.group.nodes;
  if (!once || nodes == 1 || row.axes != Axis::kExpert || row.collective != CollectiveKind::kAllToAll)
    return row.payload;
  const model::Experts& experts = *part.model.experts;
  const double hottest = hottest_of(part);
  return model::copies_over(experts, nodes, hottest) / model::copies_over(experts, part.parallelism.expert, hottest) *
         row.payload;
}

}  // namespace

// Adds the runtime's cost beyond nccl-tests, which it states for its tensor-parallel collectives only.
Communication pass_collective(const job::Job& part, Axis axis, CollectiveKind kind, Bytes payload) {
  Communication row = inside_pass(part, axis, payload);
  row.collective = kind;
  row.payload = once_to_each_node(part, row);
  if (axis != Axis::kTensor) return row;
  row.overhead = part.runtime.tensor_comm_overhead;
  row.factor = part.runtime.tensor_comm_factor;
  return row;
}

std::optional<Communication> communication_of(const job::Job& part, const model::LayerOp& op) {
  std::optional<Communication> row = unnamed(part, op);
  if (row) row->name = op.name;
  return row;
}

std::optional<CommunicationId> add_communication(Communications& rows, const job::Job& part, const model::LayerOp& op) {
  std::optional<Communication> row = communication_of(part, op);
  if (!row) return std::nullopt;
  for (const CommunicationId id : rows.ids())
    if (moves_the_same(rows[id], *row)) return id;
  const CommunicationId id = rows.end_id();
  rows.push_back(*std::move(row));
  return id;
}

Communications pass_communications(const job::Job& part) {
  Communications rows;
  const model::LayerContext context = part.layer_context();
  const auto add = [&](const model::BlockOps& block) {
    for (const auto list : {model::forward_kernels, model::backward_kernels})
      for (const model::LayerOp& op : list(block, context)) (void)add_communication(rows, part, op);
  };
  const model::DecoderOps ops = model::decoder_ops(part.model, context);
  for (const model::LayerRunOps& run : ops.layers) add(run.ops);
  add(ops.embedding);
  add(ops.head);
  return rows;
}

}  // namespace foretoken::step
