// Finds the shape that a pipeline is planned for, and the durations of its parts.
#include "sim/fast/replay.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/des/engine.h"
#include "sim/fast/step_end.h"
#include "sim/observe/stage_times.h"
#include "sim/step/lower.h"
#include "sim/step/replicas/lower_data_parallel.h"
#include "sim/step/replicas/lower_sharded.h"

namespace foretoken::fast {
namespace {

using des::Duration;
using des::Instant;
using des::TaskId;

template <class F>
void for_each_pass(const PlanShape& shape, F&& f) {
  for (const Stage stage : ids<Stage>(shape.stages))
    for (const Chunk chunk : ids<Chunk>(shape.chunks))
      for (const schedule::OpKind kind : shape.kinds) f(stage, chunk, kind);
}

// Shape and times of a pipeline, as lower() would build it.
struct PlannedPipeline {
  PlanShape shape;
  PlanTimes times;
};

// Returns the earliest ends of first passes whose parameters are gathered beside them, as PlanTimes::held. A block
// starts once its parameters are there, and the rest of the pass follows. The gathers of a stage stand before the
// pipeline, one after the other. A graph of their own is lowered.
std::vector<Duration> held_by_gathers(const job::Job& job, const step::Passes& passes, const PlanShape& shape) {
  step::Workload workload;
  add_streams(workload, job);
  const step::ForwardGates gates = step::lower_parameter_gather(workload, job, passes.trained());
  if (gates.empty()) return {};
  const des::RunResult gathers = des::run(workload.graph);
  std::vector<Duration> held;
  for_each_pass(shape, [&](Stage stage, Chunk chunk, schedule::OpKind kind) {
    const step::PassTiming& timing = passes.timing(stage, chunk, kind);
    const auto& blocks = gates[stage][chunk];
    Duration& end = held.emplace_back();
    Duration before;
    for (std::size_t block = 0; block < std::min(blocks.size(), timing.block_ends.size()); ++block) {
      for (const TaskId gather : blocks[block])
        end = std::max(end, gathers.end[gather.value] - Instant{} + (timing.total - before));
      before = timing.block_ends[block];
    }
  });
  return held;
}

PlannedPipeline pipeline_of(const job::Job& job, const step::Passes& passes) {
  PlannedPipeline pipeline{.shape = {.schedule = job.schedule.name,
                                     .stages = job.parallelism.pipeline,
                                     .chunks = job.parallelism.virtual_pipeline,
                                     .microbatches = job.microbatches(),
                                     .group = job.batch.microbatch_group.value_or(0),
                                     .kinds = passes.kinds(),
                                     .policy = step::message_policy(job)},
                           .times = {.messages = step::message_durations(job),
                                     .moves = step::move_durations(job),
                                     .pass_overhead = step::pass_overhead(job)}};
  pipeline.shape.moves = !pipeline.times.moves.empty();
  pipeline.shape.stands_still = pipeline.times.pass_overhead.ps > 0;
  for_each_pass(pipeline.shape, [&](Stage stage, Chunk chunk, schedule::OpKind kind) {
    pipeline.times.passes.push_back(passes.timing(stage, chunk, kind).total);
  });
  if (job.overlap.param_gather) pipeline.times.held = held_by_gathers(job, passes, pipeline.shape);
  return pipeline;
}

// Returns the ends of the blocks of passes that complete gradients.
BlockEnds block_ends(const step::Passes& passes, const Table<Stage, Table<Chunk, LastPass>>& last) {
  BlockEnds blocks;
  for (const Stage stage : last.ids()) {
    auto& of_stage = blocks.emplace_back();
    for (const Chunk chunk : last[stage].ids()) {
      const LastPass& pass = last[stage][chunk];
      const step::PassTiming& timing = passes.timing(stage, chunk, pass.kind);
      auto& of_chunk = of_stage.emplace_back();
      for (const Duration end : timing.block_ends) of_chunk.push_back({pass.end.ps - (timing.total - end).ps});
    }
  }
  return blocks;
}

// Returns the step time of a sharded job. Passes that wait for gathers have no plan; they are lowered and run as in
// lower().
Duration sharded_step_time(const job::Job& job, const step::Passes& passes) {
  step::Workload workload;
  add_streams(workload, job);
  const auto emitter = step::stage_passes(passes);
  const step::PipelineEnds ends = step::lower_sharded(workload, job, step::program_of(job), *emitter);
  step::lower_step_end(workload, job, passes.trained(), ends);
  const des::RunResult run = des::run(workload.graph);
  expects(run.stuck.empty(), "a sharded step does not deadlock");
  return run.makespan - Instant{};
}

// Returns what finish_step() does where copies to the host follow the pipeline: the tasks are lowered and run.
Duration finish_offloaded_step(const job::Job& job, const step::Passes& passes, const PlanRun& pipeline) {
  step::Workload workload;
  add_streams(workload, job);
  const step::PipelineEnds ends = add_known_ends(workload, pipeline);
  step::lower_step_end(workload, job, passes.trained(), ends);
  const des::RunResult run = des::run(workload.graph);
  expects(run.stuck.empty(), "the end of a step does not deadlock");
  return std::max(run.makespan, pipeline.last) - Instant{};
}

// Returns the step time of a job that has no plan: copies to the host stand between its passes, or its steps overlap.
Duration unplanned_step_time(const job::Job& job) {
  const step::LoweredStep lowered = step::lower(job, step::Fidelity::kStage);
  const des::RunResult run = des::run(lowered.workload.graph);
  expects(run.stuck.empty(), "a lowered step does not deadlock");
  return observe::observe_stages(lowered, run).makespan;
}

}  // namespace

Duration finish_step(const job::Job& job, const step::Passes& passes, const PlanRun& pipeline) {
  if (job.offload.any()) return finish_offloaded_step(job, passes, pipeline);
  step::PipelineInstants ends{.finished = {}, .gradient_blocks = pipeline.gradient_blocks, .reduced = pipeline.reduced};
  for (const Instant end : pipeline.finished) ends.finished.push_back({end});
  return std::max(step::time_step_end(job, passes.trained(), ends), pipeline.last) - Instant{};
}

step::Passes Replayer::passes(const job::Job& job) {
  const auto& library = libraries_.get(layer_key(job), [&] {
    step::LayerBlocks blocks = step::time_blocks(job);
    timed_ops_ += step::ops_of(blocks);
    return std::make_unique<step::PassLibrary>(std::move(blocks));
  });
  return step::Passes(job, *library);
}

step::JobMemory Replayer::memory(const job::Job& job) {
  const auto& layers = layers_.get({layer_key(job), job.schedule.splits_backward}, [&] {
    ++counted_layers_;
    return std::make_shared<const step::LayerMemory>(job);
  });
  return step::JobMemory(job, layers);
}

Duration Replayer::step_time(const job::Job& job, const step::Passes& passes, std::vector<std::int64_t>& scratch) {
  if (job.offload.any() || job.overlaps_steps()) return unplanned_step_time(job);
  if (job.optimizer.shards_gradients()) return sharded_step_time(job, passes);
  constexpr double kLongest = 9e18;  // picoseconds over all tasks, as in lower()
  const PlannedPipeline pipeline = pipeline_of(job, passes);
  const PipelinePlan& plan = plans_.get(pipeline.shape, [&] {
    PipelinePlan made(pipeline.shape, step::program_of(job));
    planned_steps_ += made.steps();
    return made;
  });
  if (plan.total_ps(pipeline.times) > kLongest) des::refuse_endless_step();
  PlanRun run = plan.replay(pipeline.times, scratch);
  if (job.overlap.grad_reduce) run.gradient_blocks = block_ends(passes, plan.last_passes(scratch));
  return finish_step(job, passes, run);
}

bool Replayer::is_full() const {
  return planned_steps_ >= limits_.steps || counted_layers_ >= limits_.layers || timed_ops_ >= limits_.ops;
}

void Replayer::trim() {
  if (planned_steps_ >= limits_.steps) {
    plans_.clear();
    planned_steps_ = 0;
  }
  if (counted_layers_ >= limits_.layers) {
    layers_.clear();
    counted_layers_ = 0;
  }
  if (timed_ops_ < limits_.ops) return;
  libraries_.clear();
  timed_ops_ = 0;
}

}  // namespace foretoken::fast
