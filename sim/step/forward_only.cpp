// Lowers the forward passes of a job and runs them.
#include "sim/step/forward_only.h"

#include <memory>
#include <optional>

#include "sim/base/check.h"
#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/replicas/lower_sharded.h"

namespace foretoken::step {
namespace {

/// Returns the forwards of all stages in the order in which they become ready when every pass takes as long. Of two
/// that are ready, the one nearer to the model's end comes first.
schedule::Program as_ready(const schedule::Placement& placement, int microbatches) {
  using schedule::Neighbour;
  schedule::Program program{.placement = placement, .stages = {}};
  program.stages = Table<Stage, schedule::StageProgram>(placement.stages(), schedule::StageProgram{});
  Table<Stage, Table<Chunk, int>> done(placement.stages(), Table<Chunk, int>(placement.chunks(), 0));
  for (std::int64_t left = std::int64_t{placement.stages()} * placement.chunks() * microbatches; left > 0;) {
    const Table<Stage, Table<Chunk, int>> before = done;  // passes of one slot do not see each other
    for (const Stage stage : ids<Stage>(placement.stages())) {
      std::optional<Chunk> next;
      for (const Chunk chunk : ids<Chunk>(placement.chunks())) {
        const schedule::Place* const from = placement.neighbour({stage, chunk}, Neighbour::kPrevious);
        const int ready = from == nullptr ? microbatches : before[from->stage][from->chunk];
        if (before[stage][chunk] < ready &&
            (!next || placement.position_of({stage, chunk}) > placement.position_of({stage, *next})))
          next = chunk;
      }
      if (!next) continue;
      program.stages[stage].push_back(
          {schedule::OpKind::kForward, id_of<schedule::MicroBatch>(done[stage][*next]++), *next});
      --left;
    }
  }
  return program;
}

}  // namespace

job::Job evaluation_of(job::Job job) {
  job.model.hidden_dropout = job.model.attention_dropout = 0;
  job.optimizer.post_validation = false;  // nothing is updated
  return job;
}

// Schedules with other places throttle their forwards to save memory, which an evaluation does not need to save.
schedule::Program forward_passes(const job::Job& job) {
  if (job.schedule.place && job::placement_of(job).ways() == 1)
    return as_ready(job::placement_of(job), job::pipeline_shape(job).microbatches);
  // Without a flush the program has several steps.
  schedule::Program program =
      job.schedule.without_flush ? job.schedule.build(job::pipeline_shape(job)) : program_of(job);
  for (schedule::StageProgram& ops : program.stages) {
    for (schedule::StageOp& op : ops) op.kind = schedule::unpaired(op.kind);
    std::erase_if(ops, [](const schedule::StageOp& op) { return op.kind != schedule::OpKind::kForward; });
  }
  program.warm_up = {};
  return program;
}

Seconds forward_only_time(const job::Job& trained) {
  const job::Job job = evaluation_of(trained);
  const Passes passes(job);
  Workload workload;
  add_stage_streams(workload, job.parallelism.pipeline, stage_axes(job));
  const std::unique_ptr<PassEmitter> emitter = stage_passes(passes);
  const schedule::Program program = forward_passes(job);
  // No pass waits for an output longer than for its message, so messages are posted as they are produced.
  const PipelineOptions options{
      .policy = MessagePolicy::kAsProduced, .messages = message_durations(job), .pass_overhead = pass_overhead(job)};
  if (job.optimizer.shards_gradients())
    lower_sharded(workload, job, program, *emitter);
  else
    lower_pipeline(workload, program, options, *emitter);
  const des::RunResult run = des::run(workload.graph);
  expects(run.stuck.empty(), "forward passes wait for earlier stages only");
  return des::to_seconds(run.makespan - des::Instant{});
}

}  // namespace foretoken::step
