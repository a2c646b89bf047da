// The versions of the weights in schedules without a flush: which one a pass uses, and how many a stage keeps.
#pragma once

#include <vector>

#include "sim/schedule/schedule.h"

namespace foretoken::schedule {

/// The weights of every stage. Version k follows from k updates.
struct WeightVersions {
  Table<Stage, std::vector<int>> used;  ///< by op, in the order of the program
  Table<Stage, int> kept;               ///< most versions at once, the newest included
  /// Most updates between the version of a forward pass and the update with its gradient. PipeDream's stage r has
  /// p - 1 - r, 2BW has 1 everywhere.
  Table<Stage, int> staleness;
};

/// Returns the micro-batches between two updates. `shape` counts one step.
[[nodiscard]] int microbatches_an_update(const WithoutFlush& rule, PipelineShape shape);

/// Follows the weights through `program`, which may hold several steps of `shape`. A stage updates after the last
/// backward pass of each update. A forward pass then uses
///   - kOfTheForward, kNewest: the newest version;
///   - kOneStepOld: version max(0, k - 1), if its micro-batch counts for update k (from 0).
/// A backward pass uses the version of its forward, except under kNewest.
/// Sources: arXiv:1806.03377 section 3.3; arXiv:2006.09503 section 3.1; arXiv:1910.05124 section 2.
/// Precondition: whole backward passes, in the order of the micro-batches, and one chunk a stage.
[[nodiscard]] WeightVersions weight_versions(const Program& program, const WithoutFlush& rule, PipelineShape shape);

/// Returns `program` with an update of each stage where it is due: before the first pass that uses its version, or at
/// the end. An update has the last micro-batch that it counts.
[[nodiscard]] Program with_updates(Program program, const WithoutFlush& rule, PipelineShape shape);

/// The steps of a run that shows the steady state.
struct SteadyRun {
  int before = 0;    ///< steps that fill the pipeline and settle
  int measured = 1;  ///< steps to measure; one more step follows, so that the pipeline stays full
  [[nodiscard]] int steps() const { return before + measured + 1; }
};

/// Returns the steps for a pipeline of that shape. Where messages cost time, the pattern of passes may repeat every
/// p - r micro-batches only; then a step is the mean of `measured` ones. Six times as many micro-batches as stages
/// settle it: of 40 configurations with 4 to 16 stages none changes by 0.1 % with twelve times as many.
[[nodiscard]] SteadyRun steady_run(PipelineShape shape);

/// Returns the program of that run for a schedule with a flush: `a_step` again and again. No stage waits for the
/// others. With `updates` each stage updates its weights after its last pass of a step.
[[nodiscard]] Program repeated(const Program& a_step, PipelineShape shape, bool updates);

/// Returns the program of that run, without updates. Precondition: `schedule` has no flush and takes the shape.
[[nodiscard]] Program steady_program(const Schedule& schedule, PipelineShape shape);

}  // namespace foretoken::schedule
