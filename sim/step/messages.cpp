// Builds the messages between neighbouring pipeline stages.
#include "sim/step/messages.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/net/cables.h"
#include "sim/step/memory/memory.h"
#include "sim/step/passes/pass_communication.h"
#include "sim/step/replicas/replicas.h"

namespace foretoken::step {
namespace {

// Bytes of the tensor between two stages, and the part that one rank sends.
struct Boundary {
  Bytes whole, sent;
  bool gathered = false;  ///< the receiving node gathers the pieces (scatter/gather optimisation, arXiv:2104.04473 4.1)
};

// Tokens that cross to the stage behind `stage`. Between stages of a decoder the encoder's output travels with the
// decoder's stream (Megatron-LM 23.04, megatron/core/pipeline_parallel/schedules.py, get_tensor_shapes).
double tokens_behind(const job::Job& job, Stage stage) {
  const model::LayerContext context = job.layer_context();
  const std::int64_t encoder = job.parallelism.encoder_layers;
  std::int64_t layers = 0;
  for (const Stage before : ids<Stage>(stage.number() + 1))
    if (encoder > 0) layers += job.layers_in(before, Chunk{0});
  return context.tokens() + (layers > encoder ? context.other_half().tokens() : 0);
}

Boundary boundary_of(const job::Job& job, double tokens) {
  const Bytes whole(2 * tokens * static_cast<double>(job.model.hidden));
  const int t = job.parallelism.tensor;
  if (t == 1) return {whole, whole, false};
  if (job.parallelism.sequence_parallel) return {whole, whole / t, false};
  if (job.runtime.scatter_gather) return {whole, whole / t, true};
  return {whole, whole, false};
}

// Returns the time of a message beside moving its bytes, on receivers of one kind.
Seconds overhead_of(const job::Job& receiver, double tokens) {
  const Boundary boundary = boundary_of(receiver, tokens);
  if (!boundary.gathered) return receiver.runtime.p2p_overhead;
  return receiver.runtime.p2p_overhead +
         cost_of(pass_collective(receiver, Axis::kTensor, CollectiveKind::kAllGather, boundary.whole), receiver);
}

// Returns the shape of a hop between ranks of `grid`, on nodes of `domain` GPUs. `stages` belongs to the whole
// pipeline, `crosses` to this hop.
GroupShape hop_shape(const net::RankGrid& grid, int domain, int stages, bool crosses) {
  return {.ranks = stages,
          .nodes = crosses ? stages : 1,
          .ranks_per_node = crosses ? 1 : stages,
          .groups_per_node = grid.senders_per_node(domain)};
}

}  // namespace

Bytes message_bytes(const job::Job& job) { return boundary_of(job, job.layer_context().tokens()).sent; }

Communication message_between(const job::Job& job, const job::Parts& parts, Stage from, Stage to, Purpose purpose) {
  const int stages = job.parallelism.pipeline;
  const job::Job &sender = parts.of(from), &receiver = parts.of(to);
  Communication row = bare_message(from, to, purpose);
  const double tokens = tokens_behind(job, std::min(from, to));
  row.payload = boundary_of(sender, tokens).sent;
  row.overhead = overhead_of(receiver, tokens);
  const net::RankGrid grid = sender.grid();
  const int domain = sender.cluster.links.gpus;
  if (&sender != &receiver) {  // the slower side's NICs decide
    const int receiving_domain = receiver.cluster.links.gpus;
    row.site = {from, hop_shape(grid, domain, stages, true), sender.cluster.links};
    row.other_sites = {{to, hop_shape(receiver.grid(), receiving_domain, stages, true), receiver.cluster.links}};
    return row;
  }

  const bool onward = to.number() == (from.number() + 1) % stages;
  const Stage hop = parts.local(onward ? from : to);
  const bool crosses = grid.hop_crosses_nodes(hop, domain);
  row.site = {from, hop_shape(grid, domain, stages, crosses),
              net::message_links(sender.cluster, grid.groups(Axis::kPipeline))};
  return row;
}

Communication move_between(const job::Job& job, const job::Parts& parts, Stage stage, Bytes activations) {
  const Stage twin = twin_of(job, stage);
  Communication row = bare_message(stage, twin, Purpose::kMovedActivations);
  row.name = "move activations";
  row.payload = activations;
  const bool crosses = twins_on_two_nodes(job, parts, stage);
  const auto site_at = [&](Stage at) {
    const job::Job& part = parts.of(at);
    const net::RankGrid grid = part.grid();
    const int domain = part.cluster.links.gpus;
    return Site{at, hop_shape(grid, domain, job.parallelism.pipeline, crosses),
                crosses ? part.cluster.links : net::message_links(part.cluster, grid.groups(Axis::kPipeline))};
  };
  row.site = site_at(stage);
  if (&parts.of(stage) != &parts.of(twin)) row.other_sites = {site_at(twin)};
  return row;
}

Table<Stage, des::Duration> move_durations(const job::Job& job) {
  Table<Stage, des::Duration> durations;
  if (!job.schedule.moves_activations) return durations;
  const job::Parts parts(job);
  const JobMemory memory(job, Rows::kMean);
  durations.resize(static_cast<std::size_t>(job.parallelism.pipeline));
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline / 2))
    durations[stage] = time_of(move_between(job, parts, stage, memory.of_pass(stage, Chunk{0}).stash), job);
  return durations;
}

namespace {

Stage next_of(const job::Job& job, Stage stage) {
  return id_of<Stage>((stage.number() + 1) % job.parallelism.pipeline);
}

// Returns the times of the messages to the next stages, on nodes of one kind and without an encoder. Such messages are
// alike, except that some cross to another node. A search asks for them too often to cost each of them.
Table<Stage, des::Duration> durations_of_hops(const job::Job& job, const job::Parts& parts) {
  const net::RankGrid grid = job.grid();
  std::optional<des::Duration> inside, across;
  Table<Stage, des::Duration> durations;
  durations.reserve(static_cast<std::size_t>(job.parallelism.pipeline));
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    std::optional<des::Duration>& known = grid.hop_crosses_nodes(stage, job.cluster.links.gpus) ? across : inside;
    if (!known) known = time_of(message_between(job, parts, stage, next_of(job, stage), Purpose::kActivations), job);
    durations.push_back(*known);
  }
  return durations;
}

}  // namespace

MessageDurations message_durations(const job::Job& job) {
  MessageDurations durations;
  const auto stages = static_cast<std::size_t>(job.parallelism.pipeline);
  durations.to_next.resize(stages);
  durations.to_previous.resize(stages);
  const job::Parts parts(job);
  if (job.groups.empty() && job.parallelism.encoder_layers == 0) {
    durations.to_next = durations_of_hops(job, parts);
    for (const Stage stage : ids<Stage>(stages)) durations.to_previous[next_of(job, stage)] = durations.to_next[stage];
    return durations;
  }
  for (const Stage stage : ids<Stage>(stages)) {
    const Stage next = next_of(job, stage);
    const Communication onward = message_between(job, parts, stage, next, Purpose::kActivations);
    durations.to_next[stage] = time_of(onward, job);
    const bool alike = onward.other_sites.empty();  // the way back is the same
    durations.to_previous[next] =
        alike ? durations.to_next[stage]
              : time_of(message_between(job, parts, next, stage, Purpose::kActivationGradients), job);
  }
  return durations;
}

}  // namespace foretoken::step
