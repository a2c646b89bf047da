// Measures the cost of slow and failed hardware.
#include "sim/study/predict/delays.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "sim/base/process/memory_limit.h"
#include "sim/base/process/threads.h"
#include "sim/report/text/number.h"
#include "sim/study/predict/predict.h"

namespace foretoken::study {
namespace {

using job::Job;
using report::Delay;

constexpr std::size_t kMostParts = 8, kMostDrawn = 3;
constexpr double kLeastShare = 0.01;  // a drawn GPU or host with less of the step on the critical path is not named

// A slow or failed part, and the change of the scenario that repairs it.
struct Part {
  Delay delay;
  std::function<void(Job&)> mend;
};

// Describes a slowdown as people do: "10 % slower", "100 times slower", "2 times faster".
std::string slow_text(double slowdown) {
  const char* how = slowdown < 1 ? "faster" : "slower";
  const double times = std::max(slowdown, 1 / slowdown);
  return times < 2 ? fmt::format("{} % {}", report::plain(100 * (times - 1), 3), how)
                   : fmt::format("{} times {}", report::plain(times, 3), how);
}

std::string gpu_text(Gpu gpu, NodeId node, double slowdown) {
  return fmt::format("GPU {} (node {}) is {}", gpu.number(), node.number(), slow_text(slowdown));
}

std::string rate_text(double rate_factor) {
  return rate_factor == 0 ? "has failed" : fmt::format("has {} % of its rate", report::plain(100 * rate_factor, 3));
}

// Returns the time of a key on the critical path, or zero if it is not there.
template <class Key>
Seconds time_of(const std::map<Key, des::Duration>& times, Key key) {
  const auto found = times.find(key);
  return found == times.end() ? Seconds(0) : des::to_seconds(found->second);
}

void add_stated_gpus(const Prediction& run, std::vector<Part>& parts) {
  for (const job::SlowGpu& slow : run.job.imperfections.slow_gpus) {
    const NodeId node = run.job.node_of(slow.gpu);
    parts.push_back({{.what = gpu_text(slow.gpu, node, slow.slowdown),
                      .gpu = slow.gpu,
                      .node = node,
                      .on_critical_path = time_of(run.waits.by_gpu, slow.gpu)},
                     [gpu = slow.gpu](Job& job) {
                       std::erase_if(job.imperfections.slow_gpus, [&](auto& each) { return each.gpu == gpu; });
                     }});
  }
}

// Returns the time of a link on the critical path, or nothing for a failed link, which carries no traffic.
std::optional<Seconds> path_of_link(const Prediction& run, std::size_t part, double rate_factor) {
  if (rate_factor == 0) return std::nullopt;
  return time_of(run.waits.by_link, static_cast<int>(part));
}

void add_nics(const Prediction& run, std::vector<Part>& parts) {
  const auto& nics = run.job.imperfections.slow_nics;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    parts.push_back({{.what = fmt::format("NIC {} of node {} {}", nics[i].nic, nics[i].node.number(),
                                          rate_text(nics[i].rate_factor)),
                      .node = nics[i].node,
                      .nic = nics[i].nic,
                      .on_critical_path = path_of_link(run, i, nics[i].rate_factor)},
                     [i](Job& job) { job.imperfections.slow_nics[i].rate_factor = 1; }});
  }
}

void add_other_links(const Prediction& run, std::vector<Part>& parts) {
  const auto& links = run.job.imperfections.slow_links;
  const std::size_t before = run.job.imperfections.slow_nics.size();
  for (std::size_t i = 0; i < links.size(); ++i) {
    parts.push_back({{.what = fmt::format("the link between {} and {} {}", links[i].from, links[i].to,
                                          rate_text(links[i].rate_factor)),
                      .on_critical_path = path_of_link(run, before + i, links[i].rate_factor)},
                     [i](Job& job) { job.imperfections.slow_links[i].rate_factor = 1; }});
  }
}

void add_imbalanced_experts(const Prediction& run, std::vector<Part>& parts) {
  const auto& experts = run.job.imperfections.imbalanced_experts;
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const job::ImbalancedExperts& group = experts[i];
    parts.push_back({{.what = fmt::format("expert group {} of stage {} has an imbalance of {:g}", group.group,
                                          group.stage.number(), group.imbalance),
                      .on_critical_path = time_of(run.waits.by_experts, i)},
                     [at = group.stage, number = group.group](Job& job) {
                       std::erase_if(job.imperfections.imbalanced_experts, [&](const job::ImbalancedExperts& each) {
                         return each.stage == at && each.group == number;
                       });
                     }});
  }
}

double drawn_slowness(const Job& job, Gpu gpu) { return job::slowness(job.stragglers, gpu, job.host_of(gpu)); }

// Returns the slowness that a GPU shares with all GPUs of its host.
double host_slowness(const Job& job, Gpu gpu) {
  job::Stragglers hosts = job.stragglers;
  hosts.gpu_spread = 0;
  return job::slowness(hosts, gpu, job.host_of(gpu));
}

// Describes a drawn GPU. Repaired, it is as fast as a typical one.
Part drawn_gpu(const Job& job, Gpu gpu) {
  const double slowdown = drawn_slowness(job, gpu);
  const NodeId node = job.node_of(gpu);
  return {{.what = gpu_text(gpu, node, slowdown) + ", as drawn", .gpu = gpu, .node = node}, [=](Job& to) {
            to.imperfections.slow_gpus.push_back({gpu, 1 / slowdown});
          }};
}

// Describes a drawn host by its GPUs, because users know no numbers of hosts, only of nodes (NVLink domains).
Part drawn_host(const Job& job, HostId host) {
  std::vector<Gpu> gpus;
  for (const Gpu gpu : ids<Gpu>(job.gpus))
    if (job.host_of(gpu) == host) gpus.push_back(gpu);
  const double slowdown = host_slowness(job, gpus.front());
  const NodeId node = job.node_of(gpus.front());
  return {{.what = fmt::format("the host of GPUs {} to {} (node {}) is {}, as drawn", gpus.front().number(),
                               gpus.back().number(), node.number(), slow_text(slowdown)),
           .node = node},
          [=](Job& to) {
            for (const Gpu gpu : gpus) to.imperfections.slow_gpus.push_back({gpu, 1 / slowdown});
          }};
}

// Adds the drawn hosts and GPUs that the critical path waits for longest.
void add_drawn(const Prediction& run, std::vector<Part>& parts) {
  const Job& job = run.job;
  if (!job.stragglers.on) return;
  std::map<std::variant<Gpu, HostId>, des::Duration> waits;
  const auto stated = [&job](Gpu gpu) {
    const auto& slow = job.imperfections.slow_gpus;
    return std::any_of(slow.begin(), slow.end(), [gpu](const auto& each) { return each.gpu == gpu; });
  };
  for (const auto& [gpu, time] : run.waits.by_gpu) {
    if (host_slowness(job, gpu) > 1)
      waits[job.host_of(gpu)] += time;
    else if (!stated(gpu))
      waits[gpu] = time;
  }
  std::vector<std::pair<std::variant<Gpu, HostId>, des::Duration>> drawn(waits.begin(), waits.end());
  std::erase_if(drawn, [&](const auto& each) {
    return des::to_seconds(each.second) < kLeastShare * run.metrics.simulated_step_time;
  });
  std::stable_sort(drawn.begin(), drawn.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  if (drawn.size() > kMostDrawn) drawn.resize(kMostDrawn);
  for (const auto& [which, time] : drawn) {
    const HostId* const host = std::get_if<HostId>(&which);
    parts.push_back(host != nullptr ? drawn_host(job, *host) : drawn_gpu(job, std::get<Gpu>(which)));
    parts.back().delay.on_critical_path = des::to_seconds(time);
  }
  parts.push_back({{.what = fmt::format("all that was drawn with seed {}", job.stragglers.seed)},
                   [](Job& to) { to.stragglers.on = false; }});
}

// Keeps the most important parts, most time on the critical path first, and joins the rest to one part. A failed part
// does no work, so it has no time on the path. Failed parts come first, but take at most half of the places when the
// others need them.
void keep_most_important(std::vector<Part>& parts, std::size_t most) {
  if (parts.size() <= most) return;
  const auto failed = [](const Part& part) { return !part.delay.on_critical_path; };
  const auto waited_for = [](const Part& part) { return part.delay.on_critical_path > Seconds(0); };
  std::stable_sort(parts.begin(), parts.end(), [&](const Part& a, const Part& b) {
    if (failed(a) || failed(b)) return failed(a) && !failed(b);
    return *a.delay.on_critical_path > *b.delay.on_critical_path;
  });
  const auto working = std::find_if_not(parts.begin(), parts.end(), failed);
  const auto waits = static_cast<std::size_t>(std::count_if(working, parts.end(), waited_for));
  const std::size_t places = std::max(most / 2, most - std::min(most, waits));
  const auto failures = static_cast<std::size_t>(working - parts.begin());
  if (failures > places) std::rotate(parts.begin() + static_cast<std::ptrdiff_t>(places), working, parts.end());
  const auto end_of_kept = parts.begin() + static_cast<std::ptrdiff_t>(most);
  const std::vector<Part> rest(std::make_move_iterator(end_of_kept), std::make_move_iterator(parts.end()));
  parts.erase(end_of_kept, parts.end());
  parts.push_back(
      {{.what = fmt::format("{} more that {} slow or failed", rest.size(), rest.size() == 1 ? "is" : "are")},
       [rest](Job& to) {
         std::unordered_set<std::uint32_t> gpus;  // all at once: there may be tens of thousands
         for (const Part& part : rest) {
           if (part.delay.gpu)
             gpus.insert(part.delay.gpu->value);
           else
             part.mend(to);
         }
         std::erase_if(to.imperfections.slow_gpus, [&](auto& each) { return gpus.contains(each.gpu.value); });
       }});
}

// Lists stated and drawn parts, without everything slow together.
std::vector<Part> parts_of(const Prediction& prediction, std::size_t most) {
  std::vector<Part> parts;
  add_stated_gpus(prediction, parts);
  add_nics(prediction, parts);
  add_other_links(prediction, parts);
  add_imbalanced_experts(prediction, parts);
  keep_most_important(parts, most);
  add_drawn(prediction, parts);
  return parts;
}

std::size_t stated_parts(const Job& job) {
  const job::Imperfections& what = job.imperfections;
  return what.slow_gpus.size() + what.slow_nics.size() + what.slow_links.size() + what.imbalanced_experts.size();
}

bool has_several(const Job& job) {
  const std::size_t stated = stated_parts(job);
  return stated > 1 || (stated == 1 && job.stragglers.on);
}

// Returns true when two runs at a time take little memory: tasks times ranks, each with a flow, as an estimate.
bool is_small(const step::LoweredStep& step, const Job& job) {
  constexpr double kBytes = 300, kMost = 2e9;  // of an instance with a flow (unfold.cpp); of one run
  const double ranks = static_cast<double>(job.gpus) / job.parallelism.pipeline;
  return kBytes * static_cast<double>(step.workload.graph.tasks()) * ranks <= std::min(kMost, memory_limit() / 4);
}

// Returns how many of `stated` parts are repaired one by one: fewer where a run is large, but two if there are no more.
// A run takes about a second for a million of its size (study_bench, bad_parts), so the runs of many parts take two.
std::size_t most_parts(std::size_t stated, std::size_t size) {
  constexpr std::size_t kFew = 2, kMostSize = 2'000'000;
  if (stated <= kFew) return kFew;
  const std::size_t most = std::min(kMostParts, kMostSize / std::max<std::size_t>(size, 1));
  return most < kFew ? 0 : most;
}

bool is_slow(const Job& job) {
  const job::Imperfections& what = job.imperfections;
  return !what.slow_gpus.empty() || what.uneven_links() || !what.imbalanced_experts.empty() || job.stragglers.on;
}

}  // namespace

Job repaired(Job job) {
  job::Imperfections left;
  left.placement = std::move(job.imperfections.placement);
  left.cluster_gpus = job.imperfections.cluster_gpus;
  job.imperfections = std::move(left);
  job.stragglers.on = false;
  return job;
}

SoundStep::SoundStep(const step::LoweredStep& step, const Job& job, const How& how) {
  if (!has_several(job) || !is_small(step, job)) return;
  threads_ = start_threads(1, [&](std::size_t) {
    try {
      time_ = step_time(step, repaired(job), how);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
}

std::optional<Seconds> SoundStep::time() {
  threads_.clear();  // waits
  if (failure_) std::rethrow_exception(failure_);
  return time_;
}

std::vector<Delay> delays_of(const Prediction& prediction, const DelayRuns& runs) {
  const bool several = has_several(prediction.job);
  const std::size_t stated = stated_parts(prediction.job), most = most_parts(stated, runs.size);
  const bool each = runs.which == Delays::kEach && most > 0;
  std::vector<Part> parts;
  if (each || !several) parts = parts_of(prediction, each ? most : kMostParts);
  if (several) parts.push_back({{.what = "everything that is slow"}, [](Job& to) { to = repaired(std::move(to)); }});
  if (!each && !parts.empty()) parts.erase(parts.begin(), parts.end() - 1);
  const std::size_t one_by_one = each ? std::min(stated, most) : 0;
  const double factor = prediction.metrics.bias_factor();
  std::vector<Delay> delays;
  for (Part& part : parts) {
    const auto time_without = [&] {
      Job without = prediction.job;
      part.mend(without);
      return step_time(prediction.step, without, prediction.how);
    };
    const bool is_all = several && &part == &parts.back();
    part.delay.without = factor * (is_all && runs.sound ? *runs.sound : time_without());
    if (part.delay.on_critical_path) part.delay.on_critical_path = factor * *part.delay.on_critical_path;
    delays.push_back(std::move(part.delay));
  }
  std::stable_sort(delays.begin(), delays.begin() + static_cast<std::ptrdiff_t>(one_by_one),
                   [](const Delay& a, const Delay& b) { return a.without < b.without; });
  return delays;
}

namespace {

report::Waterfall fall_of_simulated(const Prediction& prediction) {
  if (is_slow(prediction.job)) {
    const Prediction sound = predict(repaired(prediction.job), prediction.how);
    return report::with_stragglers(fall_of_simulated(sound), prediction.observations.makespan);
  }
  if (prediction.job.routing.imbalance_in_times() > 1) {
    Job even = prediction.job;
    even.routing.imbalance = 1;
    return report::with_imbalance(fall_of_simulated(predict(std::move(even), prediction.how)),
                                  prediction.observations.makespan);
  }
  return report::waterfall_of(prediction.job, prediction.step, prediction.observations);
}

}  // namespace

report::Waterfall waterfall_of(const Prediction& prediction) {
  return report::with_bias(fall_of_simulated(prediction), prediction.metrics.bias_factor());
}

}  // namespace foretoken::study
