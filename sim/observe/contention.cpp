// Measures contention between jobs.
//
// A link is visited whenever a flow over it changes its rate. The time since the last visit is added first, with the
// state from before the change.
#include "sim/observe/contention.h"

#include <algorithm>

namespace foretoken::observe {
namespace {

constexpr double kFull = 1 - 1e-9;  // n flows that fill a link carry n rounded shares of it

}  // namespace

Contention::Contention(const des::TaskGraph& graph, std::span<const int> job_of_task, des::Instant until)
    : graph_(graph),
      job_of_task_(job_of_task),
      until_(until),
      rate_(graph.flows().size(), 0),
      links_(graph.links().size()) {
  for (std::uint32_t link = 0; link < links_.size(); ++link) links_[link].so_far.link = {link};
}

std::uint32_t Contention::flow_of(des::TaskId task) const {
  const auto flows = graph_.flows();
  const auto found = std::lower_bound(flows.begin(), flows.end(), task,
                                      [](const des::Flow& flow, des::TaskId wanted) { return flow.task < wanted; });
  return static_cast<std::uint32_t>(found - flows.begin());
}

void Contention::count(OnLink& link, double capacity, des::Instant now) {
  const des::Duration passed = std::min(now, until_) - std::min(link.since, until_);
  link.since = now;
  if (passed.ps == 0) return;
  double load = 0;
  std::set<int> jobs;
  for (const std::uint32_t flow : link.flows) {
    load += rate_[flow];
    jobs.insert(job_of_task_[graph_.flows()[flow].task.value]);
  }
  if (jobs.size() < 2 || load < kFull * capacity) return;
  link.so_far.time.ps += passed.ps;
  link.so_far.jobs.merge(jobs);
}

void Contention::touch(std::uint32_t flow, des::Instant at) {
  for (const des::LinkId link : graph_.flows()[flow].route)
    count(links_[link.value], graph_.links()[link.value].value(), at);
}

void Contention::on_rate(des::TaskId task, BytesPerSecond rate, des::Instant at) {
  const std::uint32_t flow = flow_of(task);
  touch(flow, at);
  if (rate_[flow] == 0)
    for (const des::LinkId link : graph_.flows()[flow].route) links_[link.value].flows.push_back(flow);
  rate_[flow] = rate.value();
}

void Contention::on_end(des::TaskId task, des::Instant at) {
  if (graph_.kind(task) != des::TaskKind::kFlow) return;
  const std::uint32_t flow = flow_of(task);
  if (rate_[flow] == 0) return;
  touch(flow, at);
  for (const des::LinkId link : graph_.flows()[flow].route) std::erase(links_[link.value].flows, flow);
  rate_[flow] = 0;
}

std::vector<Contention::Contended> Contention::contended() const {
  std::vector<Contended> all;
  for (const OnLink& link : links_)
    if (link.so_far.time.ps > 0) all.push_back(link.so_far);
  std::stable_sort(all.begin(), all.end(), [](const Contended& a, const Contended& b) { return a.time > b.time; });
  return all;
}

}  // namespace foretoken::observe
