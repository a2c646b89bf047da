// Builds a graph out of graphs: several share links, or one follows another.
#pragma once

#include <optional>
#include <span>

#include "sim/des/task_graph.h"

namespace foretoken::des {

/// Adds a copy of `part` to `whole`. Streams are new; link l of `part` becomes links[l] of `whole`. No task of the copy
/// starts before `after` has ended.
///
/// Returns a task without duration that ends with the last task of the copy. The copy's tasks have the numbers just
/// before it, in the order of `part`.
///
/// Precondition: `links` has an entry for every link of `part`.
TaskId append(TaskGraph& whole, const TaskGraph& part, std::span<const LinkId> links, std::optional<TaskId> after);

}  // namespace foretoken::des
