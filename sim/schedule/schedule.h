// A schedule: a name, and a pure function from a shape to the op list of every stage.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/schedule/program.h"

namespace foretoken::schedule {

/// The ways in which the messages of a schedule may be posted.
enum class Posting : std::uint8_t {
  kAsProduced,    ///< a result is sent once it exists, and awaited when it is needed; right for every program
  kAsInMegatron,  ///< messages follow warm-up, steady state and drain, as in Megatron-Core for its own schedules
};

/// The weights that the passes of a schedule without a flush use.
enum class WeightUse : std::uint8_t {
  kOfTheForward,  ///< the newest at the forward pass, and the same at the backward pass (weight stashing)
  kOneStepOld,    ///< those before the update of the step before
  kNewest,        ///< the newest at each pass, though a backward pass then differs from its forward pass
};

/// The way of a schedule whose pipeline is not flushed at the end of a step.
struct WithoutFlush {
  WeightUse uses = WeightUse::kNewest;
  bool updates_every_microbatch = false;  ///< else the weights change once a step
};

/// One schedule. The catalogue holds the schedules that have a name in scenarios. A job may hold any other.
struct Schedule {
  std::string name;                ///< "gpipe", "gpipe-fifo", "1f1b", "interleaved-1f1b"
  std::string description;         ///< one line for `schedule list`, with its source
  bool interleaves = false;        ///< needs chunks > 1
  bool splits_backward = false;    ///< has backward ops for input and for weight
  bool pairs_passes = false;       ///< has pairs of a forward and a backward pass
  bool moves_activations = false;  ///< sends them to a partner stage and brings them back
  /// Copies of the model on the pipeline: 2 in two-way schedules. Every copy is a way of the placement, and takes as
  /// many micro-batches as the others.
  int copies = 1;
  Posting posting = Posting::kAsProduced;              ///< kAsInMegatron needs Program::warm_up
  std::function<Program(PipelineShape)> build = {};    ///< precondition: `why_not` returns nothing for the shape
  std::function<Placement(PipelineShape)> place = {};  ///< the placement of the programs built; none: looped
  /// Further conditions of this schedule on a shape; returns nothing for a legal shape. Call `why_not` instead.
  std::function<std::optional<std::string>(PipelineShape)> own_rule = {};
  std::optional<WithoutFlush> without_flush = {};  ///< steps overlap, and passes use weights of different ages
  bool made = false;  ///< the order follows from a job's times and memory (sim/step/made_order.h), not from `build`
  std::optional<PipelineShape> only_shape = {};  ///< of a schedule from a file; none: built for every legal shape
};

/// Returns the places of the virtual stages of such a shape.
[[nodiscard]] Placement placement_of(const Schedule& schedule, PipelineShape shape);

/// Returns the kinds of passes that the programs of `schedule` may have.
[[nodiscard]] std::vector<OpKind> pass_kinds(const Schedule& schedule);

/// Returns the reason why `schedule` cannot run with that shape, or nothing when it can. The text says expected, found
/// and what to try; for example m is not a multiple of the group.
[[nodiscard]] std::optional<std::string> why_not(const Schedule& schedule, PipelineShape shape);

}  // namespace foretoken::schedule
