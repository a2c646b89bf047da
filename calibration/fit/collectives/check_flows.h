// Compares collectives that are simulated as flows of NCCL's choice with published tables, and fits the flows' numbers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "sim/cost/collectives/nccl_wire.h"

namespace foretoken::fit {

/// The check of one table that has rows of 16 MiB or more.
struct FlowCheck {
  const CollectiveTable* table;
  std::string gpus;            ///< "A100", "H100, H200", "B200, B300, GB"
  std::vector<double> errors;  ///< predicted / measured - 1, by row
  double median = 0;           ///< median of |errors|
  double bound = 0;            ///< bound on the median: 10 %, for Blackwell 20 %
  [[nodiscard]] bool within() const { return median <= bound; }
};

/// Checks every table of GPUs behind an NVLink switch, from Ampere on. Of racks with one NVLink domain, only tables
/// inside one rack count. The table states line rates, NCCL's version and its settings. Three numbers per architecture
/// are fitted: cost::NcclFitted (docs/modeller/collectives.md). Throws ConfigError where a table states an unknown
/// setting.
[[nodiscard]] std::vector<FlowCheck> check_flows(const std::vector<CollectiveTable>& tables);
/// Checks every table by numbers that are fitted on the other tables only.
[[nodiscard]] std::vector<FlowCheck> check_flows_left_out(const std::vector<CollectiveTable>& tables);

/// Fits the numbers of an architecture on a grid with steps of 0.1 and of 1 ns. The best numbers have the least sum of
/// the tables' medians of |error|.
[[nodiscard]] cost::NcclFitted fit_flows(const std::vector<CollectiveTable>& tables,
                                         cost::NcclArchitecture architecture);

/// Writes the checks as Markdown: a summary by GPU and collective, then table by table.
[[nodiscard]] std::string to_markdown(const std::vector<FlowCheck>& checks);

}  // namespace foretoken::fit
