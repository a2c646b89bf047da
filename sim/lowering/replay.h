// Step times of many scenarios without building their graphs: passes and pipelines that they share are made once.
//
// A step is its pipeline and what follows it. The pipeline is replayed from a plan that all scenarios of one shape
// share (pipeline_plan.h); passes are timed once for each way to execute a layer; the end of the step, a task or two a
// stage, is lowered and run as in lower(). The result is lower()'s and des::run()'s to the picosecond.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "sim/base/memo.h"
#include "sim/lowering/pipeline_plan.h"
#include "sim/lowering/scenario.h"

namespace foretoken::lowering {

/// The end of the last task of a step whose pipeline ends as `pipeline` says. Monotonic: with lower bounds of the
/// pipeline's ends it gives a lower bound.
[[nodiscard]] des::Duration finish_step(const Scenario& scenario, const PlanRun& pipeline);

/// Replays scenarios that differ only in degrees, sequence parallelism, micro-batch, recomputation, schedule, optimizer
/// shards and GPUs: model, cluster, profile, runtime, precision and attention are those of all. Threads may share it.
class Replayer {
 public:
  /// The passes of `scenario`; this object must outlive them.
  [[nodiscard]] Passes passes(const Scenario& scenario);

  /// The step time; `scratch` is memory that a thread keeps between calls. Throws ConfigError when the step is absurdly
  /// long, as lower() does.
  [[nodiscard]] des::Duration step_time(const Scenario& scenario, const Passes& passes,
                                        std::vector<std::int64_t>& scratch);

  /// Drops plans when they take much memory. No other thread may be using this object.
  void trim();

 private:
  using GroupKey = std::tuple<int, int, int, int>;
  using LayerKey = std::tuple<int, int, std::int64_t, bool, model::RecomputeGranularity, bool, GroupKey, GroupKey>;
  [[nodiscard]] static LayerKey layer_key(const Scenario& scenario);

  Memo<LayerKey, std::unique_ptr<PassLibrary>> libraries_;
  Memo<PlanShape, PipelinePlan> plans_;
  std::atomic<std::size_t> planned_tasks_ = 0;
};

}  // namespace foretoken::lowering
