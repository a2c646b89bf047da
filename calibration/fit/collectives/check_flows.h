// Compares NCCL's choice as flows over a cluster's links with published tables, and fits its numbers on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "sim/cost/collectives/nccl_wire.h"

namespace foretoken::fit {

/// One table with 16 MiB or more in it.
struct FlowCheck {
  const CollectiveTable* table;
  std::string gpus;            ///< "A100", "H100, H200", "B200, B300, GB"
  std::vector<double> errors;  ///< predicted / measured - 1, by row
  double median = 0;           ///< median of |errors|
  double bound = 0;            ///< bound on the median: 10 %, for Blackwell 20 %
  [[nodiscard]] bool within() const { return median <= bound; }
};

/// Checks every table of GPUs behind an NVLink switch, from Ampere on. NVLink domains of more than eight GPUs count
/// only by themselves, not with traffic between such racks. Line rates and NCCL's version and settings come from the
/// table's statements. cost::NcclFitted is fitted, three numbers an architecture (docs/modeller/collectives.md). Throws
/// ConfigError where a table states an unknown setting.
[[nodiscard]] std::vector<FlowCheck> check_flows(const std::vector<CollectiveTable>& tables);
/// Checks every table by numbers that are fitted on the other tables only.
[[nodiscard]] std::vector<FlowCheck> check_flows_left_out(const std::vector<CollectiveTable>& tables);

/// Fits the numbers of an architecture: the least sum of its tables' medians of |error|, on a grid of 0.1 and of 1 ns.
[[nodiscard]] cost::NcclFitted fit_flows(const std::vector<CollectiveTable>& tables,
                                         cost::NcclArchitecture architecture);

/// Writes the checks as Markdown: a summary by GPU and collective, then table by table.
[[nodiscard]] std::string to_markdown(const std::vector<FlowCheck>& checks);

}  // namespace foretoken::fit
