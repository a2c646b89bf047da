// Turns nccl-tests tables into samples for the collective fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/shipped/published.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

inline constexpr CollectiveKind kEveryKind[] = {CollectiveKind::kAllReduce,     CollectiveKind::kAllGather,
                                                CollectiveKind::kReduceScatter, CollectiveKind::kAllToAll,
                                                CollectiveKind::kBroadcast,     CollectiveKind::kReduce};

/// Tables that one law is fitted on.
struct TablePool {
  std::vector<CollectiveTable> tables;
  std::string source;
  double reference_gb_per_s = 0;  ///< link rate of the GPUs in the tables
  bool one_machine = false;       ///< all rows count; otherwise slow harnesses enter with large messages only
};

struct CollectiveRow {
  CollectiveShape shape;
  NodeLinks links;
  double seconds = 0;
  std::string key;  ///< decides whether it is held out
};

/// Returns a node of the table's cluster: eight GPUs with links of `link_gb_per_s`, or of what the table states, and
/// eight NICs of an eighth of its line rate.
[[nodiscard]] NodeLinks links_of(const CollectiveTable& table, double link_gb_per_s);

/// Returns true when the table has rows of 64 KiB or less, which show the latency.
[[nodiscard]] bool starts_small(const CollectiveTable& table);
/// Returns true when the table has small messages that show NCCL's latency, and not the overhead of a slow harness.
[[nodiscard]] bool shows_latency(const CollectiveTable& table, const TablePool& pool);
/// Returns the shortest time of the tables that start small, or of all tables when none does.
[[nodiscard]] double lowest_floor(const std::vector<CollectiveTable>& tables);
/// Returns the rows of 8 KiB and more that enter a fit.
[[nodiscard]] std::vector<CollectiveRow> rows_of(const std::vector<CollectiveTable>& tables, const TablePool& pool);
/// The rows that a fit may use, and the rows held out of it.
struct SplitRows {
  std::vector<CollectiveRow> fitted, left_out;
};
[[nodiscard]] SplitRows split(const std::vector<CollectiveRow>& rows);

/// Returns tables of a kind, without messages, with `ranks` ranks (0: any number). All-gather and reduce-scatter are
/// one ring in opposite directions, and share their tables.
[[nodiscard]] std::vector<CollectiveTable> tables_of(const TablePool& pool, CollectiveKind kind, int ranks = 0);

[[nodiscard]] std::vector<Outcome> outcomes(const std::vector<CollectiveRow>& rows, const cost::Profile& profile);
/// Returns the errors of the profile's law at each size of the rows, which have one shape of group.
[[nodiscard]] cost::SizeCorrection correction_of(const cost::Profile& smooth, const std::vector<CollectiveRow>& rows,
                                                 const TablePool& pool);

using ProfileOf = std::function<cost::Profile(const Arguments&)>;
/// Returns the arguments whose profile has the least error on the rows. One row in five is left out; in small tables
/// none is.
[[nodiscard]] Arguments fit_rows(const std::vector<CollectiveRow>& rows, const ProfileOf& profile_of,
                                 const Arguments& start);

}  // namespace foretoken::fit
