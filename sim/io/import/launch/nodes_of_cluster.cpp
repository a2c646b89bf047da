// Compares the nodes that a launch is written for with those of the cluster.
//
// A scenario has GPUs in order: its ranks fill the nodes of the cluster one after the other, whatever number of them a
// launcher starts on a node.
#include "sim/io/import/launch/nodes_of_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "sim/base/text.h"
#include "sim/io/json/data_path.h"
#include "sim/io/json/document.h"

namespace foretoken::io::launch {
namespace {

struct Nodes {
  std::optional<std::int64_t> gpus{};  ///< of a node
  std::string gpu{};                   ///< "h100-sxm5-80gb"; empty where the cluster holds a description
};

// Nothing where no cluster is stated, or it cannot be read.
Nodes nodes_of_cluster(const Report& report) {
  if (!report.has("cluster")) return {};
  Findings wrong;
  const auto scenario = document_from_text(report.scenario.dump(), "scenario", wrong);
  if (!scenario) return {};
  const auto document = open_reference(scenario->root(wrong).child("cluster"), kClusters);
  if (!document) return {};
  const auto gpus = document->root(wrong).child("node").find_whole("gpus", {.low = 1});
  if (!wrong.complaints.empty()) return {};
  Findings described;
  auto gpu = document->root(described).find_text("gpu");
  return {gpus, described.complaints.empty() && gpu ? std::move(*gpu) : std::string()};
}

std::string name_of_cluster(const Report& report) {
  const Json name = report.at("cluster");
  return name.is_string() ? printable(name.get<std::string>(), 60) : "the cluster";
}

// GPUs that the user states are ranks of the cluster as it is.
bool user_states_gpus(const Report& report) {
  return std::ranges::any_of(report.mapped,
                             [](const Mapped& one) { return one.key == "gpus" && one.from == kFromCommandLine; });
}

void note_ranks(std::int64_t ranks, std::int64_t gpus, Report& report) {
  const std::int64_t all = report.whole("gpus").value_or(0);
  if (ranks == gpus || (ranks < gpus && all <= ranks) || user_states_gpus(report)) return;
  report.approximate(
      "ranks of a node",
      fmt::format("the launch starts {} on a node, and a node of {} has {} GPUs; the ranks fill its nodes "
                  "one after the other",
                  ranks, name_of_cluster(report), gpus));
}

// "gb200" and "gb200-186gb" are one GPU, "GB200" too; "b200" is another.
void note_gpu(const std::string& gpu, Report& report) {
  const std::string launch = lower_case(report.gpu_of_launch);
  if (launch.empty() || gpu.empty()) return;
  const auto kind = [](std::string_view name) { return name.substr(0, name.find_first_of("-_")); };
  if (kind(launch) != kind(gpu))
    report.approximate("GPU", fmt::format("the launch is of {}; {} has {}", printable(report.gpu_of_launch, 40),
                                          name_of_cluster(report), gpu));
}

}  // namespace

void settle_nodes(Report& report) {
  const Nodes nodes = nodes_of_cluster(report);
  note_gpu(nodes.gpu, report);
  if (!report.gpus_of_machine)
    report.gpus_of_machine = nodes.gpus;
  else if (nodes.gpus)
    note_ranks(*report.gpus_of_machine, *nodes.gpus, report);
}

}  // namespace foretoken::io::launch
