// Computes memory from the order of passes, and a lower bound of the step from their lengths.
#include "sim/fast/bounds.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "sim/fast/replay.h"
#include "sim/job/layout.h"
#include "sim/observe/memory_timeline.h"
#include "sim/schedule/program_counts.h"
#include "sim/step/lower.h"
#include "sim/step/memory/memory.h"
#include "sim/step/offload/host_copies.h"

namespace foretoken::search {

using des::Duration;
using des::Instant;
using schedule::OpKind;

namespace {

// Numbers the kinds of chunks of a stage. Returns nothing when there are more than two.
std::optional<Table<Chunk, std::size_t>> kinds_of(const Table<Chunk, job::ChunkContents>& chunks) {
  Table<Chunk, std::size_t> kinds;
  const job::ChunkContents* second = nullptr;
  for (const job::ChunkContents& chunk : chunks) {
    const bool is_first = chunk == chunks.front();
    if (!is_first && second == nullptr) second = &chunk;
    if (!is_first && chunk != *second) return std::nullopt;
    kinds.push_back(is_first ? 0 : 1);
  }
  return kinds;
}

}  // namespace

PassOrder::PassOrder(const job::Job& job, const schedule::Program& program) : warm_up(program.warm_up) {
  const bool may_share = job.groups.empty() && !job.overlaps_steps() && !job.schedule.moves_activations;
  const job::Layout layout(job);
  for (const Stage stage : program.stages.ids()) {
    job::StageContents contents = layout.contents(stage);
    const auto known = may_share ? std::ranges::find(kinds, contents, &Alike::contents) : kinds.end();
    if (known == kinds.end())
      kinds.push_back({{stage}, std::move(contents)});
    else
      known->stages.push_back(stage);
  }
  if (job.schedule.moves_activations) return;
  for (Alike& kind : kinds)
    if (std::optional<Table<Chunk, std::size_t>> of_chunks = kinds_of(kind.contents.chunks))
      kind.most = observe::most_alive(program, kind.stages, std::move(*of_chunks));
}

Bytes peak_memory(const job::Job& job) {
  std::optional<schedule::Program> program = step::program_of(job);
  return peak_memory(step::JobMemory(job), job, PassOrder(job, *program), program);
}

Bytes peak_memory(const step::JobMemory& memory, const job::Job& job, const PassOrder& order,
                  std::optional<schedule::Program>& program) {
  Bytes peak;
  for (const PassOrder::Alike& kind : order.kinds) {
    const Stage first = kind.stages.front();
    const step::StageMemory of_stage = memory.of_stage(first, kind.contents);
    std::optional<Bytes> live;
    if (kind.most) live = observe::peak_live_bytes(of_stage.passes, *kind.most);
    if (!live) {
      live = Bytes(0);
      if (!program) program = step::program_of(job);
      const Bytes kept = observe::kept_for_partner(job, memory, *program, first);
      for (const Stage stage : kind.stages)
        live = std::max(*live, observe::peak_live_bytes(of_stage.passes, program->stages[stage], kept));
    }
    peak = std::max(peak, of_stage.held.total() + std::max(*live, of_stage.update));
  }
  return peak;
}

namespace {

// Returns true when the hosts hold what one stage keeps there. `alive` counts its micro-batches under way.
bool host_holds(const job::Job& job, const step::Outside& outside, Stage stage, double alive) {
  const net::Host& host = job.cluster_of(stage).host.value();
  const double gpus = step::gpus_on_host(job, stage);
  const auto all = [&](step::OutsideMemory memory) {
    memory.activations = alive * memory.activations;
    return gpus * memory.total();
  };
  if (all(outside.host) > host.memory) return false;
  return !job.offload.uses_disks() || all(outside.disk) <= host.disks.value().capacity;
}

bool hosts_hold(const job::Job& job) {
  if (!job.offload.any()) return true;
  const step::JobMemory memory(job);
  const schedule::Program program = step::program_of(job);
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    const double alive = schedule::peak_in_flight(program.stages[stage]);
    if (!host_holds(job, memory.outside(stage), stage, alive)) return false;
  }
  return true;
}

}  // namespace

bool fits(const job::Job& job, Bytes peak) {
  return peak + step::outside_allocator(job) <= job.cluster.gpu.memory && hosts_hold(job);
}

namespace {

Duration shortest(std::span<const step::Passes> passes, Stage stage, Chunk chunk, OpKind kind) {
  Duration time = passes.front().timing(stage, chunk, kind).total;
  for (const step::Passes& other : passes.subspan(1)) time = std::min(time, other.timing(stage, chunk, kind).total);
  return time;
}

// Returns the ends of the gradients' blocks. Only the very last ones have a bound.
fast::BlockEnds least_gradient_blocks(const job::Job& job, const step::Passes& passes, Instant first_stage_ends) {
  fast::BlockEnds blocks;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    auto& of_stage = blocks.emplace_back();
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      of_stage.emplace_back(passes.timing(stage, chunk, OpKind::kBackward).block_ends.size(), Instant{});
  }
  blocks.front().front().back() = first_stage_ends;
  return blocks;
}

// Returns the least time of a forward pass, in a pair or not.
Duration least_forward(const job::Job& job, std::span<const step::Passes> passes, Stage stage, Chunk chunk) {
  const Duration forward = shortest(passes, stage, chunk, OpKind::kForward);
  if (!job.schedule.pairs_passes) return forward;
  return std::min(forward, shortest(passes, stage, chunk, OpKind::kPairedForward));
}

// Returns the least time of all passes of a chunk over one micro-batch.
Duration least_work(const job::Job& job, std::span<const step::Passes> passes, Stage stage, Chunk chunk) {
  Duration backward = shortest(passes, stage, chunk, OpKind::kBackward);
  if (job.schedule.pairs_passes) backward = std::min(backward, shortest(passes, stage, chunk, OpKind::kPairedBackward));
  if (job.schedule.splits_backward)
    backward = std::min(backward, shortest(passes, stage, chunk, OpKind::kBackwardInput) +
                                      shortest(passes, stage, chunk, OpKind::kBackwardWeight));
  return least_forward(job, passes, stage, chunk) + backward;
}

// Returns the time that the GPU stands still before every pass. Passes of sharded parameters are lowered without it.
Duration least_overhead(const job::Job& job) {
  return job.optimizer.shards_gradients() ? Duration{} : step::pass_overhead(job);
}

// The messages between a stage and its neighbours. The first stage has none before it, and the last has none after it.
// Messages around the ring of stages are left out, because not every pass has them.
struct NeighbourMessages {
  NeighbourMessages(const step::MessageDurations& messages, Stage stage) {
    const int number = stage.number();
    if (number > 0) {
      input = messages.to_next[id_of<Stage>(number - 1)];
      input_gradient = messages.to_previous[stage];
    }
    if (stage != id_of<Stage>(static_cast<int>(messages.to_next.size()) - 1)) {
      output = messages.to_next[stage];
      output_gradient = messages.to_previous[id_of<Stage>(number + 1)];
    }
  }
  Duration input, output;                    // received and sent by forward passes
  Duration output_gradient, input_gradient;  // received and sent by backward passes
};

// Returns the least time between the first and the last pass of a stage during which it runs none. Two passes are at
// least `overhead` apart. Where Megatron posts messages between them and waits, they are also as far apart as the
// longest of these takes (step/pipeline/megatron_messages.h).
Duration least_gaps(const job::Job& job, const step::MessageDurations& messages, const PassOrder& order, Stage stage) {
  const Duration overhead = least_overhead(job);
  const auto gap = [&](std::int64_t count, Duration wait) { return count * std::max(overhead, wait); };
  const std::int64_t chunks = job.parallelism.virtual_pipeline;
  const std::int64_t forwards = static_cast<std::int64_t>(job.microbatches()) * chunks;
  const step::MessagePolicy policy = step::message_policy(job);
  if (policy == step::MessagePolicy::kAsProduced || job.optimizer.shards_gradients()) return gap(2 * forwards - 1, {});

  const NeighbourMessages with(messages, stage);
  const Duration to_forward = std::max(with.output, with.input);
  const Duration to_backward = std::max(with.input_gradient, with.output_gradient);
  // Without a forward after the warm-up, the last of it takes turns with the first backward.
  const std::int64_t warm_up = std::min<std::int64_t>(order.warm_up[stage], forwards - 1), turns = forwards - warm_up;
  if (chunks == 1)  // a message to one neighbour goes before one from the other
    return gap(warm_up, with.output + with.input) + gap(turns, std::max(with.output, with.output_gradient)) +
           gap(turns - 1, std::max(with.input_gradient, with.input)) +
           gap(warm_up, with.input_gradient + with.output_gradient);

  // A forward and the backward after it run without a message in between, except in the last turn of all.
  if (policy == step::MessagePolicy::kOverlapped)
    return gap(warm_up, to_forward) + gap(2 * turns - 1, {}) + gap(std::min<std::int64_t>(warm_up, 1), {}) +
           gap(std::max<std::int64_t>(warm_up - 1, 0), to_backward);
  return gap(warm_up, to_forward) + gap(turns, {}) + gap(turns - 1, std::max(to_forward, to_backward)) +
         gap(warm_up, to_backward);
}

// Returns the earliest arrival of a micro-batch at a stage: it comes down to one of the chunks there.
Instant first_arrival(const job::Job& job, const step::MessageDurations& messages, std::span<const step::Passes> passes,
                      const schedule::Placement& placement, Stage stage) {
  using schedule::Neighbour;
  std::optional<Instant> first;
  for (const Chunk chunk : ids<Chunk>(placement.chunks())) {
    Instant arrival;
    schedule::Place at{stage, chunk};
    while (const schedule::Place* const before = placement.neighbour(at, Neighbour::kPrevious)) {
      arrival = arrival + least_forward(job, passes, before->stage, before->chunk);
      if (placement.neighbour_elsewhere(at, Neighbour::kPrevious) != nullptr)
        arrival = arrival + std::min(messages.to_next[before->stage], messages.to_previous[before->stage]);
      at = *before;
    }
    first = first ? std::min(*first, arrival) : arrival;
  }
  return *first;
}

// Bounds the step of schedules whose passes end otherwise than with a gradient that climbs down the stages.
Duration least_step_time_of_any(const job::Job& job, std::span<const step::Passes> passes) {
  const Duration overhead = least_overhead(job);
  const step::MessageDurations messages = step::message_durations(job);
  const schedule::Placement placement = job::placement_of(job);
  fast::PlanRun ends;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    Duration work;
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      work += least_work(job, passes, stage, chunk);
    const auto microbatches = static_cast<std::int64_t>(job.microbatches()) / placement.ways();
    const Instant first = std::max(first_arrival(job, messages, passes, placement, stage), Instant{} + overhead);
    const std::int64_t count = 2 * microbatches * placement.chunks();  // of passes at least
    ends.finished.push_back(first + microbatches * work + (count - 1) * overhead);
    ends.last = std::max(ends.last, ends.finished.back());
  }
  ends.reduced = true;  // nothing is known of the order of the last backward passes
  return fast::finish_step(job, passes.front(), ends);
}

// Bounds the mean step of a full pipeline: between the first passes of two steps, a stage runs all passes of one.
Duration least_steady_step(const job::Job& job, std::span<const step::Passes> passes) {
  Duration longest;
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline)) {
    Duration work;
    for (const Chunk chunk : ids<Chunk>(job.parallelism.virtual_pipeline))
      work += least_work(job, passes, stage, chunk);
    longest = std::max(longest, static_cast<std::int64_t>(job.microbatches()) * work);
  }
  return longest;
}

}  // namespace

Duration least_step_time(const job::Job& job, std::span<const step::Passes> passes, const PassOrder& order,
                         bool hides_reduction) {
  if (job.overlaps_steps()) return least_steady_step(job, passes);
  if (job.schedule.splits_backward || job.schedule.place) return least_step_time_of_any(job, passes);
  const int stages = job.parallelism.pipeline, chunks = job.parallelism.virtual_pipeline;
  const auto microbatches = static_cast<std::int64_t>(job.microbatches());
  const step::MessageDurations messages = step::message_durations(job);
  fast::PlanRun ends;
  const Instant ready = Instant{} + least_overhead(job);
  Instant first;  // earliest start of the first micro-batch at a stage
  for (const Stage stage : ids<Stage>(stages)) {
    first = std::max(first, ready);
    Duration work;
    for (const Chunk chunk : ids<Chunk>(chunks))
      work += shortest(passes, stage, chunk, OpKind::kForward) + shortest(passes, stage, chunk, OpKind::kBackward);
    ends.finished.push_back(first + microbatches * work + least_gaps(job, messages, order, stage));
    first = first + shortest(passes, stage, Chunk{0}, OpKind::kForward);
    if (stages > 1) first = first + messages.to_next[stage];
  }
  for (int later = stages - 1; later > 0; --later) {
    const Stage next = id_of<Stage>(later), stage = id_of<Stage>(later - 1);
    const Instant after =
        ends.finished[next] + messages.to_previous[next] + shortest(passes, stage, Chunk{0}, OpKind::kBackward);
    ends.finished[stage] = std::max(ends.finished[stage], after);
  }
  ends.reduced = hides_reduction || job.optimizer.shards_gradients();
  if (job.overlap.grad_reduce && !ends.reduced)
    ends.gradient_blocks = least_gradient_blocks(job, passes.front(), ends.finished.front());
  ends.last = ends.finished.front();
  return fast::finish_step(job, passes.front(), ends);
}

}  // namespace foretoken::search
