// Measures how well the shipped curves meet the measured tables, table by table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/fit/collectives/measured_systems.h"

namespace foretoken::fit {

/// |predicted / measured - 1| over the rows of 64 KiB and more.
struct TableErrors {
  std::size_t rows = 0;
  double median = 0, p90 = 0, worst = 0;
  /// Returns true within the bounds of curves: 5 % at the median, 15 % for nine rows of ten, 40 % for any row.
  [[nodiscard]] bool within_bounds() const { return median <= 0.05 && p90 <= 0.15 && worst <= 0.40; }
};

/// Compares predicted with measured times for one table. `profile` has the laws to check.
[[nodiscard]] TableErrors errors_on(const CollectiveTable& table, const cost::Profile& profile);

struct TableCheck {
  const CollectiveTable* table;
  TableErrors system;    ///< with the curves of the table's own system
  TableErrors general;   ///< with its architecture's laws, fitted on all tables
  TableErrors left_out;  ///< its system's curves over its architecture's laws, all fitted without this table
};

/// Returns "all-reduce", ..., "send/recv".
[[nodiscard]] std::string_view name_of_collective(const CollectiveTable& table);

/// Fits everything again for each table, which takes minutes.
[[nodiscard]] std::vector<TableCheck> check_tables(const std::vector<CollectiveTable>& tables);

/// Writes the checks as a Markdown table with a summary.
[[nodiscard]] std::string to_markdown(const std::vector<TableCheck>& checks);

}  // namespace foretoken::fit
