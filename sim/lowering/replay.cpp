// What of a scenario its plan depends on, and how long its parts take.
#include "sim/lowering/replay.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/des/engine.h"
#include "sim/lowering/lower.h"
#include "sim/lowering/lower_data_parallel.h"
#include "sim/lowering/lower_sharded.h"

namespace foretoken::lowering {
namespace {

using des::Duration;
using des::Instant;
using des::TaskId;
using schedule::Phase;

// A task that ends at a known time.
TaskId known_end(Workload& workload, int stage, Instant at) {
  const TaskId task = workload.graph.add_delay(at - Instant{});
  workload.note(task, {.stage = static_cast<std::uint16_t>(stage), .kind = TaskMeaning::kBackward});
  return task;
}

template <class F>
void for_each_pass(const Scenario& scenario, F&& f) {
  for (int stage = 0; stage < scenario.parallelism.pipeline; ++stage)
    for (int chunk = 0; chunk < scenario.parallelism.virtual_pipeline; ++chunk)
      for (const Phase phase : {Phase::kForward, Phase::kBackward}) f(stage, chunk, phase);
}

// Shape and times of a pipeline, as lower() would build it.
struct PlannedPipeline {
  PlanShape shape;
  PlanTimes times;
};

// Parameter gathers stand before the pipeline: they are lowered by themselves, and only where they hang is kept.
void add_gathers(const Scenario& scenario, PlannedPipeline& pipeline) {
  Workload workload;
  add_stage_streams(workload, scenario.parallelism.pipeline);
  const ForwardGates gates = lower_parameter_gather(workload, scenario);
  pipeline.shape.gates.resize(workload.graph.tasks());
  for (std::uint32_t task = 0; task < workload.graph.tasks(); ++task)
    pipeline.times.gathers.push_back(workload.graph.duration({task}));
  for (std::size_t stage = 0; stage < gates.size(); ++stage)
    for (std::size_t chunk = 0; chunk < gates[stage].size(); ++chunk)
      for (std::size_t block = 0; block < gates[stage][chunk].size(); ++block)
        for (const TaskId task : gates[stage][chunk][block])
          pipeline.shape.gates[task.value] = {static_cast<int>(stage), static_cast<int>(chunk),
                                              static_cast<int>(block)};
}

PlannedPipeline pipeline_of(const Scenario& scenario, const Passes& passes) {
  PlannedPipeline pipeline{
      .shape = {.schedule = scenario.schedule,
                .stages = scenario.parallelism.pipeline,
                .chunks = scenario.parallelism.virtual_pipeline,
                .microbatches = scenario.microbatches(),
                .group = scenario.batch.microbatch_group,
                .style = message_style(scenario),
                .gradient_blocks = scenario.overlap.grad_reduce},
      .times = {.messages = message_durations(scenario), .pass_overhead = pass_overhead(scenario)}};
  pipeline.shape.stands_still = pipeline.times.pass_overhead.ps > 0;
  if (scenario.overlap.param_gather) add_gathers(scenario, pipeline);
  const bool cut = pipeline.shape.gradient_blocks || !pipeline.shape.gates.empty();
  for_each_pass(scenario, [&](int stage, int chunk, Phase phase) {
    const PassTiming& timing = passes.timing(stage, chunk, phase);
    pipeline.times.passes.push_back(timing.total);
    if (!cut) return;
    pipeline.shape.blocks.push_back(static_cast<int>(timing.block_ends.size()));
    Duration before;
    for (const Duration end : timing.block_ends) {
      pipeline.times.block_lengths.push_back(end - before);
      before = end;
    }
  });
  return pipeline;
}

// Passes that wait for gathers have no plan of their own: they are lowered and run as in lower().
Duration sharded_step_time(const Scenario& scenario, const Passes& passes) {
  Workload workload;
  add_stage_streams(workload, scenario.parallelism.pipeline);
  const auto emitter = stage_passes(passes);
  lower_step_end(workload, scenario, lower_sharded(workload, scenario, program_of(scenario), *emitter));
  const des::RunResult run = des::run(workload.graph);
  expects(run.stuck.empty(), "a sharded step does not deadlock");
  return run.makespan - Instant{};
}

}  // namespace

Duration finish_step(const Scenario& scenario, const PlanRun& pipeline) {
  Workload workload;
  add_stage_streams(workload, scenario.parallelism.pipeline);
  PipelineEnds ends;
  int stage = 0;
  for (const Instant finished : pipeline.finished) ends.finished.push_back({known_end(workload, stage++, finished)});
  stage = 0;
  for (const auto& chunks : pipeline.gradient_blocks) {
    auto& of_stage = ends.gradient_blocks.emplace_back();
    for (const auto& blocks : chunks) {
      auto& of_chunk = of_stage.emplace_back();
      for (const Instant end : blocks) of_chunk.push_back(known_end(workload, stage, end));
    }
    ++stage;
  }
  lower_step_end(workload, scenario, ends);
  const des::RunResult run = des::run(workload.graph);
  expects(run.stuck.empty(), "the end of a step does not deadlock");
  return std::max(run.makespan, pipeline.last) - Instant{};
}

Replayer::LayerKey Replayer::layer_key(const Scenario& scenario) {
  const auto group_key = [](const GroupShape& group) {
    return GroupKey{group.ranks, group.nodes, group.ranks_per_node, group.groups_per_node};
  };
  const int domain = scenario.cluster.links.gpus;
  return {scenario.parallelism.tensor,
          scenario.parallelism.context,
          scenario.batch.micro,
          scenario.parallelism.sequence_parallel,
          scenario.recompute.granularity,
          scenario.optimizer.shards_gradients(),
          group_key(net::tensor_group(scenario.degrees(), domain)),
          group_key(net::context_group(scenario.degrees(), domain))};
}

Passes Replayer::passes(const Scenario& scenario) {
  const auto& library =
      libraries_.get(layer_key(scenario), [&] { return std::make_unique<PassLibrary>(time_blocks(scenario)); });
  return Passes(scenario, *library);
}

Duration Replayer::step_time(const Scenario& scenario, const Passes& passes, std::vector<std::int64_t>& scratch) {
  if (scenario.optimizer.shards_gradients()) return sharded_step_time(scenario, passes);
  constexpr double kLongest = 9e18;  // picoseconds, of all tasks together, as in lower()
  const PlannedPipeline pipeline = pipeline_of(scenario, passes);
  const PipelinePlan& plan = plans_.get(pipeline.shape, [&] {
    PipelinePlan made(pipeline.shape);
    planned_tasks_ += made.tasks();
    return made;
  });
  if (plan.total_ps(pipeline.times) > kLongest) throw ConfigError({{"", "", "the step would last for months"}});
  return finish_step(scenario, plan.replay(pipeline.times, scratch));
}

void Replayer::trim() {
  constexpr std::size_t kMostTasks = 2'000'000;  // about 25 bytes each
  if (planned_tasks_ < kMostTasks) return;
  plans_.clear();
  planned_tasks_ = 0;
}

}  // namespace foretoken::lowering
