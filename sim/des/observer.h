// Watches a run. Tracing, memory and statistics are observers, never part of the engine's loop.
#pragma once

#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// Hears of every start and end, and of every new rate of a flow. Within an instant, ends come before the starts they
/// allow, and rates come last. A flow moves from its first rate to its end.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_start(TaskId /*task*/, Instant /*at*/) {}
  virtual void on_end(TaskId /*task*/, Instant /*at*/) {}
  virtual void on_rate(TaskId /*flow*/, BytesPerSecond /*rate*/, Instant /*at*/) {}
};

}  // namespace foretoken::des
