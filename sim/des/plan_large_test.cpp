// The trusted engine of the tests, and random plans.
#include <algorithm>
#include <numeric>
#include <optional>

#include "sim/des/flows/max_min.h"
#include "sim/des/plan_test.h"

namespace foretoken::des::testing {
namespace {

std::vector<std::uint32_t> identity(std::size_t n) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  return order;
}

/// A random order of the tasks that keeps the order of each stream.
std::vector<std::uint32_t> shuffled_tasks(const Plan& plan, std::mt19937& random) {
  std::vector<std::uint32_t> order, left = identity(plan.tasks.size());
  const auto shares_stream = [&](std::uint32_t a, std::uint32_t b) {
    for (const std::uint32_t s : plan.tasks[a].streams)
      if (std::count(plan.tasks[b].streams.begin(), plan.tasks[b].streams.end(), s) > 0) return true;
    return false;
  };
  while (!left.empty()) {
    std::vector<std::uint32_t> may_come;
    for (const std::uint32_t t : left)
      if (std::none_of(left.begin(), left.end(), [&](std::uint32_t u) { return u < t && shares_stream(u, t); }))
        may_come.push_back(t);
    order.push_back(may_come[random() % may_come.size()]);
    std::erase(left, order.back());
  }
  return order;
}

Built build_in_order(const Plan& plan, const std::vector<std::uint32_t>& task_order,
                     const std::vector<std::uint32_t>& stream_order, const std::vector<std::uint32_t>& link_order,
                     const std::vector<std::uint32_t>& dependency_order) {
  Built built;
  TaskGraph& graph = built.graph;
  std::vector<StreamId> stream(plan.streams);
  for (const std::uint32_t s : stream_order) stream[s] = graph.add_stream();
  std::vector<LinkId> link(plan.capacities.size());
  for (const std::uint32_t l : link_order) link[l] = graph.add_link(BytesPerSecond(plan.capacities[l]));
  built.id.resize(plan.tasks.size());
  for (const std::uint32_t t : task_order) {
    const PlannedTask& task = plan.tasks[t];
    std::vector<StreamId> members;
    std::vector<LinkId> route;
    for (const std::uint32_t s : task.streams) members.push_back(stream[s]);
    for (const std::uint32_t l : task.route) route.push_back(link[l]);
    if (task.kind == TaskKind::kFlow) {
      built.id[t] = graph.add_flow(members, Bytes(task.bytes), route, task.duration);
    } else if (task.kind == TaskKind::kRendezvous) {
      built.id[t] = graph.add_rendezvous(members, task.duration);
    } else {
      built.id[t] = members.empty() ? graph.add_delay(task.duration) : graph.add_occupy(members[0], task.duration);
    }
  }
  for (const std::uint32_t d : dependency_order)
    graph.add_dependency(built.id[plan.dependencies[d].first], built.id[plan.dependencies[d].second]);
  return built;
}

/// The trusted engine. It looks up everything anew and counts nothing down.
class Reference {
 public:
  explicit Reference(const Plan& plan)
      : plan_(plan), moving_(plan.tasks.size()), times_{never(plan), never(plan)}, due_(never(plan)) {}

  Times run() {
    while (true) {
      while (end_due() || start_allowed()) {
      }
      share_links();
      if (std::count(due_.begin(), due_.end(), now_) > 0) continue;
      const Instant next = due_.empty() ? kNever : *std::min_element(due_.begin(), due_.end());
      if (next == kNever) return times_;
      now_ = next;
    }
  }

 private:
  struct Moving {
    double left = 0, rate = 0;
    Instant since;
  };
  static std::vector<Instant> never(const Plan& plan) { return std::vector<Instant>(plan.tasks.size(), kNever); }
  bool ended(std::uint32_t t) const { return times_.end[t] != kNever; }

  bool end_due() {
    bool any = false;
    for (std::uint32_t t = 0; t < plan_.tasks.size(); ++t) {
      if (due_[t] != now_) continue;
      any = true;
      due_[t] = kNever;
      const PlannedTask& task = plan_.tasks[t];
      const bool joins = task.kind == TaskKind::kFlow && !moving_[t] && !task.route.empty() && task.bytes > 0;
      if (joins) {
        moving_[t] = Moving{task.bytes, 0, now_};
      } else {
        times_.end[t] = now_;
      }
    }
    return any;
  }

  bool may_start(std::uint32_t t) const {
    if (times_.start[t] != kNever) return false;
    for (const auto& [before, after] : plan_.dependencies)
      if (after == t && !ended(before)) return false;
    for (std::uint32_t earlier = 0; earlier < t; ++earlier)
      for (const std::uint32_t s : plan_.tasks[earlier].streams)
        if (!ended(earlier) && std::count(plan_.tasks[t].streams.begin(), plan_.tasks[t].streams.end(), s) > 0)
          return false;
    return true;
  }

  bool start_allowed() {
    std::vector<std::uint32_t> allowed;
    for (std::uint32_t t = 0; t < plan_.tasks.size(); ++t)
      if (may_start(t)) allowed.push_back(t);
    for (const std::uint32_t t : allowed) {
      times_.start[t] = now_;
      due_[t] = now_ + plan_.tasks[t].duration;
    }
    return !allowed.empty();
  }

  void share_links() {
    std::vector<BytesPerSecond> capacities;
    for (const double c : plan_.capacities) capacities.emplace_back(c);
    Routes routes;
    std::vector<std::uint32_t> flows;
    for (std::uint32_t t = 0; t < plan_.tasks.size(); ++t) {
      if (!moving_[t] || ended(t)) continue;
      std::vector<LinkId> route;
      for (const std::uint32_t l : plan_.tasks[t].route) route.push_back({l});
      routes.add(route);
      flows.push_back(t);
    }
    const auto rates = max_min(capacities, routes);
    for (std::size_t i = 0; i < flows.size(); ++i) {
      Moving& flow = *moving_[flows[i]];
      const double rate = rates[i].value();
      if (rate == flow.rate) continue;
      flow.left = std::max(0.0, flow.left - flow.rate * to_seconds(now_ - flow.since).value());
      flow.rate = rate;
      flow.since = now_;
      due_[flows[i]] = now_ + to_duration(Seconds(flow.left / rate));
    }
  }

  const Plan& plan_;
  Instant now_;
  std::vector<std::optional<Moving>> moving_;
  Times times_;
  std::vector<Instant> due_;
};

std::uint32_t below(std::uint32_t n) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint32_t>(0, n));
}

std::vector<std::uint32_t> draw_distinct(std::uint32_t count, std::uint32_t from) {
  std::vector<std::uint32_t> all = identity(from), drawn;
  for (std::uint32_t i = 0; i < std::min(count, from); ++i) {
    const std::uint32_t pick = below(static_cast<std::uint32_t>(all.size()));
    drawn.push_back(all[pick]);
    all.erase(all.begin() + pick);
  }
  return drawn;
}

PlannedTask draw_task(const Plan& plan, bool flows) {
  PlannedTask task;
  task.duration = {below(3) == 0 ? 0 : below(4)};  // equal and zero durations break engines
  const std::uint32_t kind = below(flows ? 8 : 4);
  if (kind >= 4) {
    task.kind = TaskKind::kFlow;
    task.streams = draw_distinct(below(3), plan.streams);
    task.route = draw_distinct(below(4), static_cast<std::uint32_t>(plan.capacities.size()));
    task.bytes = below(5) == 0 ? 0 : below(1000);
  } else if (kind == 3) {
    task.kind = TaskKind::kRendezvous;
    task.streams = draw_distinct(1 + below(3), plan.streams);
  } else if (kind > 0) {
    task.streams = {below(plan.streams)};
  }
  return task;
}

}  // namespace

Built build_shuffled(const Plan& plan, std::uint32_t seed) {
  std::mt19937 random(seed);
  auto streams = identity(plan.streams), links = identity(plan.capacities.size());
  auto dependencies = identity(plan.dependencies.size());
  for (auto* order : {&streams, &links, &dependencies}) std::shuffle(order->begin(), order->end(), random);
  return build_in_order(plan, shuffled_tasks(plan, random), streams, links, dependencies);
}

Built build(const Plan& plan) {
  return build_in_order(plan, identity(plan.tasks.size()), identity(plan.streams), identity(plan.capacities.size()),
                        identity(plan.dependencies.size()));
}

Times times_of(const Built& built, const RunResult& result) {
  Times times;
  for (const TaskId id : built.id) {
    times.start.push_back(result.start[id.value]);
    times.end.push_back(result.end[id.value]);
  }
  return times;
}

Times reference_run(const Plan& plan) { return Reference(plan).run(); }

Plan draw_plan(bool flows, bool circles) {
  Plan plan;
  plan.streams = 1 + below(5);
  for (std::uint32_t i = flows ? 1 + below(5) : 0; i > 0; --i) plan.capacities.push_back(1e12 * (1 + below(7)));
  const std::uint32_t tasks = below(30);
  for (std::uint32_t t = 0; t < tasks; ++t) plan.tasks.push_back(draw_task(plan, flows));
  for (std::uint32_t d = tasks < 2 ? 0 : below(2 * tasks); d > 0; --d) {
    std::uint32_t before = below(tasks), after = below(tasks);
    if (before == after) continue;
    if (before > after && !(circles && below(20) == 0)) std::swap(before, after);
    plan.dependencies.emplace_back(before, after);
  }
  return plan;
}

}  // namespace foretoken::des::testing
