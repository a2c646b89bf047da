// Times the ops of layers, embedding and head.
#include "sim/step/passes/lower_layer.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "sim/cost/costs.h"
#include "sim/cost/kernels/in_turns.h"
#include "sim/cost/wide_products.h"
#include "sim/model/blocks/blocks.h"
#include "sim/model/kernels.h"
#include "sim/model/stacks/decoder.h"
#include "sim/step/duration.h"
#include "sim/step/passes/hide_exchanges.h"
#include "sim/step/passes/pass_communication.h"

namespace foretoken::step {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

/// A runtime loses on its products by moving more than they need, as products of 32-bit elements do.
double runtime_factor(const job::Job& job, Precision precision) {
  const auto wide = job.cluster.gpu.peak_of(precision), narrow = job.cluster.gpu.peak_of(Precision::kFp16);
  if (!is_wide(precision) || !wide || !narrow) return job.runtime.gemm_factor;
  return 1 + cost::loading_share(*wide / *narrow) * (job.runtime.gemm_factor - 1);
}

/// Returns the time of a product inside training, relative to the profile.
double factor_of(const job::Job& job, const GemmShape& shape) {
  const bool splits = shape.precision == Precision::kFp8 && shape.pass != GemmPass::kForward;
  const bool hopper = job.cluster.gpu.architecture == "hopper";
  return runtime_factor(job, shape.precision) * (splits && hopper ? job.runtime.fp8_backward_factor : 1);
}

/// Returns the time of a product in one go, or piece by piece beside its collective.
Seconds gemm_time(const job::Job& job, GemmShape shape, const model::Userbuffers& userbuffers) {
  const int pieces = userbuffers.pieces;
  shape.m = (shape.m + pieces - 1) / pieces;
  shape.processor_share =
      1.0 - static_cast<double>(userbuffers.held_processors) / job.profile.attention.multiprocessors;
  const auto library =
      job.runtime.cublas_before_11_7 ? cost::GemmLibrary::kBeforeCuda11_7 : cost::GemmLibrary::kCurrent;
  const Seconds time = factor_of(job, shape) * pieces * cost::gemm_time(shape, job.profile, library);
  if (shape.kind != BatchKind::kStreams || job.cuda_graphs != job::CudaGraphs::kNone) return time;
  return std::max(time, static_cast<double>(shape.batch) * job.runtime.expert_product);
}

// Returns the time of a part of a product that takes turns with copies.
Seconds part_time(const job::Job& job, const GemmShape& shape, const model::PeerCopy& copy) {
  GemmShape both = shape;
  both.batch *= 2;
  const Seconds copying = cost_of(*communication_of(job, {.name = "", .work = copy}), job);
  return cost::product_time_in_turns({gemm_time(job, shape, {}), gemm_time(job, both, {})}, copying);
}

// Returns the time of a kernel. For a communication its row has the time.
Seconds kernel_time(const job::Job& job, const model::LayerOp& op) {
  return std::visit(Overloaded{[&](const GemmShape& shape) {
                                 return op.turns ? part_time(job, shape, *op.turns)
                                                 : gemm_time(job, shape, op.userbuffers);
                               },
                               [&](const AttentionShape& shape) { return cost::attention_time(shape, job.profile); },
                               [&](const MemoryBoundShape& shape) {
                                 return job.runtime.memory_bound_factor * cost::memory_bound_time(shape, job.profile);
                               },
                               [&](const auto&) { return Seconds(0); }},
                    op.work);
}

std::optional<Axis> axis_of(const model::LayerOp& op) {
  if (const auto* message = std::get_if<model::RingMessage>(&op.work)) return message->axis;
  if (const auto* copy = std::get_if<model::PeerCopy>(&op.work)) return copy->axis;
  const auto* collective = std::get_if<model::LayerCollective>(&op.work);
  return collective == nullptr ? std::nullopt : std::optional(collective->axis);
}

KernelKind kind_of(const model::LayerOp& op) {
  const auto* product = std::get_if<GemmShape>(&op.work);
  if (product == nullptr) return KernelKind::kOther;
  const bool of_experts = product->kind == BatchKind::kGrouped || product->kind == BatchKind::kStreams;
  return of_experts ? KernelKind::kExpertProduct : KernelKind::kProduct;
}

// Times a list of ops. No op takes the host less than a measured launch, unless a CUDA graph launches it.
TimedOps timed(const job::Job& job, const model::OpList& ops, Seconds host, Communications& rows) {
  TimedOps result;
  result.reserve(ops.size());
  if (job.profile.host && job.cuda_graphs == job::CudaGraphs::kNone) host = std::max(host, job.profile.host->launch);
  for (const model::LayerOp& op : ops) {
    const std::optional<CommunicationId> row = add_communication(rows, job, op);
    result.push_back({.name = op.name,
                      .role = op.role,
                      .axis = axis_of(op),
                      .duration = row ? time_of(rows[*row], job) : duration_of(kernel_time(job, op)),
                      .host = duration_of(host),
                      .beside_next = op.beside_next,
                      .communication = row,
                      .kind = kind_of(op),
                      .part = op.part});
  }
  return result;
}

/// Host time to issue one op, forward and backward. It is equal for all ops of a pass, because the same code launches
/// them.
struct HostTimes {
  Seconds forward, backward;
};

// Returns host times. A runtime states the host time of a layer whose softmax is one kernel and that has dropout. A
// layer without dropout launches fewer kernels, each in the same time, and a layer whose products are cut more. A graph
// of a layer is one launch.
HostTimes host_times(const job::Job& job, model::LayerContext context) {
  const job::Runtime& runtime = job.runtime;
  if (job.cuda_graphs != job::CudaGraphs::kNone) return {};
  // With sharded gradients the host issues unit by unit beside the passes (lower_sharded.cpp).
  if (job.optimizer.shards_gradients()) return {};
  const double ranks = 1 + runtime.host_growth_per_tensor_rank * (job.parallelism.tensor - 1);
  context.tensor_overlap = model::TensorOverlap::kNone;
  context.micro_batch = 4;  // makes the softmax fused for any number of heads
  model::Transformer model = job.model;
  model.hidden_dropout = model.attention_dropout = 0.1;
  model.tuning = {};
  const auto ops = [](const model::OpList& list) { return static_cast<double>(list.size()); };
  return {ranks * runtime.host_per_layer_forward / ops(model::layer_forward(model, context)),
          ranks * runtime.host_per_layer_backward / ops(model::layer_backward(model, context))};
}

bool exchanges(const TimedOp& op) { return op.axis == Axis::kExpert; }

/// Adds the wait for the host: before the first exchange of experts, or before their products where nothing is
/// exchanged. A CUDA graph of the whole step issues these kernels itself; graphs of layers leave them to the host.
void add_wait(const job::Job& job, TimedOps& ops) {
  const auto first = std::find_if(
      ops.begin(), ops.end(), [](const TimedOp& op) { return exchanges(op) || op.kind == KernelKind::kExpertProduct; });
  if (first == ops.end() || job.cuda_graphs == job::CudaGraphs::kFull || job.runtime.expert_wait <= Seconds(0)) return;
  ops.insert(first, TimedOp{.name = "wait for the host",
                            .duration = duration_of(job.runtime.expert_wait),
                            .kind = KernelKind::kWait});
}

TimedBlock timed_block(const job::Job& job, const model::BlockOps& block, const HostTimes& host, Communications& rows) {
  const model::LayerContext context = job.layer_context();
  TimedBlock timed_ops;
  timed_ops.forward = timed(job, model::forward_kernels(block, context), host.forward, rows);
  TimedOps backward = timed(job, model::backward_kernels(block, context), host.backward, rows);
  add_wait(job, timed_ops.forward);
  if (job.overlap.exchanges)
    hide_exchanges(timed_ops.forward, backward, with_partner_in_turn(job.microbatches()), held_by_exchanges(job));
  if (job.schedule.pairs_passes)
    timed_ops.pair = {.forward = timed_ops.forward, .backward = backward, .recomputing = {}};
  if (pairs_hide_exchanges(job))
    hide_exchanges(timed_ops.pair.forward, timed_ops.pair.backward, 1, held_by_exchanges(job));
  timed_ops.backward = TimedBackward(std::move(backward));
  return timed_ops;
}

// Times a layer. It recomputes before its backward pass.
TimedBlock timed_layer(const job::Job& job, const model::BlockOps& layer, const HostTimes& host, Communications& rows) {
  TimedBlock block = timed_block(job, layer, host, rows);
  const job::Recompute& recompute = job.recompute;
  const model::OpList repeated =
      model::recomputed_kernels(layer, job.layer_context(), recompute.granularity, recompute.modules);
  TimedOps ops = timed(job, repeated, host.forward, rows);
  add_wait(job, ops);
  for (TimedOp& op : ops) op.recomputed = true;
  if (job.schedule.pairs_passes) {
    block.pair.recomputing = ops;
    block.pair.recomputing.insert(block.pair.recomputing.end(), block.pair.backward.begin(), block.pair.backward.end());
  }
  ops.insert(ops.end(), block.backward.whole.begin(), block.backward.whole.end());
  block.recomputing = TimedBackward(std::move(ops));
  return block;
}

}  // namespace

TimedOps part_of(const TimedOps& backward, model::BackwardPart part) {
  TimedOps ops;
  for (auto op = backward.begin(); op != backward.end(); ++op) {
    if (op->part != part) continue;
    const auto kernel = std::find_if(op + 1, backward.end(), [](const TimedOp& next) { return !next.axis; });
    ops.push_back(*op);
    if (op->beside_next) ops.back().beside_next = kernel != backward.end() && kernel->part == part;
  }
  return ops;
}

std::size_t ops_of(const LayerBlocks& blocks) {
  const auto of_backward = [](const TimedBackward& pass) {
    return pass.for_input.size() + pass.for_weight.size() + pass.whole.size();
  };
  const auto of_block = [&](const TimedBlock& block) {
    return block.forward.size() + of_backward(block.backward) + of_backward(block.recomputing) +
           block.pair.forward.size() + block.pair.backward.size() + block.pair.recomputing.size();
  };
  std::size_t ops = of_block(blocks.embedding) + of_block(blocks.head);
  for (const TimedBlock& layer : blocks.layers) ops += of_block(layer);
  return ops;
}

LayerBlocks time_blocks(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  const HostTimes host = host_times(job, context);
  const model::DecoderOps ops = model::decoder_ops(job.model, context);
  LayerBlocks blocks;
  Communications& rows = blocks.communications;
  for (const model::LayerRunOps& run : ops.layers) blocks.layers.push_back(timed_layer(job, run.ops, host, rows));
  blocks.embedding = timed_block(job, ops.embedding, host, rows);
  blocks.head = timed_block(job, ops.head, host, rows);
  blocks.trained = BlockParameters(job, ops, Counted::kTrained);
  return blocks;
}

}  // namespace foretoken::step
