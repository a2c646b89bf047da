// Simulates several jobs on one cluster.
//
// Every job is unfolded by itself, with the same numbers for the links. Then the graphs are joined on these links. Each
// job repeats its step until the longest step of the others has ended. A further copy of a step changes nothing before
// its own start, so the times that count do not depend on the number of copies.
#include "sim/study/share_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/des/compose.h"
#include "sim/des/engine.h"
#include "sim/net/fabric.h"
#include "sim/observe/contention.h"
#include "sim/ranks/unfold.h"
#include "sim/step/lower.h"

namespace foretoken::study {
namespace {

using des::TaskId;
using job::Job;

constexpr int kMostSteps = 100;
constexpr std::size_t kMostLinks = 20;  // at most so many links are listed

/// Joins the imperfections of all jobs: a slow or failed part is slow or failed for every job.
job::Imperfections joined(const std::vector<PlacedJob>& jobs, int nodes) {
  job::Imperfections all;
  std::set<std::tuple<std::string, std::string, double>> known;  // slow links
  for (const PlacedJob& job : jobs) {
    // The cluster's nodes are the nodes of all jobs together.
    const auto node_of = [&](NodeId node) { return NodeId{job.nodes[node].value}; };
    const auto name_of = [&](const std::string& device) {  // "node 0 nic 3", "leaf 1"
      if (!device.starts_with("node ")) return device;
      std::string_view rest = std::string_view(device).substr(5);
      const std::optional<int> node = take_number<int>(rest, 0);
      return node ? fmt::format("node {}{}", node_of(id_of<NodeId>(*node)).number(), rest) : device;
    };
    for (const job::SlowNic& nic : job.job.imperfections.slow_nics)
      all.slow_nics.push_back({node_of(nic.node), nic.nic, nic.rate_factor});
    for (const job::SlowLink& link : job.job.imperfections.slow_links) {
      const job::SlowLink named{name_of(link.from), name_of(link.to), link.rate_factor};
      if (known.emplace(named.from, named.to, named.rate_factor).second) all.slow_links.push_back(named);
    }
  }
  all.cluster_gpus = nodes * jobs.front().job.cluster.links.gpus;
  return all;
}

/// Returns the job with its GPUs numbered in the shared cluster.
Job placed(const PlacedJob& job, job::Imperfections cluster) {
  Job scenario = job.job;
  const int domain = scenario.cluster.links.gpus;
  const auto in_cluster = [&](Gpu gpu) {
    const ClusterNode node = job.nodes[id_of<NodeId>(gpu.number() / domain)];
    return id_of<Gpu>(node.number() * domain + gpu.number() % domain);
  };
  for (const Rank rank : ids<Rank>(scenario.gpus))
    cluster.placement.push_back(in_cluster(scenario.imperfections.gpu_of(rank)));
  for (const job::SlowGpu& slow : scenario.imperfections.slow_gpus)
    cluster.slow_gpus.push_back({in_cluster(slow.gpu), slow.slowdown});
  cluster.imbalanced_experts = std::move(scenario.imperfections.imbalanced_experts);
  scenario.imperfections = std::move(cluster);
  return scenario;
}

/// A run of all jobs together, each with its number of steps.
class Company {
 public:
  Company(const std::vector<ranks::UnfoldedStep>& steps, const std::vector<int>& repeats) {
    std::map<std::uint32_t, des::LinkId> links;  // by id in the fabric
    for (const ranks::UnfoldedStep& step : steps) {
      expects(step.link_ids.size() == step.graph.links().size(), "every link of a step is one of the cluster");
      for (std::size_t l = 0; l < step.link_ids.size(); ++l) {
        const auto [place, is_new] = links.try_emplace(step.link_ids[l]);
        if (is_new) place->second = graph_.add_link(step.graph.links()[l]);
      }
    }
    id_of_link_.resize(links.size());
    for (const auto& [id, link] : links) id_of_link_[link.value] = id;
    for (std::size_t job = 0; job < steps.size(); ++job) add(steps[job], static_cast<int>(job), repeats[job], links);
  }

  void run(std::span<des::Observer* const> observers = {}) {
    run_ = des::run(graph_, observers);
    expects(run_.stuck.empty(), "steps that end by themselves end together");
  }
  /// Returns the end of each step of a job.
  [[nodiscard]] std::vector<des::Instant> ends(std::size_t job) const {
    std::vector<des::Instant> ends;
    for (const TaskId end : ends_[job]) ends.push_back(run_.end[end.value]);
    return ends;
  }
  [[nodiscard]] std::size_t jobs() const { return ends_.size(); }
  /// Returns the instant at which every job has ended its first step.
  [[nodiscard]] des::Instant all_ended_one() const {
    des::Instant last;
    for (std::size_t job = 0; job < jobs(); ++job) last = std::max(last, ends(job).front());
    return last;
  }
  [[nodiscard]] const des::TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<int>& job_of_task() const { return job_of_task_; }
  [[nodiscard]] std::uint32_t id_of(des::LinkId link) const { return id_of_link_[link.value]; }

 private:
  void add(const ranks::UnfoldedStep& step, int job, int repeats, const std::map<std::uint32_t, des::LinkId>& links) {
    std::vector<des::LinkId> here;
    for (const std::uint32_t id : step.link_ids) here.push_back(links.at(id));
    std::vector<TaskId>& ends = ends_.emplace_back();
    for (int i = 0; i < repeats; ++i)
      ends.push_back(append(graph_, step.graph, here, ends.empty() ? std::nullopt : std::optional(ends.back())));
    job_of_task_.resize(graph_.tasks(), job);
  }

  des::TaskGraph graph_;
  std::vector<std::vector<TaskId>> ends_;  // by job and step
  std::vector<int> job_of_task_;
  std::vector<std::uint32_t> id_of_link_;
  des::RunResult run_;
};

/// Returns for each job a number of steps that outlasts the longest step, judged by the times without neighbours.
std::vector<int> first_guess(const std::vector<Seconds>& unshared) {
  const Seconds longest = *std::max_element(unshared.begin(), unshared.end());
  std::vector<int> repeats;
  for (const Seconds time : unshared) {
    const double ratio = std::ceil(longest / time);
    if (ratio > kMostSteps)
      throw ConfigError(
          {{"", "",
            fmt::format("the longest step, {:.3g} s, is more than {} times as long as the shortest, {:.3g} s; "
                        "expected jobs with steps of similar length",
                        longest.value(), kMostSteps, time.value())}});
    repeats.push_back(static_cast<int>(ratio));
  }
  return repeats;
}

/// Runs the jobs, each with enough steps to last until all jobs have ended one.
Company run_together(const std::vector<ranks::UnfoldedStep>& steps, std::vector<int>& repeats) {
  while (true) {
    Company company(steps, repeats);
    company.run();
    const des::Instant end = company.all_ended_one();
    bool enough = true;
    for (std::size_t job = 0; job < steps.size(); ++job)
      if (company.ends(job).back() < end) {
        ++repeats[job];
        enough = false;
      }
    if (enough) return company;
  }
}

SharedJob shared_job(const PlacedJob& placed, Seconds unshared, const std::vector<des::Instant>& ends,
                     des::Instant until) {
  const auto steps = std::count_if(ends.begin(), ends.end(), [&](des::Instant end) { return end <= until; });
  const Seconds time = des::to_seconds(ends[static_cast<std::size_t>(steps - 1)] - des::Instant{});
  return {.name = placed.job.name,
          .nodes = placed.nodes,
          .unshared = unshared,
          .shared = (1.0 / static_cast<double>(steps)) * time,
          .steps = static_cast<int>(steps),
          .warnings = placed.warnings};
}

std::vector<SharedLink> named(const std::vector<observe::Contention::Contended>& contended, const Company& company,
                              const net::Fabric& fabric) {
  std::vector<std::uint32_t> ids;
  for (const auto& link : contended) ids.push_back(company.id_of(link.link));
  const std::vector<std::string> names = net::link_names(fabric, ids);
  std::vector<SharedLink> links;
  for (std::size_t i = 0; i < contended.size(); ++i)
    links.push_back({names[i],
                     company.graph().links()[contended[i].link.value],
                     des::to_seconds(contended[i].time),
                     {contended[i].jobs.begin(), contended[i].jobs.end()}});
  return links;
}

}  // namespace

int nodes_of(const Job& scenario) {
  const int domain = scenario.cluster.links.gpus;
  return (scenario.gpus + domain - 1) / domain;
}

SharedCluster share_cluster(const std::vector<PlacedJob>& jobs) {
  int nodes = 0;
  for (const PlacedJob& job : jobs)
    nodes = std::max(nodes, 1 + std::max_element(job.nodes.begin(), job.nodes.end())->number());
  std::vector<step::LoweredStep> lowered;
  std::vector<ranks::UnfoldedStep> steps;
  std::vector<Seconds> unshared;
  const job::Imperfections cluster = joined(jobs, nodes);
  for (const PlacedJob& job : jobs) {
    const Job scenario = placed(job, cluster);
    lowered.push_back(step::lower_for_flows(scenario, step::Fidelity::kStage));
    steps.push_back(ranks::unfold(lowered.back(), scenario, ranks::Traffic::kFlows));
    unshared.push_back(des::to_seconds(des::run(steps.back().graph).makespan - des::Instant{}));
  }
  std::vector<int> repeats = first_guess(unshared);
  Company company = run_together(steps, repeats);
  const des::Instant until = company.all_ended_one();
  observe::Contention contention(company.graph(), company.job_of_task(), until);
  des::Observer* const observers[] = {&contention};
  company.run(observers);
  SharedCluster result{.jobs = {}, .links = {}, .simulated = des::to_seconds(until - des::Instant{})};
  for (std::size_t job = 0; job < jobs.size(); ++job)
    result.jobs.push_back(shared_job(jobs[job], unshared[job], company.ends(job), until));
  auto contended = contention.contended();
  contended.resize(std::min(contended.size(), kMostLinks));
  result.links = named(contended, company, net::Fabric(jobs.front().job.cluster, nodes));
  return result;
}

}  // namespace foretoken::study
