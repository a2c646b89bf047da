// Scenario -> task graph: passes, messages, and the end of the step.
#include "sim/step/lower.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/cost/costs.h"
#include "sim/job/parts.h"
#include "sim/net/cables.h"
#include "sim/step/replicas/lower_data_parallel.h"
#include "sim/step/replicas/lower_sharded.h"

namespace foretoken::step {
namespace {

// Bytes of the tensor between two stages, and how much of it one rank sends.
struct Boundary {
  Bytes whole, sent;
  bool gathered = false;  ///< the receiving node gathers the pieces (scatter/gather optimisation, arXiv:2104.04473 4.1)
};

Boundary boundary_of(const job::Job& job) {
  const model::LayerContext context = job.layer_context();
  const Bytes whole(2 * context.tokens() * static_cast<double>(job.model.hidden));
  const int t = job.parallelism.tensor;
  if (t == 1) return {whole, whole, false};
  if (job.parallelism.sequence_parallel) return {whole, whole / t, false};
  if (job.runtime.scatter_gather) return {whole, whole / t, true};
  return {whole, whole, false};
}

// What a message takes besides moving its bytes, on receivers of one kind.
Seconds message_fixed(const job::Job& receiver) {
  const Boundary boundary = boundary_of(receiver);
  const Seconds gather =
      boundary.gathered ? tensor_collective_time(receiver, CollectiveKind::kAllGather, boundary.whole) : Seconds(0);
  return receiver.runtime.p2p_overhead + gather;
}

// The engine's clock ends after 106 days; a step that could come near is not a real one.
void expect_a_real_length(const des::TaskGraph& graph) {
  constexpr double kLongest = 9e18;  // picoseconds, of all tasks together
  double total = 0;
  for (std::uint32_t task = 0; task < graph.tasks(); ++task) total += static_cast<double>(graph.duration({task}).ps);
  if (total > kLongest)
    throw ConfigError({{"", "",
                        "the step would last for months; expected batch, sequence, model and bandwidths of a "
                        "real job"}});
}

// Kernel fidelity holds every kernel of every pass in memory, about 100 bytes each.
void expect_a_graph_that_fits(const Passes& passes, const schedule::Program& program) {
  constexpr std::size_t kMostKernels = 50'000'000;
  std::size_t kernels = 0;
  for (const Stage stage : program.stages.ids())
    for (const schedule::StageOp& op : program.stages[stage])
      for (const TimedOps* block : passes.blocks(stage.number(), op.chunk.number(), op.kind)) kernels += block->size();
  if (kernels > kMostKernels)
    throw ConfigError({{"", "", "kernel fidelity would replay more than 50 million kernels; try --fidelity stage"}});
}

des::Duration hop_time(const Message& message, const job::Job& job) {
  return duration_of(message.fixed + cost::point_to_point_time(message.shape, message.links, job.profile));
}

// Between nodes of two kinds a message is as slow as the slower side's NICs make it.
des::Duration hop_between(const job::Job& sender, const job::Job& receiver) {
  return std::max(hop_time(message_across(sender, receiver), sender),
                  hop_time(message_across(receiver, receiver), receiver));
}

}  // namespace

MessageDurations message_durations(const job::Job& job) {
  MessageDurations durations;
  const auto stages = static_cast<std::size_t>(job.parallelism.pipeline);
  durations.to_next.resize(stages);
  durations.to_previous.resize(stages);
  const job::Parts parts(job);
  for (const Stage stage : ids<Stage>(stages)) {
    const Stage next = stage.index() + 1 < stages ? stage.next() : Stage{0};
    const job::Job &here = parts.of(stage.number()), &there = parts.of(next.number());
    if (&here == &there) {
      durations.to_next[stage] = hop_time(message_from(here, parts.local(stage.number())), here);
      durations.to_previous[next] = durations.to_next[stage];  // the same hop, the other way
    } else {
      durations.to_next[stage] = hop_between(here, there);
      durations.to_previous[next] = hop_between(there, here);
    }
  }
  return durations;
}

MessagePolicy message_policy(const job::Job& job) {
  if (job.schedule.posting == schedule::Posting::kAsProduced) return MessagePolicy::kAsProduced;
  const bool overlaps = job.parallelism.virtual_pipeline > 1 && job.overlap.p2p;
  return overlaps ? MessagePolicy::kOverlapped : MessagePolicy::kBlocking;
}

Message message_from(const job::Job& job, int stage) {
  const net::Degrees degrees = job.degrees();
  const int domain = job.cluster.links.gpus;
  return {.fixed = message_fixed(job),
          .shape = {.payload = boundary_of(job).sent,
                    .crosses_nodes = net::pipeline_hop_crosses_nodes(degrees, domain, stage),
                    .senders_per_node = net::pipeline_senders_per_node(degrees, domain)},
          .links = net::message_links(job.cluster, degrees, net::pipeline_row(degrees))};
}

Message message_across(const job::Job& side, const job::Job& receiver) {
  return {.fixed = message_fixed(receiver),
          .shape = {.payload = boundary_of(side).sent,
                    .crosses_nodes = true,
                    .senders_per_node = net::pipeline_senders_per_node(side.degrees(), side.cluster.links.gpus)},
          .links = side.cluster.links};
}

// Without a pipeline nothing separates the passes.
des::Duration pass_overhead(const job::Job& job) {
  return job.parallelism.pipeline > 1 ? duration_of(job.runtime.pass_overhead) : des::Duration{};
}

schedule::Program program_of(const job::Job& job) { return job.schedule.build(job::pipeline_shape(job)); }

LoweredStep lower(const job::Job& job, Fidelity fidelity) {
  LoweredStep step;
  step.passes = std::make_unique<Passes>(job);
  step.program = program_of(job);
  step.message = boundary_of(job).sent;
  add_stage_streams(step.workload, job.parallelism.pipeline);
  PipelineOptions options{.policy = message_policy(job),
                          .messages = message_durations(job),
                          .gates = lower_parameter_gather(step.workload, job),
                          .gradient_blocks = job.overlap.grad_reduce,
                          .pass_overhead = pass_overhead(job)};
  if (fidelity == Fidelity::kKernel) expect_a_graph_that_fits(*step.passes, step.program);
  const std::unique_ptr<PassEmitter> emitter =
      fidelity == Fidelity::kStage ? stage_passes(*step.passes) : kernel_passes(*step.passes);
  const PipelineEnds ends = job.optimizer.shards_gradients()
                                ? lower_sharded(step.workload, job, step.program, *emitter)
                                : lower_pipeline(step.workload, step.program, options, *emitter);
  lower_step_end(step.workload, job, ends);
  step.most_sends = ends.most_sends;
  expect_a_real_length(step.workload.graph);
  return step;
}

job::Job with_full_bisection(job::Job job) {
  job.cluster.links = job.cluster.links.with_full_bisection();
  for (job::StageGroup& group : job.groups) group.cluster.links = group.cluster.links.with_full_bisection();
  return job;
}

LoweredStep lower_for_flows(job::Job job, Fidelity fidelity) {
  return lower(with_full_bisection(std::move(job)), fidelity);
}

}  // namespace foretoken::step
