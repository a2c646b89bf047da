// nccl-tests tables as samples for the collective fits.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/numerics/minimise.h"
#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/recipes/published.h"
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
  bool one_machine = false;       ///< rows count as they stand; else slow harnesses enter with large messages only
};

struct CollectiveRow {
  CollectiveShape shape;
  NodeLinks links;
  double seconds = 0;
  std::string key;  ///< decides whether it is held out
};

/// A node of the table's cluster: eight GPUs with links of `link_gb_per_s`, eight NICs of an eighth of its line rate.
[[nodiscard]] NodeLinks links_of(const CollectiveTable& table, double link_gb_per_s);

/// Whether it has rows of 64 KiB or less, which show the latency.
[[nodiscard]] bool starts_small(const CollectiveTable& table);
/// Whether its small messages show NCCL's latency, rather than nothing or what a slow harness adds.
[[nodiscard]] bool shows_latency(const CollectiveTable& table, const TablePool& pool);
/// Shortest time of the tables that start small; of all tables when none does.
[[nodiscard]] double lowest_floor(const std::vector<CollectiveTable>& tables);
/// The rows of 8 KiB and more that enter a fit.
[[nodiscard]] std::vector<CollectiveRow> rows_of(const std::vector<CollectiveTable>& tables, const TablePool& pool);
/// The rows that a fit may see, and those held out of it.
struct SplitRows {
  std::vector<CollectiveRow> fitted, apart;
};
[[nodiscard]] SplitRows split(const std::vector<CollectiveRow>& rows);

/// Tables of a kind (all-gather and reduce-scatter, one ring in opposite directions, share theirs); of any number of
/// ranks when `ranks` is 0. No messages.
[[nodiscard]] std::vector<CollectiveTable> tables_of(const TablePool& pool, CollectiveKind kind, int ranks = 0);

[[nodiscard]] std::vector<Outcome> outcomes(const std::vector<CollectiveRow>& rows, const cost::Profile& profile);
/// What the profile's law misses in the rows, which are of one shape of group: as the pool's tables ask for.
[[nodiscard]] cost::SizeCorrection correction_of(const cost::Profile& smooth, const std::vector<CollectiveRow>& rows,
                                                 const TablePool& pool);

using ProfileOf = std::function<cost::Profile(const Arguments&)>;
/// Arguments whose profile errs least on the rows; one row in five is left out, in small tables none.
[[nodiscard]] Arguments fit_rows(const std::vector<CollectiveRow>& rows, const ProfileOf& profile_of,
                                 const Arguments& start);

}  // namespace foretoken::fit
