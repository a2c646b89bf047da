// The links of a job's cluster in a task graph, and the flows that messages and collectives are over them.
//
// A flow between nodes carries wire bytes: the time that its transfer takes when the traffic is what the cost model
// assumes, times the rate that the model gives it then. So bytes, protocol overhead and the profile's measured
// efficiency stay in one place, an undisturbed flow takes exactly the modelled time, and shared, slow or oversubscribed
// links show as sharing.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "sim/des/task_graph.h"
#include "sim/lowering/imperfections.h"
#include "sim/lowering/scenario.h"
#include "sim/net/router.h"

namespace foretoken::lowering {

/// One flow: where its bytes go.
struct Leg {
  std::vector<des::LinkId> route;
  Bytes bytes;
};

/// Routes and links. GPUs are numbered node by node; `graph` receives the links that routes use and that can become a
/// bottleneck.
class Wires {
 public:
  Wires(const Scenario& scenario, des::TaskGraph& graph);

  /// A message that alone takes `transfer` at `rate` (bytes per second of this GPU's share of the network), split over
  /// the NICs near its sender; inside a node `rate` is not used.
  [[nodiscard]] std::vector<Leg> message(int from, int to, Seconds transfer, BytesPerSecond rate);

  /// A collective over `gpus` (ascending) as NCCL's rings: inside a node one ring; across nodes one ring a channel,
  /// which leaves and enters every node through the NIC of that channel. Alone it takes `transfer`; `rate` is a node's
  /// share of the network then. Precondition: at least two GPUs.
  [[nodiscard]] std::vector<Leg> ring(std::span<const int> gpus, Seconds transfer, BytesPerSecond rate);

  [[nodiscard]] int node_of(int gpu) const { return gpu / fabric_.node().gpus; }

 private:
  [[nodiscard]] Leg leg(int from, int to, int nic, Bytes bytes);
  [[nodiscard]] Leg local_leg(int from, int to, Seconds transfer);

  des::TaskGraph& graph_;
  net::Fabric fabric_;
  net::Router router_;
  std::vector<double> factor_;                    // by link of the fabric: what is left of its rate
  std::vector<bool> binding_;                     // by link of the fabric: whether it can be a bottleneck
  std::vector<std::optional<des::LinkId>> link_;  // by link of the fabric, once used
};

}  // namespace foretoken::lowering
