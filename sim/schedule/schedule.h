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
  kAsProduced,    ///< a result is sent when it is there, and waited for when it is needed: right for every program
  kAsInMegatron,  ///< around warm-up, steady state and drain, as Megatron-Core does for its own schedules
};

/// One schedule. The catalogue holds those that have a name in scenarios; a job may hold any other.
struct Schedule {
  std::string name;                                    ///< "gpipe", "gpipe-fifo", "1f1b", "interleaved-1f1b"
  std::string description;                             ///< one line for `schedule list`, with its source
  bool interleaves = false;                            ///< needs chunks > 1
  bool splits_backward = false;                        ///< has backward ops for input and for weight
  Posting posting = Posting::kAsProduced;              ///< kAsInMegatron needs Program::warm_up
  std::function<Program(PipelineShape)> build = {};    ///< precondition: `why_not` finds nothing against the shape
  std::function<Placement(PipelineShape)> place = {};  ///< the placement of the programs built; none: looped
  /// Further conditions of this schedule on a shape; none where it has none. Call `why_not` instead.
  std::function<std::optional<std::string>(PipelineShape)> own_rule = {};
};

/// Where the virtual stages of such a shape stand.
[[nodiscard]] Placement placement_of(const Schedule& schedule, PipelineShape shape);

/// The kinds of passes that the programs of `schedule` may have.
[[nodiscard]] std::vector<OpKind> pass_kinds(const Schedule& schedule);

/// Why `schedule` cannot run with that shape (for instance m not a multiple of the group), or nothing when it can.
/// The text says expected, found and what to try.
[[nodiscard]] std::optional<std::string> why_not(const Schedule& schedule, PipelineShape shape);

}  // namespace foretoken::schedule
