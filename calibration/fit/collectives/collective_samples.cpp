// Chooses the rows of tables that enter a fit.
//
// Tables come from many machines. Some harnesses (one process for eight GPUs, Python) add tens of microseconds to every
// call. In a pool of machines, such a table enters with its large messages only. So does a table without small
// messages, whose floor nobody knows. The latency then comes from other tables.
//
// A table counts as slow when its floor is 1.6 times the lowest of its peers. Peers are the tables of the same kind and
// group size, and all-reduces of that size, which take the most steps of all kinds.
#include "calibration/fit/collectives/collective_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/fit/laws/fit_size_correction.h"
#include "sim/cost/costs.h"

namespace foretoken::fit {
namespace {

constexpr double kSmallest = 8 << 10;         // smaller messages measure only the floor
constexpr double kBeyondOverhead = 16 << 20;  // sizes that a slow harness still measures rightly
constexpr double kSlowHarness = 1.6;
constexpr std::size_t kLeastFitted = 8;  // smaller tables need all their rows

double floor_of(const CollectiveTable& table) {
  double least = 1;
  for (const auto& row : table.rows) least = std::min(least, row.seconds);
  return least;
}

bool akin(CollectiveKind a, CollectiveKind b) {
  const auto half = [](CollectiveKind kind) {
    return kind == CollectiveKind::kAllGather || kind == CollectiveKind::kReduceScatter;
  };
  return a == b || (half(a) && half(b));
}

bool is_peer(const CollectiveTable& table, const CollectiveTable& other) {
  return other.ranks == table.ranks && other.nodes == table.nodes && !other.message &&
         (akin(other.kind, table.kind) || other.kind == CollectiveKind::kAllReduce);
}

/// Returns true when the table's small messages say more about its harness than about NCCL.
bool hides_latency(const CollectiveTable& table, const TablePool& pool) {
  if (!starts_small(table)) return true;
  return std::any_of(pool.tables.begin(), pool.tables.end(), [&](const CollectiveTable& other) {
    return is_peer(table, other) && starts_small(other) && floor_of(table) > kSlowHarness * floor_of(other);
  });
}

}  // namespace

bool shows_latency(const CollectiveTable& table, const TablePool& pool) {
  return pool.one_machine ? starts_small(table) : !hides_latency(table, pool);
}

NodeLinks links_of(const CollectiveTable& table, double link_gb_per_s) {
  if (table.link_gb_per_s > 0) link_gb_per_s = table.link_gb_per_s;
  return {.nvlink_per_gpu = gigabytes_per_second(link_gb_per_s),
          .pcie_per_gpu = gigabytes_per_second(link_gb_per_s),
          .nic = gigabytes_per_second(table.nic_gb_per_s / 8),
          .nics = 8,
          .gpus = 8,
          .oversubscription = 1,
          .hop_latency = Seconds(0)};
}

bool starts_small(const CollectiveTable& table) { return !table.rows.empty() && table.rows.front().bytes <= 64 << 10; }

double lowest_floor(const std::vector<CollectiveTable>& tables) {
  double small = 1, any = 1;
  for (const CollectiveTable& table : tables) {
    any = std::min(any, floor_of(table));
    if (starts_small(table)) small = std::min(small, floor_of(table));
  }
  return small < 1 ? small : any;
}

std::vector<CollectiveRow> rows_of(const std::vector<CollectiveTable>& tables, const TablePool& pool) {
  std::vector<CollectiveRow> rows;
  for (const CollectiveTable& table : tables) {
    const bool slow = !pool.one_machine && hides_latency(table, pool);
    for (const auto& row : table.rows) {
      if (row.bytes < (slow ? kBeyondOverhead : kSmallest)) continue;
      const GroupShape group{.ranks = table.ranks, .nodes = table.nodes, .ranks_per_node = table.ranks_per_node};
      rows.push_back({{table.kind, Bytes(row.bytes), group},
                      links_of(table, pool.reference_gb_per_s),
                      row.seconds,
                      fmt::format("{} {}", table.id, row.bytes)});
    }
  }
  return rows;
}

SplitRows split(const std::vector<CollectiveRow>& rows) {
  SplitRows parts;
  for (const CollectiveRow& row : rows) (held_out(row.key) ? parts.left_out : parts.fitted).push_back(row);
  if (parts.fitted.size() < kLeastFitted) parts = {rows, {}};
  return parts;
}

std::vector<CollectiveTable> tables_of(const TablePool& pool, CollectiveKind kind, int ranks) {
  std::vector<CollectiveTable> found;
  for (const CollectiveTable& table : pool.tables)
    if (!table.message && akin(table.kind, kind) && (ranks == 0 || table.ranks == ranks)) found.push_back(table);
  return found;
}

std::vector<Outcome> outcomes(const std::vector<CollectiveRow>& rows, const cost::Profile& profile) {
  std::vector<Outcome> all;
  for (const CollectiveRow& row : rows)
    all.push_back({cost::collective_time(row.shape, row.links, profile).value(), row.seconds});
  return all;
}

cost::SizeCorrection correction_of(const cost::Profile& smooth, const std::vector<CollectiveRow>& rows,
                                   const TablePool& pool) {
  std::vector<SizePull> pulls;
  for (const CollectiveRow& row : rows) {
    const Seconds law = cost::collective_time(row.shape, row.links, smooth);
    pulls.push_back({row.shape.payload.value(), std::log(row.seconds / law.value())});
  }
  if (pool.one_machine) return follow_sizes(pulls);
  return fit_size_trend(pulls, [&](double bytes) {
    CollectiveShape shape = rows.front().shape;
    shape.payload = Bytes(bytes);
    return cost::collective_time(shape, rows.front().links, smooth).value();
  });
}

Arguments fit_rows(const std::vector<CollectiveRow>& rows, const ProfileOf& profile_of, const Arguments& start) {
  const std::vector<CollectiveRow> fitted = split(rows).fitted;
  const auto objective = [&](const Arguments& at) { return mean_log_error(outcomes(fitted, profile_of(at))); };
  return minimise(objective, start, 0.3, 3000);
}

}  // namespace foretoken::fit
