// What slow and failed hardware costs a step.
#include "sim/app/slow_hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace foretoken::app {
namespace {

using lowering::Scenario;
using report::Delay;

constexpr std::size_t kMostParts = 8, kMostDrawn = 3;
constexpr double kLeastShare = 0.01;  // of the step on the critical path, for a GPU that was drawn to be named

// Something slow, and the scenario in which it is not.
struct Part {
  Delay delay;
  Scenario mended;
};

std::string gpu_text(int gpu, int node, double slowdown) {
  const std::string part = slowdown < 1 ? fmt::format("{:.3g} % fast", 100 * (1 - slowdown))
                                        : fmt::format("{:.3g} % slow", 100 * (slowdown - 1));
  return fmt::format("GPU {} (node {}) is {}", gpu, node, part);
}

std::string rate_text(double rate_factor) {
  return rate_factor == 0 ? "has failed" : fmt::format("has {:.3g} % of its rate", 100 * rate_factor);
}

// Time of a key on the critical path, zero if it is not there.
template <class Map>
Seconds time_of(const Map& times, int key) {
  const auto found = times.find(key);
  return found == times.end() ? Seconds(0) : des::to_seconds(found->second);
}

void add_stated_gpus(const Simulation& run, std::vector<Part>& parts) {
  std::set<int> seen;
  for (const lowering::SlowGpu& slow : run.scenario.imperfections.slow_gpus) {
    if (!seen.insert(slow.gpu).second) continue;
    Scenario mended = run.scenario;
    double slowdown = 1;
    std::erase_if(mended.imperfections.slow_gpus, [&](const lowering::SlowGpu& each) {
      if (each.gpu != slow.gpu) return false;
      slowdown *= each.slowdown;
      return true;
    });
    const int node = run.scenario.node_of(slow.gpu);
    parts.push_back({{.what = gpu_text(slow.gpu, node, slowdown),
                      .gpu = slow.gpu,
                      .node = node,
                      .on_critical_path = time_of(run.waits.by_gpu, slow.gpu)},
                     std::move(mended)});
  }
}

// Nothing passes through what has failed.
std::optional<Seconds> path_of_link(const Simulation& run, std::size_t part, double rate_factor) {
  if (rate_factor == 0) return std::nullopt;
  return time_of(run.waits.by_link, static_cast<int>(part));
}

void add_nics(const Simulation& run, std::vector<Part>& parts) {
  const auto& nics = run.scenario.imperfections.slow_nics;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    Scenario mended = run.scenario;
    mended.imperfections.slow_nics.erase(mended.imperfections.slow_nics.begin() + static_cast<std::ptrdiff_t>(i));
    parts.push_back(
        {{.what = fmt::format("NIC {} of node {} {}", nics[i].nic, nics[i].node, rate_text(nics[i].rate_factor)),
          .node = nics[i].node,
          .nic = nics[i].nic,
          .on_critical_path = path_of_link(run, i, nics[i].rate_factor)},
         std::move(mended)});
  }
}

void add_other_links(const Simulation& run, std::vector<Part>& parts) {
  const auto& links = run.scenario.imperfections.slow_links;
  const std::size_t before = run.scenario.imperfections.slow_nics.size();
  for (std::size_t i = 0; i < links.size(); ++i) {
    Scenario mended = run.scenario;
    mended.imperfections.slow_links.erase(mended.imperfections.slow_links.begin() + static_cast<std::ptrdiff_t>(i));
    parts.push_back({{.what = fmt::format("the link between {} and {} {}", links[i].from, links[i].to,
                                          rate_text(links[i].rate_factor)),
                      .on_critical_path = path_of_link(run, before + i, links[i].rate_factor)},
                     std::move(mended)});
  }
}

// Of GPUs that were drawn, those that most of the critical path waits for.
void add_drawn_gpus(const Simulation& run, std::vector<Part>& parts) {
  const Scenario& scenario = run.scenario;
  if (!scenario.stragglers.on) return;
  std::vector<std::pair<int, des::Duration>> gpus(run.waits.by_gpu.begin(), run.waits.by_gpu.end());
  std::erase_if(gpus, [&](const auto& each) {
    const auto& stated = scenario.imperfections.slow_gpus;
    return des::to_seconds(each.second) < kLeastShare * run.metrics.step_time ||
           std::any_of(stated.begin(), stated.end(), [&](const auto& slow) { return slow.gpu == each.first; });
  });
  std::stable_sort(gpus.begin(), gpus.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (gpus.size() > kMostDrawn) gpus.resize(kMostDrawn);
  for (const auto& [gpu, time] : gpus) {
    const double slowdown = lowering::slowness(scenario.stragglers, gpu, scenario.host_of(gpu));
    Scenario mended = scenario;
    mended.imperfections.slow_gpus.push_back({gpu, 1 / slowdown});  // as the typical one
    const int node = scenario.node_of(gpu);
    parts.push_back({{.what = gpu_text(gpu, node, slowdown) + ", as drawn",
                      .gpu = gpu,
                      .node = node,
                      .on_critical_path = des::to_seconds(time)},
                     std::move(mended)});
  }
  Scenario equal = scenario;
  equal.stragglers.on = false;
  parts.push_back(
      {{.what = fmt::format("all that was drawn with seed {}", scenario.stragglers.seed)}, std::move(equal)});
}

bool is_slow(const Scenario& scenario) {
  const lowering::Imperfections& what = scenario.imperfections;
  return !what.slow_gpus.empty() || what.uneven_links() || scenario.stragglers.on;
}

}  // namespace

Scenario mended(Scenario scenario) {
  lowering::Imperfections left;
  left.placement = std::move(scenario.imperfections.placement);
  scenario.imperfections = std::move(left);
  scenario.stragglers.on = false;
  return scenario;
}

void add_delays(Simulation& simulation) {
  std::vector<Part> parts;
  add_stated_gpus(simulation, parts);
  add_nics(simulation, parts);
  add_other_links(simulation, parts);
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.delay.on_critical_path.value_or(Seconds(0)) > b.delay.on_critical_path.value_or(Seconds(0));
  });
  const std::size_t stated = parts.size();
  if (stated > kMostParts) parts.erase(parts.begin() + kMostParts, parts.end());
  add_drawn_gpus(simulation, parts);
  if (stated > 1 || (stated == 1 && simulation.scenario.stragglers.on))
    parts.push_back({{.what = "everything that is slow"}, mended(simulation.scenario)});
  for (Part& part : parts) {
    part.delay.without = step_time(part.mended, simulation.how);
    simulation.metrics.delays.push_back(std::move(part.delay));
  }
}

report::Waterfall waterfall_of(const Simulation& simulation) {
  if (!is_slow(simulation.scenario))
    return report::waterfall_of(simulation.scenario, simulation.step, simulation.observations);
  const Simulation even = simulate(mended(simulation.scenario), simulation.how);
  return report::with_stragglers(report::waterfall_of(even.scenario, even.step, even.observations),
                                 simulation.observations.makespan);
}

}  // namespace foretoken::app
