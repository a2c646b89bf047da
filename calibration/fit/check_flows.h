// NCCL's choice as flows over a cluster's links beside published tables, as if nobody had measured the systems.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/samples.h"

namespace foretoken::fit {

/// One table with 16 MiB or more in it.
struct FlowCheck {
  const CollectiveTable* table;
  std::string gpus;            ///< "A100", "H100 and H200", "B200 and its kin"
  std::vector<double> errors;  ///< predicted / measured - 1, by row
  double median = 0;           ///< of |errors|
  double bound = 0;            ///< of the median: 10 %, of Blackwell 20 %
  [[nodiscard]] bool within() const { return median <= bound; }
};

/// Every table of GPUs behind an NVLink switch, from Ampere on; NVLink domains of more than eight GPUs only alone,
/// what crosses between such racks is no case. Nothing is fitted to a table: line rates and NCCL's version and settings
/// come from what it states (docs/collective-flows.md).
[[nodiscard]] std::vector<FlowCheck> check_flows(const std::vector<CollectiveTable>& tables);

/// The checks as Markdown: a summary by GPU and collective, then table by table.
[[nodiscard]] std::string to_markdown(const std::vector<FlowCheck>& checks);

}  // namespace foretoken::fit
