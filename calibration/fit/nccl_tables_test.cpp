// What NCCL's choice and two numbers an architecture say beside published tables: systems as if nobody had measured
// them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "calibration/fit/samples.h"
#include "sim/cost/nccl_choice.h"
#include "sim/io/read_nccl.h"

namespace foretoken::fit {
namespace {

using cost::NcclArchitecture;

// Datasheet rates of nodes with an NVLink switch; others are no case here.
struct Node {
  NcclArchitecture architecture;
  double nvlink, pcie;
  const char* usual;  ///< NCCL of the time, where a table names none
};

std::optional<Node> node_of(const std::string& gpu) {
  if (gpu.starts_with("a100-sxm")) return Node{NcclArchitecture::kAmpere, 300, 31, "2.18.6"};
  if (gpu.starts_with("h100") || gpu.starts_with("h200")) return Node{NcclArchitecture::kHopper, 450, 63, "2.21.5"};
  if (gpu.starts_with("b200") || gpu.starts_with("b300") || gpu.starts_with("gb"))
    return Node{NcclArchitecture::kBlackwell, 900, 63, "2.27.7"};
  return std::nullopt;
}

std::map<std::string, std::string> versions() {
  std::ifstream in(FORETOKEN_SOURCE_DIR "/calibration/measurements/collectives.json");
  std::map<std::string, std::string> found;
  const auto tables = nlohmann::json::parse(in);
  for (const auto& table : tables.at("tables"))
    if (table.contains("nccl_version") && table.at("nccl_version").is_string())
      found[table.at("id")] = table.at("nccl_version");
  return found;
}

// Median of |expected / measured - 1| at 16 MiB and above; nothing for tables that are no case.
std::optional<double> median_error(const CollectiveTable& table, const std::string& version) {
  const std::optional<Node> node = node_of(table.gpu);
  const bool rack = table.gpu.starts_with("gb") && table.nodes > 1;
  const bool whole_nodes = table.nodes == 1 || (table.ranks_per_node == 8 && table.nic_gb_per_s > 0);
  if (!node || rack || !whole_nodes || table.message || table.kind == CollectiveKind::kAllToAll ||
      table.kind == CollectiveKind::kReduce)
    return std::nullopt;
  const cost::NcclTuning tuning = io::read_nccl_tuning(version.empty() ? node->usual : version);
  const NodeLinks links{.nvlink_per_gpu = gigabytes_per_second(node->nvlink),
                        .pcie_per_gpu = gigabytes_per_second(node->pcie),
                        .nic = gigabytes_per_second(table.nodes == 1 ? 25 : table.nic_gb_per_s / 8),
                        .nics = 8,
                        .gpus = 8,
                        .oversubscription = 1,
                        .hop_latency = {}};
  const cost::NcclPlatform platform =
      cost::nccl_platform(node->architecture, links, table.nodes, table.ranks_per_node, tuning);
  std::vector<double> errors;
  for (const CollectiveTable::Row& row : table.rows) {
    if (row.bytes < (16 << 20)) continue;
    const cost::NcclChoice choice =
        cost::nccl_choice(Bytes(row.bytes), table.kind, table.ranks, table.nodes, platform, tuning);
    const Seconds expected =
        cost::nccl_expected_time(choice, Bytes(row.bytes), table.kind, table.ranks, table.nodes, node->architecture);
    errors.push_back(std::abs(expected.value() / row.seconds - 1));
  }
  if (errors.empty()) return std::nullopt;
  std::nth_element(errors.begin(), errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2), errors.end());
  return errors[errors.size() / 2];
}

TEST(NcclTables, MediansFromSixteenMebibytesOn) {
  const auto version_of = versions();
  struct Tally {
    int tables = 0, within = 0;
    std::vector<double> medians;
  };
  std::map<std::pair<NcclArchitecture, bool>, Tally> tallies;
  for (const CollectiveTable& table :
       read_collective_tables(FORETOKEN_SOURCE_DIR "/calibration/measurements/collectives.json")) {
    const auto version = version_of.find(table.id);
    const auto error = median_error(table, version == version_of.end() ? "" : version->second);
    if (!error) continue;
    const NcclArchitecture architecture = node_of(table.gpu)->architecture;
    Tally& tally = tallies[{architecture, table.nodes > 1}];
    const double bound = architecture == NcclArchitecture::kBlackwell ? 0.20 : 0.10;
    ++tally.tables;
    tally.within += *error <= bound ? 1 : 0;
    tally.medians.push_back(*error);
    if (*error > bound) std::printf("%s: %.1f %%\n", table.id.c_str(), 100 * *error);
  }
  for (auto& [key, tally] : tallies) {
    std::sort(tally.medians.begin(), tally.medians.end());
    const double middle = tally.medians[tally.medians.size() / 2];
    const double bound = key.first == NcclArchitecture::kBlackwell ? 0.20 : 0.10;
    std::printf("architecture %d, %s: %d of %d tables within %.0f %%, middle %.1f %%\n", static_cast<int>(key.first),
                key.second ? "across nodes" : "one node", tally.within, tally.tables, 100 * bound, 100 * middle);
    EXPECT_LE(middle, bound);
    EXPECT_GE(tally.within, tally.tables / 2);
  }
  EXPECT_EQ(tallies.size(), 6U);
}

}  // namespace
}  // namespace foretoken::fit
