// Scenario -> task graph: passes, messages, and the end of the step.
#include "sim/lowering/lower.h"

#include "sim/base/check.h"
#include "sim/cost/costs.h"
#include "sim/lowering/lower_data_parallel.h"
#include "sim/schedule/catalogue.h"

namespace foretoken::lowering {
namespace {

// Bytes of the tensor between two stages, and how much of it one rank sends.
struct Boundary {
  Bytes whole, sent;
  bool gathered = false;  ///< the receiving node gathers the pieces (scatter/gather optimisation, arXiv:2104.04473 4.1)
};

Boundary boundary_of(const Scenario& scenario) {
  const model::LayerContext context = scenario.layer_context();
  const Bytes whole(2 * context.tokens() * static_cast<double>(scenario.model.hidden));
  const int t = scenario.parallelism.tensor;
  if (t == 1) return {whole, whole, false};
  if (scenario.parallelism.sequence_parallel) return {whole, whole / t, false};
  if (scenario.runtime.scatter_gather) return {whole, whole / t, true};
  return {whole, whole, false};
}

MessageDurations message_durations(const Scenario& scenario) {
  const Boundary boundary = boundary_of(scenario);
  const net::Degrees degrees = scenario.degrees();
  const int domain = scenario.cluster.links.gpus;
  const Seconds gather =
      boundary.gathered ? tensor_collective_time(scenario, CollectiveKind::kAllGather, boundary.whole) : Seconds(0);
  MessageDurations durations;
  const auto stages = static_cast<std::size_t>(scenario.parallelism.pipeline);
  durations.forward.resize(stages);
  durations.backward.resize(stages);
  for (std::size_t stage = 0; stage < stages; ++stage) {
    const PointToPointShape shape{
        .payload = boundary.sent,
        .crosses_nodes = net::pipeline_hop_crosses_nodes(degrees, domain, static_cast<int>(stage)),
        .senders_per_node = net::pipeline_senders_per_node(degrees, domain)};
    const des::Duration duration =
        des::to_duration(scenario.runtime.p2p_overhead + gather +
                         cost::point_to_point_time(shape, scenario.cluster.links, scenario.profile));
    durations.forward[stage] = duration;
    durations.backward[(stage + 1) % stages] = duration;  // the same hop, the other way
  }
  return durations;
}

MessageStyle message_style(const Scenario& scenario) {
  return scenario.parallelism.virtual_pipeline > 1 && scenario.overlap.p2p ? MessageStyle::kOverlapped
                                                                           : MessageStyle::kBlocking;
}

}  // namespace

schedule::Program program_of(const Scenario& scenario) {
  const auto found = schedule::find_schedule(scenario.schedule);
  expects(found.has_value(), "a checked scenario names a known schedule");
  return found->build({.stages = scenario.parallelism.pipeline,
                       .microbatches = scenario.microbatches(),
                       .chunks = scenario.parallelism.virtual_pipeline,
                       .group = scenario.batch.microbatch_group});
}

LoweredStep lower(const Scenario& scenario, Fidelity fidelity) {
  LoweredStep step;
  step.passes = std::make_unique<Passes>(scenario);
  step.program = program_of(scenario);
  step.message = boundary_of(scenario).sent;
  add_stage_streams(step.workload, scenario.parallelism.pipeline);
  PipelineOptions options{.chunks = scenario.parallelism.virtual_pipeline,
                          .style = message_style(scenario),
                          .messages = message_durations(scenario),
                          .gates = lower_parameter_gather(step.workload, scenario),
                          .gradient_blocks = scenario.overlap.grad_reduce};
  const std::unique_ptr<PassEmitter> emitter =
      fidelity == Fidelity::kStage ? stage_passes(*step.passes) : kernel_passes(*step.passes);
  const PipelineEnds ends = lower_pipeline(step.workload, step.program, options, *emitter);
  lower_step_end(step.workload, scenario, ends);
  step.most_sends = ends.most_sends;
  return step;
}

}  // namespace foretoken::lowering
