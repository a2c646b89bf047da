// The flows of one run that are under way: who shares links with whom, and when each will have arrived.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/des/time.h"

namespace foretoken::des {

/// Moves the bytes of a graph's flows. A flow passes its latency, then joins its links and leaves them when its last
/// byte has arrived. Whenever flows joined or left, `settle` solves the rates again of those connected with them by
/// shared links, and of nobody else.
class FlowNetwork {
 public:
  /// An arrival time that replaces what was said before about `task`.
  struct Arrival {
    TaskId task;
    Instant at;
  };

  struct NewRate {
    TaskId task;
    BytesPerSecond rate;
  };

  /// `keeps_rates`: rates() is asked for.
  explicit FlowNetwork(const TaskGraph& graph, bool keeps_rates = false);

  /// An event of a flow's task: the end of its latency, or an arrival that `settle` announced. True when the flow has
  /// arrived; false when it has just joined its links, or when the announcement has been replaced.
  bool on_event(TaskId task, Instant now);

  /// Gives new rates to the flows concerned by those that joined or left since the last call, and returns the arrivals
  /// that changed; valid until the next call. To be called once an instant's events are done.
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
    std::vector<std::uint32_t> flows;  // moving over it; once per crossing
    std::uint32_t index = 0;           // in the component, when gathered
    bool gathered = false;
  };

  void join(std::uint32_t flow, Instant now);
  void leave(std::uint32_t flow);
  void gather_component();
  void gather_link(LinkId link);
  void move_at(std::uint32_t flow, double rate, Instant now);

  std::span<const Flow> flows_;
  std::span<const BytesPerSecond> capacities_;
  std::vector<State> states_;  // by flow
  std::vector<Link> links_;
  std::vector<LinkId> touched_;          // links that a flow joined or left since the last settle
  std::vector<LinkId> component_links_;  // scratch of settle
  std::vector<std::uint32_t> component_flows_;
  std::vector<Arrival> arrivals_;
  bool keeps_rates_;
  std::vector<NewRate> rates_;
};

}  // namespace foretoken::des
