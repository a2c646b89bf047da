// Simulates the collectives of each table as flows, on the table's kind of cluster and with its NCCL settings, and
// compares the times.
#include "calibration/fit/collectives/check_flows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "calibration/fit/collectives/check_collectives.h"
#include "calibration/fit/collectives/nccl_environment.h"
#include "sim/io/hardware/read_nccl.h"
#include "sim/ranks/nccl_flows.h"

namespace foretoken::fit {
namespace {

using cost::NcclArchitecture;
using cost::NcclFitted;
using ranks::Nccl;

constexpr double kSmallestJudged = 16 << 20;
// The grid of fitted numbers. The copy of a rank's own share counts from 0 to 0.8 times. The time to fill a pipeline is
// 0 to 16 ns per square root of a byte.
constexpr double kOwnCopyStep = 0.1, kFillStep = 1e-9;
constexpr int kOwnCopies = 8, kFills = 16;

// Datasheet rates per direction, and the NCCL version to assume where the table states none.
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

// Returns a machine of the table's kind: eight GPUs or a rack under one NVLink switch, NICs of 100, 200 or 400 Gb/s.
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

Nccl nccl_of(const CollectiveTable& table, const Kind& kind) {
  const NcclEnvironment environment = read_nccl_environment(table.environment, table.id);
  return {.architecture = kind.architecture,
          .tuning = io::read_nccl_tuning(table.nccl_version.empty() ? kind.usual_nccl : table.nccl_version),
          .settings = environment.settings,
          .message_channels = environment.message_channels};
}

double median_of(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A table's rows with their expected times. Each fitted number adds a part in proportion to itself.
struct Expected {
  const CollectiveTable* table;
  Kind kind;
  struct Row {
    double measured, bare;                       ///< seconds; `bare` is the time when all fitted numbers are 0
    double own_copy, fill_inside, fill_between;  ///< seconds that one unit of each number adds
  };
  std::vector<Row> rows;
};

Expected expected(const CollectiveTable& table, const Kind& kind) {
  const net::Cluster cluster = cluster_of(table, kind);
  Nccl nccl = nccl_of(table, kind);
  Expected result{.table = &table, .kind = kind, .rows = {}};
  for (const CollectiveTable::Row& row : table.rows) {
    if (row.bytes < kSmallestJudged) continue;
    const auto seconds = [&](const NcclFitted& fitted) {
      nccl.fitted = fitted;
      return (table.message ? ranks::nccl_shift_time(Bytes(row.bytes), table.ranks_per_node, table.nodes, cluster, nccl)
                            : ranks::nccl_flow_time(table.kind, Bytes(row.bytes), table.ranks_per_node, table.nodes,
                                                    cluster, nccl))
          .value();
    };
    const double bare = seconds({});
    result.rows.push_back({row.seconds, bare, seconds({.own_copy = 1}) - bare,
                           (seconds({.fill_inside = kFillStep}) - bare) / kFillStep,
                           (seconds({.fill_between = kFillStep}) - bare) / kFillStep});
  }
  return result;
}

std::vector<Expected> all_expected(const std::vector<CollectiveTable>& tables) {
  std::vector<Expected> all;
  for (const CollectiveTable& table : tables) {
    const std::optional<Kind> kind = kind_of(table);
    if (!kind) continue;
    Expected one = expected(table, *kind);
    if (!one.rows.empty()) all.push_back(std::move(one));
  }
  return all;
}

FlowCheck checked(const Expected& expected, const NcclFitted& fitted) {
  FlowCheck check{.table = expected.table, .gpus = expected.kind.gpus, .errors = {}, .bound = expected.kind.bound};
  for (const Expected::Row& row : expected.rows) {
    const double seconds = row.bare + fitted.own_copy * row.own_copy + fitted.fill_inside * row.fill_inside +
                           fitted.fill_between * row.fill_between;
    check.errors.push_back(seconds / row.measured - 1);
  }
  check.median = median_of(check.errors);
  return check;
}

// Sums the medians of |error| over the tables of one architecture, inside nodes or across, without `left_out`.
double loss(const std::vector<Expected>& all, NcclArchitecture architecture, bool across,
            const CollectiveTable* left_out, const NcclFitted& fitted) {
  double sum = 0;
  for (const Expected& one : all)
    if (one.kind.architecture == architecture && (one.table->nodes > 1) == across && one.table != left_out)
      sum += checked(one, fitted).median;
  return sum;
}

// Finds the best numbers on a grid: first the numbers that count inside nodes, then the others.
NcclFitted fit(const std::vector<Expected>& all, NcclArchitecture architecture, const CollectiveTable* left_out) {
  NcclFitted best, tried;
  double least = std::numeric_limits<double>::infinity();
  const auto try_it = [&](bool across) {
    const double now = loss(all, architecture, across, left_out, tried);
    if (now < least) {
      least = now;
      best = tried;
    }
  };
  for (int own = 0; own <= kOwnCopies; ++own)
    for (int fill = 0; fill <= kFills; ++fill) {
      tried = {.own_copy = own * kOwnCopyStep, .fill_inside = fill * kFillStep};
      try_it(false);
    }
  tried = best;
  least = std::numeric_limits<double>::infinity();
  for (int fill = 0; fill <= kFills; ++fill) {
    tried.fill_between = fill * kFillStep;
    try_it(true);
  }
  return best;
}

}  // namespace

std::vector<FlowCheck> check_flows(const std::vector<CollectiveTable>& tables) {
  std::vector<FlowCheck> checks;
  for (const Expected& one : all_expected(tables))
    checks.push_back(checked(one, cost::nccl_fitted(one.kind.architecture)));
  return checks;
}

std::vector<FlowCheck> check_flows_left_out(const std::vector<CollectiveTable>& tables) {
  const std::vector<Expected> all = all_expected(tables);
  std::vector<FlowCheck> checks;
  for (const Expected& one : all) checks.push_back(checked(one, fit(all, one.kind.architecture, one.table)));
  return checks;
}

cost::NcclFitted fit_flows(const std::vector<CollectiveTable>& tables, NcclArchitecture architecture) {
  return fit(all_expected(tables), architecture, nullptr);
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
