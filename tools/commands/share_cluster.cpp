// Reads the jobs of --share-cluster, simulates them together, and prints how much they slow each other.
#include "tools/commands/share_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "sim/base/error.h"
#include "sim/base/parse_number.h"
#include "sim/base/text.h"
#include "sim/io/scenario/read_residuals.h"
#include "sim/io/scenario/read_scenario.h"
#include "sim/report/text/layout.h"
#include "sim/report/text/number.h"
#include "sim/report/text/text.h"
#include "sim/study/predict/interval.h"
#include "sim/study/share_cluster.h"
#include "tools/output/output.h"
#include "tools/output/progress_line.h"

namespace foretoken::tools {
namespace {

using report::plain;

constexpr const char* kAsker = "foretoken simulate";
constexpr int kMostNodes = 1 << 16;

ConfigError wrong(const std::string& message) { return ConfigError({{kAsker, "", message}}); }

/// Reads a node list as batch systems print it: "0-3,8" is 0, 1, 2, 3, 8.
Table<NodeId, study::ClusterNode> node_list(const std::string& text) {
  const auto refused = [&] {
    return wrong(fmt::format("--nodes: expected numbers and ranges like 0-3,8, found {}", in_quotes(text)));
  };
  Table<NodeId, study::ClusterNode> nodes;
  std::string_view rest = text;
  const auto number = [&] {
    const std::optional<int> value = take_number<int>(rest, 0, kMostNodes - 1);
    if (!value) throw refused();
    return *value;
  };
  const auto skip = [&](char mark) {
    const bool found = rest.starts_with(mark);
    if (found) rest.remove_prefix(1);
    return found;
  };
  while (true) {
    const int first = number();
    const int last = skip('-') ? number() : first;
    if (last < first) throw refused();
    for (int node = first; node <= last; ++node) nodes.push_back(id_of<study::ClusterNode>(node));
    if (rest.empty()) return nodes;
    if (!skip(',')) throw refused();
  }
}

/// Writes 0, 1, 2, 3, 8 as "0-3,8".
std::string list_text(const std::vector<int>& nodes) {
  std::string text;
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t j = i;
    while (j + 1 < nodes.size() && nodes[j + 1] == nodes[j] + 1) ++j;
    text += text.empty() ? "" : ",";
    text += i == j ? fmt::format("{}", nodes[i]) : fmt::format("{}-{}", nodes[i], nodes[j]);
    i = j + 1;
  }
  return text;
}

/// Compares nodes and networks: equal ones give equal numbers to their links, so that jobs can share them.
bool are_same(const net::Cluster& a, const net::Cluster& b) {
  const auto node = [](const net::Cluster& c) {
    return std::tie(c.gpu.name, c.gpus_per_node, c.nvlink_fabric, c.links.gpus, c.links.nvlink_per_gpu,
                    c.links.pcie_per_gpu, c.wiring.cables, c.wiring.sockets);
  };
  const auto network = [](const net::Cluster& c) {
    return std::tie(c.name, c.links.nics, c.links.nic, c.links.oversubscription, c.links.hop_latency, c.fabric_kind,
                    c.rail_optimized, c.switch_radix, c.adaptive_routing);
  };
  return node(a) == node(b) && network(a) == network(b);
}

void check_same_cluster(const std::vector<study::PlacedJob>& jobs) {
  const job::Job& first = jobs.front().job;
  for (const study::PlacedJob& job : jobs) {
    const job::Job& other = job.job;
    if (!other.groups.empty())
      throw wrong(fmt::format("--share-cluster: expected nodes of one kind, found several in {}", other.name));
    if (are_same(other.cluster, first.cluster)) continue;
    const bool alike = other.cluster.name == first.cluster.name;
    throw wrong(fmt::format("--share-cluster: expected one cluster, found {}{} of {} and {} of {}",
                            alike ? "two that differ, " : "", first.cluster.name, first.name, other.cluster.name,
                            other.name));
  }
}

std::vector<study::PlacedJob> placed_jobs(const ShareClusterQuestion& question) {
  if (question.scenarios.size() < 2)
    throw wrong(fmt::format("--share-cluster: expected at least two scenarios, found {}", question.scenarios.size()));
  if (!question.nodes.empty() && question.nodes.size() != question.scenarios.size())
    throw wrong(fmt::format("--nodes: expected a list for each of the {} scenarios, found {}",
                            question.scenarios.size(), question.nodes.size()));
  std::vector<study::PlacedJob> jobs;
  std::set<study::ClusterNode> taken;
  study::ClusterNode next;
  for (std::size_t i = 0; i < question.scenarios.size(); ++i) {
    job::Made made = io::read_scenario_file(question.scenarios[i], question.sets);
    study::PlacedJob job{std::move(made.job), {}, std::move(made.notes.warnings)};
    const int part = job.job.cluster.links.gpus;
    job.job.cluster = net::in_whole_domains(std::move(job.job.cluster));
    if (const int whole = job.job.cluster.links.gpus; whole != part)
      job.warnings.push_back(fmt::format("{} fills NVLink domains of {} GPUs here; by itself it takes {} of each",
                                         job.job.name, whole, part));
    const int count = study::nodes_of(job.job);
    if (question.nodes.empty())
      for (int n = 0; n < count; ++n, next = next.next()) job.nodes.push_back(next);
    else
      job.nodes = node_list(question.nodes[i]);
    if (static_cast<int>(job.nodes.size()) != count)
      throw wrong(fmt::format("--nodes {}: {} needs {}, found {}", question.nodes[i], job.job.name,
                              report::counted(count, "node"), job.nodes.size()));
    for (const study::ClusterNode node : job.nodes)
      if (!taken.insert(node).second) throw wrong(fmt::format("--nodes: node {} is given twice", node.number()));
    jobs.push_back(std::move(job));
  }
  check_same_cluster(jobs);
  return jobs;
}

std::string json_text(const study::SharedCluster& result, const std::string& cluster) {
  nlohmann::ordered_json json = {{"cluster", cluster},
                                 {"simulated_s", result.simulated.value()},
                                 {"jobs", nlohmann::ordered_json::array()},
                                 {"shared_bottlenecks", nlohmann::ordered_json::array()}};
  for (const study::SharedJob& job : result.jobs)
    json["jobs"].push_back({{"name", job.name},
                            {"nodes", numbers_of(job.nodes)},
                            {"alone_step_time_s", job.unshared.value()},
                            {"step_time_s", job.shared.value()},
                            {"slowdown", job.slowdown()},
                            {"steps", job.steps},
                            {"warnings", job.warnings}});
  for (const study::SharedLink& link : result.links)
    json["shared_bottlenecks"].push_back({{"link", link.name},
                                          {"gb_per_s", link.capacity.value() / 1e9},
                                          {"full_s", link.full.value()},
                                          {"jobs", link.jobs}});
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

// Lists the warnings of every job. Jobs of one name share a warning.
std::string warnings_text(const study::SharedCluster& result, const report::Paint& paint) {
  std::vector<std::string> warnings;
  for (const study::SharedJob& job : result.jobs)
    for (const std::string& warning : job.warnings) {
      std::string text = fmt::format("{}: {}", job.name, warning);
      if (std::ranges::find(warnings, text) == warnings.end()) warnings.push_back(std::move(text));
    }
  return report::warnings_text(warnings, paint);
}

std::string text_of(const study::SharedCluster& result, const std::string& cluster, const report::Paint& paint) {
  using Align = report::Table::Align;
  constexpr std::size_t kAround = 60;  // the other columns
  int number = 0;
  report::Table jobs({{""},
                      {"job", Align::kLeft},
                      {"nodes", Align::kLeft},
                      {"step alone"},
                      {"with others"},
                      {"slower by"},
                      {"steps"}});
  for (const study::SharedJob& job : result.jobs)
    jobs.add({fmt::format("{}", ++number), report::one_line(job.name, paint.columns() - kAround),
              list_text(numbers_of(job.nodes)), report::time_text(job.unshared), report::time_text(job.shared),
              fmt::format("{:.2f} %", 100 * (job.slowdown() - 1)), fmt::format("{}", job.steps)});
  std::string text =
      paint(report::Ink::kBold, fmt::format("{} jobs on {}", result.jobs.size(), cluster)) + '\n' +
      paint.paragraph("", fmt::format("All jobs start together and repeat their step until each has ended one: {}.",
                                      report::time_text(result.simulated))) +
      '\n' + jobs.text(paint);
  if (result.links.empty())
    return text + "\nNo link was full with traffic of several jobs.\n" + warnings_text(result, paint);
  report::Table links(
      {{"full with several jobs", Align::kLeft}, {"GB/s"}, {"time"}, {"share"}, {"jobs", Align::kLeft}});
  for (const study::SharedLink& link : result.links) {
    std::vector<std::string> names;
    for (const int job : link.jobs) names.push_back(fmt::format("{}", job + 1));
    links.add({link.name, plain(link.capacity.value() / 1e9), report::time_text(link.full),
               fmt::format("{:.1f} %", 100 * (link.full / result.simulated)),
               fmt::format("{}", fmt::join(names, ", "))});
  }
  return text + '\n' + links.text(paint) + warnings_text(result, paint);
}

// Makes headlines of simulated steps, as every other command shows them.
void add_biases(const std::vector<study::PlacedJob>& jobs, study::SharedCluster& result) {
  const trust::Evidence evidence = io::read_shipped_residuals();
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double factor = study::bias_of(jobs[i].job, evidence).factor();
    result.jobs[i].unshared = factor * result.jobs[i].unshared;
    result.jobs[i].shared = factor * result.jobs[i].shared;
  }
}

}  // namespace

int share_cluster(const ShareClusterQuestion& question) {
  const std::vector<study::PlacedJob> jobs = placed_jobs(question);
  const std::string cluster = jobs.front().job.cluster.name;
  study::SharedCluster result;
  ProgressLine line;
  try {
    result = study::share_cluster(jobs);
    add_biases(jobs, result);
  } catch (const ConfigError& error) {
    throw wrong("--share-cluster: " + error.complaints().front().message);
  }
  line.clear();
  print(question.json ? json_text(result, cluster) : text_of(result, cluster, question.paint));
  return 0;
}

}  // namespace foretoken::tools
