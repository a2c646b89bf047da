// Step times of many scenarios without building their graphs. Passes and pipelines that they share are made once.
//
// A step is its pipeline and the tasks that follow it. The pipeline is replayed from a plan that all scenarios of one
// shape share (pipeline_plan.h). Passes are timed once for each way to execute a layer. The end of the step, a task or
// two a stage, is timed by the rules of lower(). The result equals lower() and des::run() to the picosecond.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/base/memo.h"
#include "sim/fast/layer_key.h"
#include "sim/fast/pipeline_plan.h"
#include "sim/job/job.h"
#include "sim/step/memory/memory.h"

namespace foretoken::fast {

/// Returns the end of the last task of a step whose pipeline ends as `pipeline` says. It is monotonic: lower bounds of
/// the pipeline's ends give a lower bound of the step.
[[nodiscard]] des::Duration finish_step(const job::Job& job, const step::Passes& passes, const PlanRun& pipeline);

/// Replays jobs of one question that differ in the choices of a patch (layer_key.h). Threads may share it.
class Replayer {
 public:
  /// The replayer is full when it keeps as much. By default, each is a quarter of a gigabyte.
  struct Limits {
    std::size_t steps = 3'000'000;  ///< of plans, 16 bytes each
    std::size_t layers = 10'000;    ///< counts of a layer's memory, some 20 KB each
    std::size_t ops = 3'000'000;    ///< of passes, sizeof(step::TimedOp) each
  };
  Replayer() = default;
  explicit Replayer(const Limits& limits) : limits_(limits) {}

  /// Returns the passes of `job`. This object must outlive them.
  [[nodiscard]] step::Passes passes(const job::Job& job);

  /// Returns the memory of `job`, which must outlive it.
  [[nodiscard]] step::JobMemory memory(const job::Job& job);

  /// Returns the step time. A thread keeps `scratch` as memory between calls. Throws ConfigError when the step is
  /// absurdly long, as lower() does.
  [[nodiscard]] des::Duration step_time(const job::Job& job, const step::Passes& passes,
                                        std::vector<std::int64_t>& scratch);

  /// Returns true when plans and passes take much memory, so that it is time to trim(). Threads may ask at any time.
  [[nodiscard]] bool is_full() const;

  /// Drops plans and passes when they take much memory. No other thread may use this object during the call.
  void trim();

 private:
  Limits limits_;
  Memo<LayerKey, std::unique_ptr<step::PassLibrary>> libraries_;
  Memo<std::pair<LayerKey, bool>, std::shared_ptr<const step::LayerMemory>> layers_;  // true: backward passes are split
  Memo<PlanShape, PipelinePlan> plans_;
  std::atomic<std::size_t> planned_steps_ = 0, timed_ops_ = 0, counted_layers_ = 0;
};

}  // namespace foretoken::fast
