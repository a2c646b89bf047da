// Times the ops of layers, embedding and head.
#include "sim/step/passes/lower_layer.h"

#include <algorithm>
#include <variant>

#include "sim/cost/costs.h"
#include "sim/net/cables.h"

namespace foretoken::step {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

Seconds context_collective_time(const job::Job& job, CollectiveKind kind, Bytes payload) {
  const net::Degrees degrees = job.degrees();
  const GroupShape group = net::context_group(degrees, job.cluster.links.gpus);
  const NodeLinks links = net::collective_links(job.cluster, degrees, net::context_row(degrees));
  return cost::collective_time({kind, payload, group}, links, job.profile);
}

Seconds ring_message_time(const job::Job& job, Bytes payload) {
  const net::Degrees degrees = job.degrees();
  const GroupShape group = net::context_group(degrees, job.cluster.links.gpus);
  const PointToPointShape message{.payload = payload,
                                  .crosses_nodes = group.nodes > 1,
                                  .senders_per_node = group.groups_per_node};  // one rank of a ring in a node sends out
  const NodeLinks links = net::message_links(job.cluster, degrees, net::context_row(degrees));
  return cost::point_to_point_time(message, links, job.profile);
}

/// A product in one go, or piece by piece beside its collective.
Seconds gemm_time(const job::Job& job, GemmShape shape, const model::Userbuffers& userbuffers) {
  const int pieces = userbuffers.pieces;
  shape.m = (shape.m + pieces - 1) / pieces;
  shape.processor_share =
      1.0 - static_cast<double>(userbuffers.held_processors) / job.profile.attention.multiprocessors;
  const auto library =
      job.runtime.cublas_before_11_7 ? cost::GemmLibrary::kBeforeCuda11_7 : cost::GemmLibrary::kCurrent;
  return job.runtime.gemm_factor * pieces * cost::gemm_time(shape, job.profile, library);
}

Seconds op_time(const job::Job& job, const model::LayerOp& op) {
  return std::visit(
      Overloaded{[&](const GemmShape& shape) { return gemm_time(job, shape, op.userbuffers); },
                 [&](const AttentionShape& shape) { return cost::attention_time(shape, job.profile); },
                 [&](const MemoryBoundShape& shape) {
                   return job.runtime.memory_bound_factor * cost::memory_bound_time(shape, job.profile);
                 },
                 [&](const model::LayerCollective& collective) {
                   return collective.group == model::CommGroup::kTensor
                              ? tensor_collective_time(job, collective.kind, collective.payload)
                              : context_collective_time(job, collective.kind, collective.payload);
                 },
                 [&](const model::RingMessage& message) { return ring_message_time(job, message.payload); }},
      op.work);
}

OpStream stream_of(const model::LayerOp& op) {
  if (std::holds_alternative<model::RingMessage>(op.work)) return OpStream::kContextComm;
  const auto* collective = std::get_if<model::LayerCollective>(&op.work);
  if (collective == nullptr) return OpStream::kCompute;
  return collective->group == model::CommGroup::kTensor ? OpStream::kTensorComm : OpStream::kContextComm;
}

Bytes payload_of(const model::LayerOp& op) {
  if (const auto* message = std::get_if<model::RingMessage>(&op.work)) return message->payload;
  const auto* collective = std::get_if<model::LayerCollective>(&op.work);
  return collective == nullptr ? Bytes(0) : collective->payload;
}

// No op takes the host less than a measured launch.
TimedOps timed(const job::Job& job, const model::OpList& ops, Seconds host) {
  TimedOps result;
  result.reserve(ops.size());
  if (job.profile.host) host = std::max(host, job.profile.host->launch);
  for (const model::LayerOp& op : ops)
    result.push_back({.name = op.name,
                      .role = op.role,
                      .stream = stream_of(op),
                      .duration = duration_of(op_time(job, op)),
                      .host = duration_of(host),
                      .beside_next = op.beside_next,
                      .payload = payload_of(op),
                      .matrix = std::holds_alternative<GemmShape>(op.work),
                      .part = op.part});
  return result;
}

bool is_norm(const model::LayerOp& op) { return op.role == model::OpRole::kNorm; }

// The ops that recomputation repeats before (part of) a layer's backward pass.
model::OpList recomputed_ops(const job::Job& job, const model::LayerContext& context) {
  using model::OpRole;
  const job::Recompute& recompute = job.recompute;
  if (recompute.granularity == model::RecomputeGranularity::kNone) return {};
  const model::OpList forward = model::layer_forward(job.model, context);
  if (recompute.granularity == model::RecomputeGranularity::kFull) return forward;
  const model::SelectiveModules& modules = recompute.modules;
  model::OpList ops;
  if (modules.core_attention) ops = model::attention_core_forward(job.model, context);
  // The MLP is what follows the layer's last norm.
  const auto last_norm = std::find_if(forward.rbegin(), forward.rend(), is_norm);
  for (auto op = forward.begin(); op != forward.end(); ++op) {
    const bool in_mlp = op >= last_norm.base();
    if ((modules.mlp && in_mlp) || (modules.layer_norm && is_norm(*op)) ||
        (modules.activation && !modules.mlp && op->role == OpRole::kActivation))
      ops.push_back(*op);
  }
  return ops;
}

/// Host time to issue one op, forward and backward: the same for all of a pass, since the same code launches them.
struct HostTimes {
  Seconds forward, backward;
};

// A runtime states the host time of a layer whose softmax is one kernel.
HostTimes host_times(const job::Job& job, model::LayerContext context) {
  const job::Runtime& runtime = job.runtime;
  // With sharded gradients the host issues unit by unit beside the passes (lower_sharded.cpp).
  if (job.optimizer.shards_gradients()) return {};
  const double ranks = 1 + runtime.host_growth_per_tensor_rank * (job.parallelism.tensor - 1);
  context.micro_batch = 4;  // fuses the softmax whatever the heads are
  const auto ops = [](const model::OpList& list) { return static_cast<double>(list.size()); };
  return {ranks * runtime.host_per_layer_forward / ops(model::layer_forward(job.model, context)),
          ranks * runtime.host_per_layer_backward / ops(model::layer_backward(job.model, context))};
}

}  // namespace

Seconds tensor_collective_time(const job::Job& job, CollectiveKind kind, Bytes payload) {
  const net::Degrees degrees = job.degrees();
  const GroupShape group = net::tensor_group(degrees, job.cluster.links.gpus);
  const NodeLinks links = net::collective_links(job.cluster, degrees, net::tensor_row(degrees));
  return job.runtime.tensor_comm_overhead +
         job.runtime.tensor_comm_factor * cost::collective_time({kind, payload, group}, links, job.profile);
}

TimedOps part_of(const TimedOps& backward, model::BackwardPart part) {
  TimedOps ops;
  for (auto op = backward.begin(); op != backward.end(); ++op) {
    if (op->part != part) continue;
    const auto kernel =
        std::find_if(op + 1, backward.end(), [](const TimedOp& next) { return next.stream == OpStream::kCompute; });
    ops.push_back(*op);
    if (op->beside_next) ops.back().beside_next = kernel != backward.end() && kernel->part == part;
  }
  return ops;
}

LayerBlocks time_blocks(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  const HostTimes host = host_times(job, context);
  LayerBlocks blocks;
  blocks.layer_forward = timed(job, model::layer_forward(job.model, context), host.forward);
  blocks.layer_backward = timed(job, model::layer_backward(job.model, context), host.backward);
  blocks.layer_backward_recompute = timed(job, recomputed_ops(job, context), host.forward);
  for (TimedOp& op : blocks.layer_backward_recompute) op.recomputed = true;
  blocks.layer_backward_recompute.insert(blocks.layer_backward_recompute.end(), blocks.layer_backward.begin(),
                                         blocks.layer_backward.end());
  blocks.embedding_forward = timed(job, model::embedding_forward(job.model, context), host.forward);
  blocks.embedding_backward = timed(job, model::embedding_backward(job.model, context), host.backward);
  blocks.head_forward = timed(job, model::head_forward(job.model, context), host.forward);
  blocks.head_backward = timed(job, model::head_backward(job.model, context), host.backward);
  return blocks;
}

}  // namespace foretoken::step
