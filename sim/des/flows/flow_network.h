// The flows of one run that are under way: which flows share links, and when each arrives.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/des/flows/max_min.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// Moves the bytes of a graph's flows. A flow passes its latency, joins its links, and leaves them when its last byte
/// has arrived. After flows joined or left, `settle` solves rates again. It solves only the flows that shared links
/// connect with them.
class FlowNetwork {
 public:
  /// A new arrival time of `task`. It replaces any earlier one.
  struct Arrival {
    TaskId task;
    Instant at;
  };

  struct NewRate {
    TaskId task;
    BytesPerSecond rate;
  };

  /// Set `keeps_rates` to use rates().
  explicit FlowNetwork(const TaskGraph& graph, bool keeps_rates = false);

  /// Handles an event of a flow's task: the end of its latency, or an arrival that `settle` announced. Returns true
  /// when the flow has arrived. Returns false when it has just joined its links, or when a newer announcement replaced
  /// this one.
  bool on_event(TaskId task, Instant now);

  /// Gives new rates to the flows affected since the last call, and returns the arrivals that changed. They are valid
  /// until the next call. Call it once the events of an instant are done.
  std::span<const Arrival> settle(Instant now);

  /// The rates that the last settle changed.
  [[nodiscard]] std::span<const NewRate> rates() const { return rates_; }

 private:
  enum class Phase : std::uint8_t { kLatency, kMoving, kArrived };
  struct State {
    double bytes_left = 0;  // at `since`
    double rate = 0;        // bytes per second from `since` on
    Instant since;
    Instant arrival = kNever;
    Phase phase = Phase::kLatency;
    bool gathered = false;
  };
  struct Link {
    std::vector<std::uint32_t> flows;  // flows that move over it, once per crossing
    std::uint32_t index = 0;           // position in the component, when gathered
    bool gathered = false;
  };

  void join(std::uint32_t flow, Instant now);
  void leave(std::uint32_t flow);
  void gather_component(LinkId first);
  void gather_link(LinkId link);
  void solve_component(Instant now);
  void move_at(std::uint32_t flow, double rate, Instant now);

  std::span<const Flow> flows_;
  std::vector<std::uint32_t> flow_of_;  // by task: its place in flows_, where it is a flow
  std::span<const BytesPerSecond> capacities_;
  std::vector<State> states_;  // by flow
  std::vector<Link> links_;
  std::vector<LinkId> touched_;   // links that a flow joined or left since the last settle
  std::vector<LinkId> gathered_;  // links of this settle: the component's come last
  std::size_t component_begin_ = 0;
  std::vector<std::uint32_t> component_flows_;
  std::vector<BytesPerSecond> component_capacities_;
  Routes component_routes_;
  std::vector<LinkId> route_;
  MaxMin max_min_;
  std::vector<Arrival> arrivals_;
  bool keeps_rates_;
  std::vector<NewRate> rates_;
};

}  // namespace foretoken::des
