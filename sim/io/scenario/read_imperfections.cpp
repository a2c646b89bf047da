// Reads slow GPUs, slow and failed NICs and links, imbalanced experts and placement, and checks them against the job.
#include "sim/io/scenario/read_imperfections.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sim/base/text.h"
#include "sim/net/router.h"
#include "sim/step/memory/parameters.h"

namespace foretoken::io {
namespace {

// No working part is slower or faster than this. Any other number has a wrong unit.
constexpr Range kSlowdown{.low = 0.01, .high = 1000};
constexpr Range kRateFactor{.low = 0.001, .high = 1};

Table<Rank, Gpu> read_placement(const std::vector<Node>& entries, const Node& node, int gpus) {
  Table<Rank, Gpu> placement;
  if (entries.size() != static_cast<std::size_t>(gpus)) {
    node.complain("placement", fmt::format("expected one GPU for every rank ({}), found {}", gpus, entries.size()));
    return placement;
  }
  std::vector<bool> taken(entries.size(), false);
  std::size_t again = 0, first = 0;  // GPUs that come again, and the first of them
  for (const Node& entry : entries) {
    const std::size_t wrong = node.findings().complaints.size();
    const auto gpu = static_cast<std::size_t>(entry.as_whole({.low = 0, .high = gpus - 1}));
    if (node.findings().complaints.size() > wrong) continue;
    if (taken[gpu] && ++again == 1) first = gpu;
    taken[gpu] = true;
    placement.push_back(id_of<Gpu>(static_cast<int>(gpu)));
  }
  if (again > 0)
    node.complain("placement", fmt::format("expected every GPU once, found GPU {} again{}", first,
                                           again > 1 ? fmt::format(", and {} more", again - 1) : ""));
  return placement;
}

void read_slow_gpus(const std::vector<Node>& entries, int gpus, std::vector<job::SlowGpu>& known) {
  std::vector<bool> taken(static_cast<std::size_t>(gpus), false);
  for (const Node& entry : entries) {
    const std::size_t wrong = entry.findings().complaints.size();
    const Node slow = entry.as_object();
    slow.allow_only({"gpu", "slowdown"});
    const auto gpu = static_cast<int>(slow.whole("gpu", {.low = 0, .high = gpus - 1}));
    const double slowdown = slow.number("slowdown", kSlowdown);
    if (entry.findings().complaints.size() > wrong) continue;
    if (taken[static_cast<std::size_t>(gpu)])
      slow.complain(fmt::format("expected every GPU once, found GPU {} again", gpu));
    taken[static_cast<std::size_t>(gpu)] = true;
    known.push_back({.gpu = id_of<Gpu>(gpu), .slowdown = slowdown});
  }
}

// A node of the job: its kind, and the number of its GPUs in the job.
struct JobNode {
  const net::Cluster& kind;
  int gpus = 0;
};

int ranks_a_stage(const job::Job& job) { return job.gpus / job.parallelism.pipeline; }

int nodes_of(const net::Cluster& kind, int gpus) { return (gpus + kind.links.gpus - 1) / kind.links.gpus; }

JobNode job_node(NodeId node, const job::Job& job) {
  int place = node.number();
  const auto of = [&place](const net::Cluster& kind, int gpus) {
    return JobNode{kind, std::min(kind.links.gpus, gpus - place * kind.links.gpus)};
  };
  for (const job::StageGroup& group : job.groups) {
    const int gpus = group.stages * ranks_a_stage(job), nodes = nodes_of(group.cluster, gpus);
    if (place < nodes) return of(group.cluster, gpus);
    place -= nodes;
  }
  return of(job.cluster, job.gpus);
}

// Lists the nodes by kind: "node 0: gb200-nvl72, nodes 1 to 8: dgx-h100-ndr". Numbers go on through the groups.
std::string kinds_of_nodes(const job::Job& job) {
  std::string text;
  int first = 0;
  for (const job::StageGroup& group : job.groups) {
    const int next = first + nodes_of(group.cluster, group.stages * ranks_a_stage(job));
    text += text.empty() ? "" : ", ";
    text += next == first + 1 ? fmt::format("node {}", first) : fmt::format("nodes {} to {}", first, next - 1);
    text += ": " + printable(group.cluster.name);
    first = next;
  }
  return text;
}

// Reads the number of a node. Nodes are NVLink domains here, as in drawings. Where the cluster's own nodes are smaller,
// or there are several kinds, the complaint says so.
NodeId read_node(const Node& nic, int nodes, const job::Job& job) {
  const net::Cluster& cluster = job.cluster;
  if (job.groups.empty() && cluster.links.gpus == cluster.gpus_per_node)
    return id_of<NodeId>(static_cast<int>(nic.whole("node", {.low = 0, .high = nodes - 1})));
  const std::int64_t node = nic.whole("node", {.low = 0});
  if (node < nodes) return id_of<NodeId>(static_cast<int>(node));
  const std::string what =
      job.groups.empty() ? fmt::format("an NVLink domain ({} GPUs each) from 0 to {}", cluster.links.gpus, nodes - 1)
                         : fmt::format("a node from 0 to {} ({})", nodes - 1, kinds_of_nodes(job));
  nic.complain("node", fmt::format("expected {}, found {}", what, node));
  return {};
}

// NICs that are nearest to no GPU of the job, which has only some of their node. Nodes of one kind are alike.
class IdleNics {
 public:
  [[nodiscard]] bool contains(int nic, const JobNode& node) {
    if (node.gpus == node.kind.links.gpus) return false;
    auto [near, is_new] = near_.try_emplace({&node.kind, node.gpus});
    if (is_new) {
      const net::Fabric fabric(node.kind, 1, /*joined=*/true);
      const net::Router router(fabric);
      for (const net::FabricGpu gpu : ids<net::FabricGpu>(node.gpus))
        near->second.insert(router.nics_near(gpu).begin(), router.nics_near(gpu).end());
    }
    return !near->second.contains(nic);
  }

 private:
  std::map<std::pair<const net::Cluster*, int>, std::set<int>> near_;  ///< by kind and GPUs of the job
};

// One line for all of them: a file may name thousands.
void warn_of_idle(std::string_view key, const std::vector<job::SlowNic>& idle, std::vector<std::string>& warnings) {
  if (idle.empty()) return;
  const std::string more = idle.size() == 1 ? "" : fmt::format(" (and {} more NICs)", idle.size() - 1);
  warnings.push_back(
      fmt::format("imperfections.{}: no GPU of the job is near NIC {} of node {}{}: traffic takes it only where nearer "
                  "ones have failed",
                  key, idle.front().nic, idle.front().node.number(), more));
}

// Reads NICs by node and number, and with `rate` the part of the rate that is left.
void read_nics(const Node& node, std::string_view key, bool rate, int nodes, const job::Job& job,
               std::vector<job::SlowNic>& known) {
  const auto entries = node.find_array(key);
  if (!entries || entries->empty()) return;
  if (nodes == 1) {
    node.complain(key, "expected a job of several nodes or NVLink domains: this one uses no NIC");
    return;
  }
  std::set<std::pair<NodeId, int>> taken;
  for (const job::SlowNic& each : known) taken.emplace(each.node, each.nic);
  IdleNics without_gpu;
  std::vector<job::SlowNic> idle;
  for (const Node& entry : *entries) {
    const std::size_t wrong = entry.findings().complaints.size();
    const Node nic = entry.as_object();
    if (rate)
      nic.allow_only({"node", "nic", "rate_factor"});
    else
      nic.allow_only({"node", "nic"});
    const NodeId at = read_node(nic, nodes, job);
    const JobNode place = job_node(at, job);
    const int last_nic = std::max(0, place.kind.links.nics - 1);
    const job::SlowNic slow{.node = at,
                            .nic = static_cast<int>(nic.whole("nic", {.low = 0, .high = last_nic})),
                            .rate_factor = rate ? nic.number("rate_factor", kRateFactor) : 0};
    if (entry.findings().complaints.size() > wrong) continue;
    if (!taken.emplace(slow.node, slow.nic).second)
      nic.complain(fmt::format("expected every NIC once, slow or failed; found NIC {} of node {} again", slow.nic,
                               slow.node.number()));
    known.push_back(slow);
    if (slow.rate_factor < 1 && without_gpu.contains(slow.nic, place)) idle.push_back(slow);
  }
  warn_of_idle(key, idle, node.findings().notes.warnings);
}

// Reads links by the devices that they join.
void read_links(const Node& node, std::string_view key, bool rate, const net::Fabric& fabric,
                std::vector<job::SlowLink>& known) {
  const auto entries = node.find_array(key);
  if (!entries) return;
  const auto ends_of = [](const std::string& a, const std::string& b) { return std::minmax(a, b); };
  std::set<std::pair<std::string, std::string>> taken;
  for (const job::SlowLink& each : known) taken.insert(ends_of(each.from, each.to));
  for (const Node& entry : *entries) {
    const Node link = entry.as_object();
    if (rate)
      link.allow_only({"between", "rate_factor"});
    else
      link.allow_only({"between"});
    const double left = rate ? link.number("rate_factor", kRateFactor) : 0;
    const std::vector<Node> ends = link.array("between");
    std::vector<std::string> names;
    bool text = true;
    for (const Node& end : ends) {
      names.push_back(end.as_text());
      text = text && end.is_text();
    }
    if (!text) continue;
    if (names.size() != 2 || net::links_between(fabric, names[0], names[1]).empty())
      link.complain("between",
                    "expected two devices that a cable joins, for instance \"node 0 gpu 0\" and \"node 0 "
                    "nvswitch 0\", or \"leaf 0\" and \"spine 0\"; foretoken clusters show NAME --svg FILE "
                    "draws them");
    else if (!taken.insert(ends_of(names[0], names[1])).second)
      link.complain("between", "expected every link once, slow or failed; found this one again");
    else
      known.push_back({names[0], names[1], left});
  }
}

// Returns the reason why no expert group of a job can have an imbalance of its own, if there is one.
std::optional<std::string> why_all_alike(const job::Job& job) {
  if (!job.model.experts) return fmt::format("model {} is dense", in_quotes(job.model.name));
  if (job.parallelism.expert == 1) return "with expert 1 every rank has all experts";
  if (job.routing.capacity_factor) return "with moe.capacity_factor every expert gets equally many rows";
  return std::nullopt;
}

// Reads expert groups by stage and number.
void read_imbalanced_experts(const Node& node, const job::Job& job, std::vector<job::ImbalancedExperts>& known) {
  constexpr const char* kKey = "imbalanced_experts";
  const auto entries = node.find_array(kKey);
  if (!entries || entries->empty()) return;
  if (const auto why = why_all_alike(job)) return node.complain(kKey, "expected none: " + *why);
  const int stages = job.parallelism.pipeline, groups = job.grid().degree(Axis::kExpertData);
  const step::LocalParameters parameters(job);
  std::set<std::pair<Stage, int>> taken;
  for (const Node& entry : *entries) {
    const std::size_t wrong = entry.findings().complaints.size();
    const Node group = entry.as_object();
    group.allow_only({"stage", "group", "imbalance"});
    const job::ImbalancedExperts experts{
        .stage = id_of<Stage>(static_cast<int>(group.whole("stage", {.low = 0, .high = stages - 1}))),
        .group = static_cast<int>(group.whole("group", {.low = 0, .high = groups - 1})),
        .imbalance = group.number(
            "imbalance", {.low = 1, .high = model::most_imbalance(*job.model.experts, job.parallelism.expert)})};
    if (entry.findings().complaints.size() > wrong) continue;
    if (parameters.experts_of_stage(experts.stage) == 0)
      group.complain("stage", fmt::format("expected a stage with experts, found {}: its layers are dense",
                                          experts.stage.number()));
    if (!taken.emplace(experts.stage, experts.group).second)
      group.complain(fmt::format("expected every expert group once, found group {} of stage {} again", experts.group,
                                 experts.stage.number()));
    known.push_back(experts);
  }
}

// Drops parts with a factor of 1, which are not slow, and expert groups like all others.
void drop_sound(job::Imperfections& what, double imbalance) {
  std::erase_if(what.imbalanced_experts, [&](const auto& each) { return each.imbalance == imbalance; });
  std::erase_if(what.slow_gpus, [](const job::SlowGpu& each) { return each.slowdown == 1; });
  std::erase_if(what.slow_nics, [](const job::SlowNic& each) { return each.rate_factor == 1; });
  std::erase_if(what.slow_links, [](const job::SlowLink& each) { return each.rate_factor == 1; });
}

}  // namespace

job::Imperfections read_imperfections(const Node& node, const job::Job& job) {
  node.allow_only(
      {"slow_gpus", "slow_nics", "failed_nics", "slow_links", "failed_links", "imbalanced_experts", "placement"});
  job::Imperfections all;
  const int nodes = job.node_of(id_of<Gpu>(job.gpus - 1)).number() + 1;
  if (const auto entries = node.find_array("slow_gpus")) read_slow_gpus(*entries, job.gpus, all.slow_gpus);
  read_nics(node, "slow_nics", true, nodes, job, all.slow_nics);
  read_nics(node, "failed_nics", false, nodes, job, all.slow_nics);
  if (!job.groups.empty()) {
    for (const char* key : {"slow_links", "failed_links"})
      if (node.has(key))
        node.complain(key, "expected none on nodes of several kinds; try slow_gpus, slow_nics or failed_nics");
    if (node.has("placement"))
      node.complain("placement", "expected none on nodes of several kinds; state the groups in another order");
  } else if (node.has("slow_links") || node.has("failed_links")) {
    const net::Fabric fabric(job.cluster, nodes);
    read_links(node, "slow_links", true, fabric, all.slow_links);
    read_links(node, "failed_links", false, fabric, all.slow_links);
  }
  if (const auto entries = node.find_array("placement"); entries && job.groups.empty())
    all.placement = read_placement(*entries, node, job.gpus);
  read_imbalanced_experts(node, job, all.imbalanced_experts);
  drop_sound(all, job.routing.imbalance_in_times());
  return all;
}

}  // namespace foretoken::io
