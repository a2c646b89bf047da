// Everything that one stage does in a run, as spans of time, and the split of its time that follows.
//
// Inside a pass the timing of the pass gives the split: compute, communication in the order of axes, host. An instant
// outside passes belongs to the first of these that applies:
//   1. the gap that the host leaves between two passes,
//   2. the optimizer and other work of the stage,
//   3. data-parallel communication of the stage,
//   4. copies between a GPU and its host, and the optimizer's update on the host,
//   5. a pipeline message that it sends or receives,
//   6. waiting for another stage.
#pragma once

#include <vector>

#include "sim/base/intervals.h"
#include "sim/observe/stage_times.h"
#include "sim/step/passes/passes.h"
#include "sim/step/workload.h"

namespace foretoken::observe {

class StageSpans {
 public:
  /// Adds `times` passes that last as `timing` says when they wait for nothing inside.
  void add_work(const step::PassTiming& timing, std::int64_t times = 1);
  /// Adds the span of a pass, with the time that slow GPUs added to it.
  void add_pass(Interval span, des::Duration stretched = {});
  /// Adds the time by which shared, slow or other links made exchanges inside a pass longer. It is negative where they
  /// made them shorter.
  void add_links(const PerAxis<des::Duration>& longer);
  /// Adds a task of the stage that moves nothing between GPUs.
  void add_task(step::TaskMeaning kind, Interval span);
  /// Adds a communication that the stage takes part in, or a copy between its GPU and the host.
  void add_communication(const step::Communication& row, Interval span);

  /// Splits `length`, the time in which all of it happened.
  [[nodiscard]] StageSplit split(des::Duration length) &&;

 private:
  StageSplit inside_;  // compute, communication and host of the passes
  des::Duration work_, stretched_;
  PerAxis<des::Duration> links_;  // what links added to exchanges inside passes
  std::vector<Interval> passes_;
  // Tasks of the stage by kind: the parts of passes, the gaps between them, and others.
  std::vector<Interval> parts_, between_, optimizer_, other_;
  std::vector<Interval> offload_;  // copies to and from the host, and the update there
  PerAxis<std::vector<Interval>> moving_;
};

}  // namespace foretoken::observe
