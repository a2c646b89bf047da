// The moves of prompts' caches from the GPUs that computed them to those that decode.
//
// Each transfer alone runs at the rate of the smaller side: its GPUs send or receive side by side. Transfers at the
// same time share the links of instances and the NICs of nodes by max-min fairness (sim/des/flows/max_min.h). An
// instance sends one cache after another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/base/units.h"
#include "sim/des/task_graph.h"
#include "sim/des/time.h"
#include "sim/serve/service.h"

namespace foretoken::serve {

/// Returns the time to move the keys and values of `tokens` tokens from one instance to another when nothing else
/// moves. The GPUs of the smaller side send or receive side by side, each over its own share of the links. Both pools
/// stand on nodes of their own when either fills one; otherwise they share a node.
[[nodiscard]] Seconds transfer_time(const Service& service, std::int64_t tokens);

/// A cache that moves.
struct Transfer {
  std::uint32_t request = 0;
  std::size_t sender = 0, receiver = 0;  ///< instances of their pools
  Seconds alone{};                       ///< its time when nothing else moves
};

/// The transfers under way, and those that wait for their sender.
class Transfers {
 public:
  /// Precondition: the service is disaggregated.
  explicit Transfers(const Service& service);

  /// Sends a cache when its sender has sent those before it.
  void send(const Transfer& transfer, des::Instant now);

  /// Returns the instant at which the next transfer ends; kNever without one.
  [[nodiscard]] des::Instant next() const;

  /// Ends the transfers that are due and adds them to `arrived`, in order of their ends.
  void land(des::Instant now, std::vector<Transfer>& arrived);

 private:
  struct Flow {
    Transfer transfer;
    double left = 0, speed = 0;  ///< seconds of the time alone; their part that passes in a second
    des::Instant since{}, end = des::kNever;
  };

  [[nodiscard]] des::LinkId add_link(BytesPerSecond capacity);
  void add_side(const Service& service, const Pool& pool, bool crosses, std::vector<std::vector<des::LinkId>>& routes);
  void start_next(std::size_t sender, des::Instant now);
  void settle(des::Instant now);

  BytesPerSecond alone_{};                           // the rate of one transfer
  std::vector<BytesPerSecond> capacities_;           // of links: instances and nodes
  std::vector<std::vector<des::LinkId>> from_, to_;  // links of each instance that sends, and that receives
  std::vector<std::deque<Transfer>> waiting_;        // of each sender; the first moves
  std::vector<Flow> flows_;
};

}  // namespace foretoken::serve
