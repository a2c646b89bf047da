// Step times of many scenarios without building their graphs: passes and pipelines that they share are made once.
//
// A step is its pipeline and what follows it. The pipeline is replayed from a plan that all scenarios of one shape
// share (pipeline_plan.h); passes are timed once for each way to execute a layer; the end of the step, a task or two a
// stage, is lowered and run as in lower(). The result is lower()'s and des::run()'s to the picosecond.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/memo.h"
#include "sim/fast/layer_key.h"
#include "sim/fast/pipeline_plan.h"
#include "sim/job/job.h"

namespace foretoken::fast {

/// The end of the last task of a step whose pipeline ends as `pipeline` says. Monotonic: with lower bounds of the
/// pipeline's ends it gives a lower bound.
[[nodiscard]] des::Duration finish_step(const job::Job& job, const PlanRun& pipeline);

/// Replays jobs of one question that differ in the choices of a patch (layer_key.h). Threads may share it.
class Replayer {
 public:
  /// The passes of `job`; this object must outlive them.
  [[nodiscard]] step::Passes passes(const job::Job& job);

  /// The step time; `scratch` is memory that a thread keeps between calls. Throws ConfigError when the step is absurdly
  /// long, as lower() does.
  [[nodiscard]] des::Duration step_time(const job::Job& job, const step::Passes& passes,
                                        std::vector<std::int64_t>& scratch);

  /// Drops plans when they take much memory. No other thread may be using this object.
  void trim();

 private:
  Memo<LayerKey, std::unique_ptr<step::PassLibrary>> libraries_;
  Memo<PlanShape, PipelinePlan> plans_;
  std::atomic<std::size_t> planned_tasks_ = 0;
};

}  // namespace foretoken::fast
