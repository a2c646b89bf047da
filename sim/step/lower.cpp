// Lowers a job to a task graph: passes, messages, and the end of the step.
#include "sim/step/lower.h"

#include <set>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/job/parts.h"
#include "sim/step/duration.h"
#include "sim/step/made_order.h"
#include "sim/step/memory/memory.h"
#include "sim/step/offload/activation_copies.h"
#include "sim/step/offload/host_update.h"
#include "sim/step/offload/shares.h"
#include "sim/step/replicas/lower_data_parallel.h"
#include "sim/step/replicas/lower_sharded.h"

namespace foretoken::step {
namespace {

// Refuses unreal steps. The engine's clock ends after 106 days, and no real step comes near.
void expect_a_real_length(const des::TaskGraph& graph) {
  constexpr double kLongest = 9e18;  // picoseconds over all tasks
  double total = 0;
  for (std::uint32_t task = 0; task < graph.tasks(); ++task) total += static_cast<double>(graph.duration({task}).ps);
  if (total > kLongest) des::refuse_endless_step();
}

// Refuses graphs that do not fit memory. Kernel fidelity holds every kernel of every pass, about 100 bytes each.
void expect_a_graph_that_fits(const Passes& passes, const schedule::Program& program) {
  constexpr std::size_t kMostKernels = 40'000'000;
  std::size_t kernels = 0;
  for (const Stage stage : program.stages.ids())
    for (const schedule::StageOp& op : program.stages[stage])
      if (schedule::traits(op.kind).is_pass)
        for (const TimedOps* block : passes.blocks(stage, op.chunk, op.kind)) kernels += block->size();
  if (kernels > kMostKernels)
    throw ConfigError({{"", "", "kernel fidelity would replay more than 40 million kernels; try --fidelity stage"}});
}

// Adds the rows of all libraries of passes. Every library has its own table, and a workload has them all.
void add_pass_rows(Workload& workload, const job::Job& job, const Passes& passes) {
  const job::Parts parts(job);
  for (const job::Job* part : parts.all()) {
    const Stage first = workload.pass_rows.end_id();
    const CommunicationId begin = workload.communications.end_id();
    for (Communication row : passes.communications(first)) {
      row.from = row.to = row.site.stage = first;
      workload.add(std::move(row));
    }
    for (int stage = 0; stage < part->parallelism.pipeline; ++stage) workload.pass_rows.push_back(begin);
  }
}

}  // namespace

MessagePolicy message_policy(const job::Job& job) {
  if (job.schedule.posting == schedule::Posting::kAsProduced) return MessagePolicy::kAsProduced;
  const bool overlaps = job.parallelism.virtual_pipeline > 1 && job.overlap.p2p;
  return overlaps ? MessagePolicy::kOverlapped : MessagePolicy::kBlocking;
}

// Returns the overhead of a pass. Without a pipeline nothing separates the passes.
des::Duration pass_overhead(const job::Job& job) {
  const bool stands_still = job.parallelism.pipeline > 1 && job.cuda_graphs != job::CudaGraphs::kFull;
  return stands_still ? duration_of(job.runtime.pass_overhead) : des::Duration{};
}

namespace {

// Returns the program of one step of a schedule with a flush.
schedule::Program program_of_a_step(const job::Job& job) {
  return job.schedule.made ? made_order(job) : job.schedule.build(job::pipeline_shape(job));
}

}  // namespace

schedule::Program program_of(const job::Job& job) {
  const schedule::PipelineShape step = job::pipeline_shape(job);
  if (job.optimizer.post_validation) return schedule::repeated(program_of_a_step(job), step, true);
  const std::optional<schedule::WithoutFlush>& rule = job.schedule.without_flush;
  if (!rule) return program_of_a_step(job);
  return schedule::with_updates(schedule::steady_program(job.schedule, step), *rule, step);
}

namespace {

// Adds the update of the step before, which runs on the host beside the passes, where the job delays it.
Table<Stage, std::vector<des::TaskId>> lower_delayed_update(Workload& workload, const job::Job& job,
                                                            const Passes& passes) {
  Table<Stage, std::vector<des::TaskId>> ends;
  if (!job.offload.delayed_update) return ends;
  const LocalParameters trained(job, passes.trained());
  HostCopies copies(workload, job);
  for (const Stage stage : ids<Stage>(job.parallelism.pipeline))
    ends.push_back(add_host_update(copies, job,
                                   {.stage = stage,
                                    .parameters = updated_on_host(job, trained, stage),
                                    .brings_gradients = false,
                                    .updates = true,
                                    .returns_weights = false},
                                   {}));
  return ends;
}

// Lowers the passes of a pipeline, with the copies of activations around them.
PipelineEnds lower_passes(LoweredStep& step, const job::Job& job, const PipelineOptions& options,
                          PassEmitter& emitter) {
  if (!job.offload.activations.any()) return lower_pipeline(step.workload, step.program, options, emitter);
  HostCopies copies(step.workload, job);
  ActivationCopies activations(copies, job);
  const std::unique_ptr<PassEmitter> offloading = offloading_passes(emitter, activations, job);
  return lower_pipeline(step.workload, step.program, options, *offloading);
}

// Lowers `job` as if all its groups of experts were alike.
LoweredStep lower_alike(const job::Job& job, schedule::Program program, Fidelity fidelity) {
  LoweredStep step;
  step.imbalance = job.routing.imbalance_in_times();
  step.passes = std::make_unique<Passes>(job);
  step.program = std::move(program);
  if (job.overlaps_steps()) step.steady = schedule::steady_run(job::pipeline_shape(job));
  step.message = message_bytes(job);
  add_stage_streams(step.workload, job.parallelism.pipeline, stage_axes(job));
  add_pass_rows(step.workload, job, *step.passes);
  const job::Parts parts(job);
  PipelineOptions options{
      .policy = message_policy(job),
      .messages = message_durations(job),
      .moves = move_durations(job),
      .move_row =
          [&](Stage from) {
            return move_between(job, parts, from, JobMemory(job, Rows::kMean).of_pass(from, Chunk{0}).stash);
          },
      .message_row = [&](Stage from, Stage to,
                         Purpose purpose) { return message_between(job, parts, from, to, purpose); },
      .gates = lower_parameter_gather(step.workload, job, step.passes->trained()),
      .gradient_blocks = job.overlap.grad_reduce && !step.steady,
      .update = step.steady ? stage_updates(step.workload, job, step.passes->trained()) : Update{},
      .pass_overhead = pass_overhead(job)};
  if (fidelity == Fidelity::kKernel) expect_a_graph_that_fits(*step.passes, step.program);
  const std::unique_ptr<PassEmitter> emitter =
      fidelity == Fidelity::kStage ? stage_passes(*step.passes) : kernel_passes(*step.passes);
  const Table<Stage, std::vector<des::TaskId>> delayed = lower_delayed_update(step.workload, job, *step.passes);
  PipelineEnds ends = job.optimizer.shards_gradients() ? lower_sharded(step.workload, job, step.program, *emitter)
                                                       : lower_passes(step, job, options, *emitter);
  for (const Stage stage : delayed.ids())
    ends.finished[stage].insert(ends.finished[stage].end(), delayed[stage].begin(), delayed[stage].end());
  if (!step.steady) lower_step_end(step.workload, job, step.passes->trained(), ends);
  step.most_sends = ends.most_sends / (step.steady ? step.steady->steps() : 1);
  expect_a_real_length(step.workload.graph);
  return step;
}

}  // namespace

LoweredStep lower(const job::Job& job, Fidelity fidelity) {
  LoweredStep step = lower_alike(job, program_of(job), fidelity);
  std::set<double> imbalances;
  for (const job::ImbalancedExperts& group : job.imperfections.imbalanced_experts) imbalances.insert(group.imbalance);
  for (const double imbalance : imbalances) {
    job::Job other = job;
    other.routing.imbalance = imbalance;
    const LoweredStep& added = step.imbalanced.emplace_back(lower_alike(other, step.program, fidelity));
    expects(added.workload.graph.tasks() == step.workload.graph.tasks() &&
                added.workload.communications.size() == step.workload.communications.size(),
            "an imbalance changes times and bytes of tasks only");
  }
  return step;
}

job::Job with_unshared_links(job::Job job) {
  job.cluster.links = job.cluster.links.unshared();
  for (job::StageGroup& group : job.groups) group.cluster.links = group.cluster.links.unshared();
  return job;
}

LoweredStep lower_for_flows(job::Job job, Fidelity fidelity) {
  return lower(with_unshared_links(std::move(job)), fidelity);
}

}  // namespace foretoken::step
