// Flows under way. A flow's remaining bytes are brought up to date only when its rate changes. An unchanged rate
// therefore leaves the arrival untouched, and rounding does not depend on other flows.
#include "sim/des/flows/flow_network.h"

#include <algorithm>
#include <limits>

#include "sim/base/check.h"

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
  for (const LinkId link : touched_) {
    if (links_[link.value].gathered) continue;
    gather_component(link);
    solve_component(now);
  }
  for (const LinkId link : gathered_) links_[link.value].gathered = false;
  gathered_.clear();
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

void FlowNetwork::gather_component(LinkId first) {
  component_begin_ = gathered_.size();
  component_flows_.clear();
  gather_link(first);
  for (std::size_t next = component_begin_; next < gathered_.size(); ++next) {
    for (const std::uint32_t flow : links_[gathered_[next].value].flows) {
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
  here.index = static_cast<std::uint32_t>(gathered_.size() - component_begin_);
  gathered_.push_back(link);
}

void FlowNetwork::solve_component(Instant now) {
  const std::span<const LinkId> links = std::span(gathered_).subspan(component_begin_);
  for (const std::uint32_t flow : component_flows_) states_[flow].gathered = false;
  if (component_flows_.empty()) return;
  if (component_flows_.size() == 1) {  // most messages have their links for themselves
    double rate = std::numeric_limits<double>::infinity();
    for (const LinkId link : links) {
      const auto crossings = static_cast<double>(links_[link.value].flows.size());
      rate = std::min(rate, capacities_[link.value].value() / crossings);
    }
    return move_at(component_flows_.front(), rate, now);
  }
  component_capacities_.clear();
  for (const LinkId link : links) component_capacities_.push_back(capacities_[link.value]);
  component_routes_.clear();
  for (const std::uint32_t flow : component_flows_) {
    route_.clear();
    for (const LinkId link : flows_[flow].route) route_.push_back({links_[link.value].index});
    component_routes_.add(route_);
  }
  const std::span<const BytesPerSecond> rates = max_min_.solve(component_capacities_, component_routes_);
  for (std::size_t i = 0; i < rates.size(); ++i) move_at(component_flows_[i], rates[i].value(), now);
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
