// Flows under way. A flow's remaining bytes are brought up to date only when its rate changes. An unchanged rate
// therefore leaves the arrival untouched, and rounding does not depend on other flows.
#include "sim/des/flows/flow_network.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/des/flows/max_min.h"

namespace foretoken::des {

FlowNetwork::FlowNetwork(const TaskGraph& graph, bool keeps_rates)
    : flows_(graph.flows()),
      capacities_(graph.links()),
      states_(flows_.size()),
      links_(capacities_.size()),
      keeps_rates_(keeps_rates) {
  if (flows_.empty()) return;
  flow_of_.resize(graph.tasks());
  for (std::uint32_t flow = 0; flow < flows_.size(); ++flow) flow_of_[flows_[flow].task.value] = flow;
}

bool FlowNetwork::on_event(TaskId task, Instant now) {
  const std::uint32_t flow = flow_of_[task.value];
  State& state = states_[flow];
  if (state.phase == Phase::kLatency) {
    if (flows_[flow].route.empty() || flows_[flow].bytes == Bytes()) {
      state.phase = Phase::kArrived;
      return true;
    }
    join(flow, now);
    return false;
  }
  if (state.phase == Phase::kArrived || state.arrival != now) return false;  // a newer announcement replaced this one
  leave(flow);
  return true;
}

std::span<const FlowNetwork::Arrival> FlowNetwork::settle(Instant now) {
  arrivals_.clear();
  rates_.clear();
  if (touched_.empty()) return {};
  gather_component();
  std::vector<BytesPerSecond> capacities;
  for (const LinkId link : component_links_) capacities.push_back(capacities_[link.value]);
  Routes routes;
  std::vector<LinkId> local;
  for (const std::uint32_t flow : component_flows_) {
    local.clear();
    for (const LinkId link : flows_[flow].route) local.push_back({links_[link.value].index});
    routes.add(local);
  }
  const std::vector<BytesPerSecond> rates = max_min(capacities, routes);
  for (std::size_t i = 0; i < rates.size(); ++i) move_at(component_flows_[i], rates[i].value(), now);
  for (const LinkId link : component_links_) links_[link.value].gathered = false;
  for (const std::uint32_t flow : component_flows_) states_[flow].gathered = false;
  touched_.clear();
  return arrivals_;
}

void FlowNetwork::join(std::uint32_t flow, Instant now) {
  State& state = states_[flow];
  state.phase = Phase::kMoving;
  state.bytes_left = flows_[flow].bytes.value();
  state.since = now;
  for (const LinkId link : flows_[flow].route) {
    links_[link.value].flows.push_back(flow);
    touched_.push_back(link);
  }
}

void FlowNetwork::leave(std::uint32_t flow) {
  states_[flow].phase = Phase::kArrived;
  for (const LinkId link : flows_[flow].route) {
    std::vector<std::uint32_t>& here = links_[link.value].flows;
    const auto place = std::find(here.begin(), here.end(), flow);
    *place = here.back();
    here.pop_back();
    touched_.push_back(link);
  }
}

void FlowNetwork::gather_component() {
  component_links_.clear();
  component_flows_.clear();
  for (const LinkId link : touched_) gather_link(link);
  for (std::size_t next = 0; next < component_links_.size(); ++next) {
    for (const std::uint32_t flow : links_[component_links_[next].value].flows) {
      if (states_[flow].gathered) continue;
      states_[flow].gathered = true;
      component_flows_.push_back(flow);
      for (const LinkId link : flows_[flow].route) gather_link(link);
    }
  }
}

void FlowNetwork::gather_link(LinkId link) {
  Link& here = links_[link.value];
  if (here.gathered) return;
  here.gathered = true;
  here.index = static_cast<std::uint32_t>(component_links_.size());
  component_links_.push_back(link);
}

void FlowNetwork::move_at(std::uint32_t flow, double rate, Instant now) {
  State& state = states_[flow];
  if (rate == state.rate) return;
  const double moved = state.rate * to_seconds(now - state.since).value();
  state.bytes_left = std::max(0.0, state.bytes_left - moved);
  state.since = now;
  state.rate = rate;
  if (keeps_rates_) rates_.push_back({flows_[flow].task, BytesPerSecond(rate)});
  const Instant arrival = later(now, to_duration(Bytes(state.bytes_left) / BytesPerSecond(rate)));
  if (arrival == state.arrival) return;
  state.arrival = arrival;
  arrivals_.push_back({flows_[flow].task, arrival});
}

}  // namespace foretoken::des
