// Stands delays in for the tasks of a pipeline.
#include "sim/fast/step_end.h"

namespace foretoken::fast {
namespace {

using des::Instant;
using des::TaskId;

// Adds a task that ends at a known time.
TaskId known_end(step::Workload& workload, Stage stage, Instant at) {
  const TaskId task = workload.graph.add_delay(at - Instant{});
  workload.note(task, {.stage = stage, .kind = step::TaskMeaning::kPass});
  return task;
}

}  // namespace

void add_streams(step::Workload& workload, const job::Job& job) {
  step::add_stage_streams(workload, job.parallelism.pipeline, step::stage_axes(job));
}

step::PipelineEnds add_known_ends(step::Workload& workload, const PlanRun& pipeline) {
  step::PipelineEnds ends;
  for (const Stage stage : pipeline.finished.ids())
    ends.finished.push_back({known_end(workload, stage, pipeline.finished[stage])});
  for (const Stage stage : pipeline.gradient_blocks.ids()) {
    auto& of_stage = ends.gradient_blocks.emplace_back();
    for (const auto& blocks : pipeline.gradient_blocks[stage]) {
      auto& of_chunk = of_stage.emplace_back();
      for (const Instant end : blocks) of_chunk.push_back(known_end(workload, stage, end));
    }
  }
  ends.reduced = pipeline.reduced;
  return ends;
}

}  // namespace foretoken::fast
