// Table by table: the cluster that it names, NCCL as it says, flows, and the error.
#include "calibration/fit/check_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration/fit/check_collectives.h"
#include "sim/io/read_nccl.h"
#include "sim/lowering/nccl_flows.h"

namespace foretoken::fit {
namespace {

using cost::NcclArchitecture;
using lowering::Nccl;

constexpr double kSmallest = 16 << 20;

// Datasheet rates per direction, and the NCCL of the time where a table states none.
struct Kind {
  const char* gpus;
  NcclArchitecture architecture;
  double nvlink, pcie;
  const char* usual_nccl;
  double bound;
};

std::optional<Kind> kind_of(const CollectiveTable& table) {
  const auto is = [&](const char* prefix) { return table.gpu.starts_with(prefix); };
  if (is("a100-sxm")) return Kind{"A100", NcclArchitecture::kAmpere, 300, 31, "2.18.6", 0.10};
  if (is("h100") || is("h200")) return Kind{"H100, H200", NcclArchitecture::kHopper, 450, 63, "2.21.5", 0.10};
  if (is("b200") || is("b300") || (is("gb") && table.nodes == 1))
    return Kind{"B200, B300, GB", NcclArchitecture::kBlackwell, 900, 63, "2.27.7", 0.20};
  return std::nullopt;
}

// A machine of the table's kind: eight GPUs or a rack under one NVLink switch, NICs of 100, 200 or 400 Gb/s.
net::Cluster cluster_of(const CollectiveTable& table, const Kind& kind) {
  net::Cluster cluster;
  cluster.gpus_per_node = std::max(8, table.ranks_per_node);
  cluster.nvlink_fabric = "nvswitch";
  cluster.fabric_kind = "fat-tree";
  cluster.rail_optimized = true;
  const int nics = table.network.starts_with("32x") ? 32 : table.network.starts_with("16x") ? 16 : 8;
  cluster.links = {.nvlink_per_gpu = gigabytes_per_second(kind.nvlink),
                   .pcie_per_gpu = gigabytes_per_second(kind.pcie),
                   .nic = gigabytes_per_second(table.nodes == 1 ? 25 : table.nic_gb_per_s / nics),
                   .nics = nics,
                   .gpus = cluster.gpus_per_node,
                   .oversubscription = 1,
                   .hop_latency = {}};
  return cluster;
}

bool sets(const CollectiveTable& table, const char* setting) {
  return table.environment.find(setting) != std::string::npos;
}

Nccl nccl_of(const CollectiveTable& table, const Kind& kind) {
  Nccl nccl{.architecture = kind.architecture,
            .tuning = io::read_nccl_tuning(table.nccl_version.empty() ? kind.usual_nccl : table.nccl_version),
            .settings = {},
            .messages = {}};
  if (sets(table, "NCCL_ALGO=RING") || sets(table, "NCCL_ALGO=Ring"))
    nccl.settings.algorithm = cost::NcclAlgorithm::kRing;
  if (sets(table, "NCCL_PROTO=LL128")) nccl.settings.protocol = cost::NcclProtocol::kLl128;
  for (const int channels : {1, 4})
    if (sets(table, fmt::format("NCCL_NCHANNELS_PER_NET_PEER={}", channels).c_str())) nccl.messages.channels = channels;
  return nccl;
}

double median_of(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

FlowCheck checked(const CollectiveTable& table, const Kind& kind) {
  const net::Cluster cluster = cluster_of(table, kind);
  const Nccl nccl = nccl_of(table, kind);
  FlowCheck check{.table = &table, .gpus = kind.gpus, .errors = {}, .bound = kind.bound};
  for (const CollectiveTable::Row& row : table.rows) {
    if (row.bytes < kSmallest) continue;
    const Seconds time =
        table.message
            ? lowering::nccl_shift_time(Bytes(row.bytes), table.ranks_per_node, table.nodes, cluster, nccl)
            : lowering::nccl_flow_time(table.kind, Bytes(row.bytes), table.ranks_per_node, table.nodes, cluster, nccl);
    check.errors.push_back(time.value() / row.seconds - 1);
  }
  if (!check.errors.empty()) check.median = median_of(check.errors);
  return check;
}

}  // namespace

std::vector<FlowCheck> check_flows(const std::vector<CollectiveTable>& tables) {
  std::vector<FlowCheck> checks;
  for (const CollectiveTable& table : tables) {
    const std::optional<Kind> kind = kind_of(table);
    if (!kind) continue;
    FlowCheck check = checked(table, *kind);
    if (!check.errors.empty()) checks.push_back(std::move(check));
  }
  return checks;
}

std::string to_markdown(const std::vector<FlowCheck>& checks) {
  struct Tally {
    int tables = 0, within = 0;
    double bound = 0;
    std::vector<double> medians, rows;
  };
  std::map<std::tuple<std::string, bool, std::string_view>, Tally> tallies;
  std::string each =
      "| table | GPU | collective | ranks | nodes | rows | median | rows' errors, % "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const FlowCheck& check : checks) {
    const CollectiveTable& t = *check.table;
    for (const std::string_view collective : {std::string_view("all"), name_of_collective(t)}) {
      Tally& tally = tallies[{check.gpus, t.nodes > 1, collective}];
      ++tally.tables;
      tally.within += check.within() ? 1 : 0;
      tally.bound = check.bound;
      tally.medians.push_back(check.median);
      tally.rows.insert(tally.rows.end(), check.errors.begin(), check.errors.end());
    }
    std::string errors;
    for (const double error : check.errors) errors += fmt::format("{}{:+.0f}", errors.empty() ? "" : " ", 100 * error);
    each += fmt::format("| {} | {} | {} | {} | {} | {} | {:.1f} % | {} |\n", t.id, t.gpu, name_of_collective(t),
                        t.ranks, t.nodes, check.errors.size(), 100 * check.median, errors);
  }
  std::string head =
      "| GPU | place | collective | tables | within | bound | middle table's median | median of all rows |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [key, tally] : tallies) {
    const auto& [gpus, across, collective] = key;
    head += fmt::format("| {} | {} | {} | {} | {} | {:.0f} % | {:.1f} % | {:.1f} % |\n", gpus,
                        across ? "across nodes" : "one node", collective, tally.tables, tally.within, 100 * tally.bound,
                        100 * median_of(tally.medians), 100 * median_of(tally.rows));
  }
  return head + "\n" + each;
}

}  // namespace foretoken::fit
