// Reads the cluster and the profile of a scenario.
#include "sim/io/hardware/read_hardware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "sim/cost/power_limit.h"
#include "sim/cost/unseen.h"
#include "sim/cost/wide_products.h"
#include "sim/io/hardware/collectives.h"
#include "sim/io/hardware/find_profile.h"
#include "sim/io/hardware/profile.h"
#include "sim/io/hardware/read_cluster.h"
#include "sim/io/hardware/read_nccl.h"
#include "sim/io/json/data_path.h"
#include "sim/job/rules/rules.h"

namespace foretoken::io {
namespace {

using job::AskedPool;
using job::Question;

// Returns the mean price over all GPUs, if every kind of node has a price.
std::optional<double> mean_price(const std::vector<AskedPool>& pools) {
  double sum = 0, gpus = 0;
  for (const AskedPool& pool : pools) {
    if (!pool.cluster.price_per_gpu_hour) return std::nullopt;
    sum += pool.gpus * *pool.cluster.price_per_gpu_hour;
    gpus += pool.gpus;
  }
  return sum / gpus;
}

// Checks one kind of node: its GPUs fill nodes, and its nodes have NICs to the other groups.
void check_pool(const Node& object, const AskedPool& pool) {
  if (const auto wrong = job::why_not_whole_nodes(pool.cluster, pool.gpus)) object.complain("gpus", *wrong);
  if (pool.cluster.links.nics == 0)
    object.complain("cluster", fmt::format("expected nodes with NICs beside other groups: those of {} have none",
                                           in_quotes(pool.cluster.name)));
}

void read_groups(const Node& node, Question& question) {
  node.allow_only({"name", "groups", "price_per_gpu_hour", "source", "notes"});
  const std::vector<Node> entries = node.array("groups");
  if (entries.size() < 2 && node.child("groups").value().is_array())
    node.complain("groups", "expected at least two kinds of nodes; one needs no groups");
  for (const Node& entry : entries) {
    const Node object = entry.as_object();
    object.allow_only({"cluster", "gpus"});
    AskedPool& pool = question.pools.emplace_back();
    pool.gpus = static_cast<int>(object.whole("gpus", {.low = 1, .high = 1 << 20}));
    const std::size_t wrong = node.findings().complaints.size();
    if (const auto document = open_reference(object.child("cluster"), kClusters))
      pool.cluster = read_cluster(document->root(node.findings()));
    if (node.findings().complaints.size() == wrong) check_pool(object, pool);
  }
  if (question.pools.empty()) return;
  question.cluster = question.pools.front().cluster;
  question.cluster.name = node.text_or("name", "unnamed cluster");
  question.cluster.source = node.find_text("source").value_or("");
  question.cluster.price_per_gpu_hour = node.find_number("price_per_gpu_hour", {.low = 0, .high = 1e6});
  if (!question.cluster.price_per_gpu_hour) question.cluster.price_per_gpu_hour = mean_price(question.pools);
}

// Returns true for a curve that comes from another GPU of the same architecture.
bool scaled_within_architecture(const Node& node, const cost::Evidence& evidence, const std::string& architecture) {
  if (evidence.provenance != cost::Provenance::kScaled || !find_data_file(kGpus, evidence.scaled_from)) return false;
  const auto lender = open_named(node.child("gpu"), kGpus, evidence.scaled_from);
  return lender && read_gpu(lender->root(node.findings())).architecture == architecture;
}

// Returns NCCL on this cluster, or nothing where its rates are unknown: without an NVLink switch, and on Volta's.
std::optional<cost::NcclSystem> nccl_of(const net::Cluster& cluster, std::vector<ReadFile>& files) {
  const auto architecture = cost::nccl_architecture_named(cluster.gpu.architecture);
  if (cluster.nvlink_fabric != "nvswitch" || !architecture || architecture == cost::NcclArchitecture::kVolta) return {};
  return cost::NcclSystem{*architecture, read_nccl_tuning("", files), /*stands_in=*/false};
}

// Replaces curves of other architectures or other collectives by NCCL's choice, on a system without measurements.
void stand_in_for_unseen(const Node& node, const std::string& architecture, cost::Profile& profile,
                         std::vector<std::string>& assumptions) {
  std::vector<std::string> unseen;
  const auto look_at = [&](const auto& curves, std::string_view place) {
    bool some = false, all_reduce = false;
    for (const auto& curve : curves) {
      if (!cost::unseen(curve.kind, curve.evidence.provenance)) continue;
      if (scaled_within_architecture(node, curve.evidence, architecture)) return false;
      some = true;
      all_reduce = all_reduce || curve.kind == CollectiveKind::kAllReduce;
    }
    if (some)
      unseen.push_back(fmt::format("{} {}", all_reduce ? "collectives" : "all-to-all, broadcast, reduce", place));
    return true;
  };
  if (!look_at(profile.nvlink.curves, "inside nodes") || !look_at(profile.network.curves, "across nodes")) return;
  if (unseen.empty()) return;
  profile.nccl->stands_in = true;
  std::string words = fmt::format("{}: no table of these GPUs shows them; NCCL {}'s choice over the cluster's links",
                                  fmt::join(unseen, "; "), profile.nccl->tuning.version);
  if (std::ranges::find(assumptions, words) == assumptions.end()) assumptions.push_back(std::move(words));
}

// Replaces the profile's curves by those measured on the cluster's own system, if the cluster names that system.
// Returns true if it did.
bool read_measured(const Node& node, const net::Cluster& cluster, cost::Profile& profile,
                   std::vector<std::string>& assumptions) {
  if (!node.has("measured_collectives")) return false;
  const auto document = open_reference(node.child("measured_collectives"), kMeasuredCollectives);
  if (!document) return false;
  const cost::MeasuredCollectives measured = read_measured_collectives(document->root(node.findings()));
  const std::string& architecture = cluster.gpu.architecture;
  if (measured.architecture != architecture) {  // the cluster's base has another GPU
    assumptions.push_back(fmt::format("collectives measured on {} are not used: its GPUs are {}, these {}",
                                      measured.name, measured.architecture, architecture));
    return false;
  }
  if (!cluster.peer_to_peer) {
    assumptions.push_back(fmt::format(
        "collectives measured on {} are not used: these GPUs do not reach each other's memory", measured.name));
    return false;
  }
  const auto is_own = [](const auto& curve) { return curve.evidence.provenance == cost::Provenance::kMeasured; };
  const bool own = std::ranges::any_of(profile.nvlink.curves, is_own) ||
                   std::ranges::any_of(profile.pcie.curves, is_own) ||
                   std::ranges::any_of(profile.network.curves, is_own);
  profile = cost::with_measured(std::move(profile), measured);
  assumptions.push_back(fmt::format("collectives measured on {}{}: {}", measured.name,
                                    own ? ", where the profile has none that were measured on the machine itself" : "",
                                    measured.source));
  return true;
}

void read_collective_costs(const Node& node, const net::Cluster& cluster, cost::Profile& profile,
                           std::vector<std::string>& assumptions) {
  profile.nccl = nccl_of(cluster, node.findings().files);
  if (read_measured(node, cluster, profile, assumptions) || !profile.nccl) return;
  stand_in_for_unseen(node, cluster.gpu.architecture, profile, assumptions);
}

// A profile holds for the board's power limit. A lower one slows the clock of busy kernels.
void lower_power_limit(const net::Cluster& cluster, cost::Profile& profile, job::Notes& notes) {
  const auto &limit = cluster.power_limit_watts, &board = cluster.gpu.tdp_watts;
  if (!limit || !board) return;
  const double factor = cost::power_limit_factor(*limit, *board);
  cost::slow_clock(profile, factor);
  notes.assumptions.push_back(
      fmt::format("power limit {:g} W of {:g}: products and attention take {:.4g} times as long (the clock follows the "
                  "cube root of power: docs/modeller/costs.md)",
                  *limit, *board, factor));
  if (*limit < *board / 2)
    notes.warnings.push_back(
        fmt::format("power limit {:g} W is below half of {:g} W: the clock's law does not hold there", *limit, *board));
}

void read_group_profiles(const Node& root, const Node& cluster, Question& question) {
  if (root.has("profile")) root.complain("profile", "expected none: every group of nodes takes the profile of its GPU");
  const std::vector<Node> entries = cluster.array("groups");
  for (std::size_t i = 0; i < question.pools.size(); ++i) {
    AskedPool& pool = question.pools[i];
    const Node object = entries[i].as_object();
    const auto profile = find_profile(pool.cluster.gpu.name, root.findings());
    const auto nodes = open_reference(object.child("cluster"), kClusters);
    if (!profile && !find_data_file(kProfiles, pool.cluster.gpu.name))
      object.complain("cluster", fmt::format("there is no profile of its GPU {}; expected a cluster with one of {}",
                                             in_quotes(pool.cluster.gpu.name), fmt::join(list_names(kProfiles), ", ")));
    if (!profile || !nodes) continue;
    pool.profile = *profile;
    read_collective_costs(nodes->root(root.findings()), pool.cluster, pool.profile, root.findings().notes.assumptions);
    lower_power_limit(pool.cluster, pool.profile, root.findings().notes);
  }
  question.profile = question.pools.front().profile;
}

}  // namespace

std::optional<Document> read_cluster_part(const Node& root, Question& question) {
  auto document = open_reference(root.child("cluster"), kClusters);
  if (!document) return document;
  const Node node = document->root(root.findings());
  if (node.has("groups"))
    read_groups(node, question);
  else
    question.cluster = read_cluster(node);
  return document;
}

// Opens a stated profile. An object without a name changes the profile of the cluster's GPU.
std::optional<Document> open_profile(const Node& stated, const std::string& gpu) {
  const nlohmann::json& value = stated.value();
  if (!value.is_object() || value.contains("base") || value.contains("name") || !find_data_file(kProfiles, gpu))
    return open_reference(stated, kProfiles);
  Document changed{.value = value, .source = stated.source(), .pointer = stated.pointer(), .name = ""};
  changed.source.notes_defaults = false;
  changed.value["base"] = gpu;
  return with_bases(std::move(changed), kProfiles, stated.findings());
}

void read_profile_part(const Node& root, const std::optional<Document>& cluster, Question& question) {
  if (cluster && !question.pools.empty()) {
    root.findings().notes.defaulted.push_back(root.child("profile").pointer());
    read_group_profiles(root, cluster->root(root.findings()), question);
    return;
  }
  std::optional<cost::Profile> profile;
  if (root.has("profile")) {
    if (const auto document = open_profile(root.child("profile"), question.cluster.gpu.name))
      profile = read_profile(document->root(root.findings()));
  } else if (cluster) {
    root.findings().notes.defaulted.push_back(root.child("profile").pointer());
    const std::string& gpu = question.cluster.gpu.name;
    profile = find_profile(gpu, root.findings());
    if (!profile && !find_data_file(kProfiles, gpu))
      root.complain("profile",
                    fmt::format("missing, and there is no profile of the cluster's GPU {}; name one: {}",
                                in_quotes(gpu), first_names(list_names(kProfiles), where_listed(kProfiles))));
  }
  if (!profile) return;
  question.profile = *std::move(profile);
  if (root.has("profile") && question.cluster.power_limit_watts) {
    question.cluster.power_limit_watts.reset();
    root.findings().notes.warnings.push_back(
        "node.power_limit_watts is ignored: the stated profile holds for its own power limit");
  }
  lower_power_limit(question.cluster, question.profile, root.findings().notes);
  if (cluster)
    read_collective_costs(cluster->root(root.findings()), question.cluster, question.profile,
                          root.findings().notes.assumptions);
}

void lend_wide_products(const net::Gpu& gpu, Precision precision, cost::Profile& profile) {
  const auto wide = gpu.peak_of(precision), narrow = gpu.peak_of(Precision::kFp16);
  if (wide && narrow) cost::lend_wide_products(profile, precision, *wide / *narrow);
}

void lend_wide_products(Question& question) {
  const Precision precision = question.choices.precision.value_or(Precision::kBf16);
  if (!is_wide(precision)) return;
  lend_wide_products(question.cluster.gpu, precision, question.profile);
  for (AskedPool& pool : question.pools) lend_wide_products(pool.cluster.gpu, precision, pool.profile);
}

}  // namespace foretoken::io
