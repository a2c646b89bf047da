// Lowers the forward passes of a job and runs them.
#include "sim/step/forward_only.h"

#include <memory>

#include "sim/base/check.h"
#include "sim/des/engine.h"
#include "sim/step/lower.h"
#include "sim/step/pipeline/lower_pipeline.h"
#include "sim/step/replicas/lower_sharded.h"

namespace foretoken::step {
namespace {

schedule::Program forward_passes(const job::Job& job) {
  schedule::Program program = program_of(job);
  for (const Stage stage : program.stages.ids())
    std::erase_if(program.stages[stage],
                  [](const schedule::StageOp& op) { return op.kind != schedule::OpKind::kForward; });
  program.warm_up = {};
  return program;
}

}  // namespace

Seconds forward_only_time(const job::Job& trained) {
  job::Job job = trained;
  job.model.hidden_dropout = job.model.attention_dropout = 0;  // evaluation drops nothing
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
