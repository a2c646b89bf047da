// Differences from the datasheet: slow GPUs, slow links, and ranks in other places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/table.h"

namespace foretoken::job {

/// A GPU whose kernels take `slowdown` times as long (> 0).
struct SlowGpu {
  Gpu gpu = {};
  double slowdown = 1;
};

/// A NIC with `rate_factor` of its rate in both directions. 0 means that it has failed.
struct SlowNic {
  NodeId node = {};
  int nic = 0;  ///< position in the node
  double rate_factor = 1;
};

/// The link between two devices, with `rate_factor` of its rate in both directions. 0 means that it has failed. Devices
/// have their names of net::name_of.
struct SlowLink {
  std::string from, to;
  double rate_factor = 1;
};

/// A group of expert ranks whose router is more or less balanced than the job's. The groups of a stage are numbered in
/// the order of their ranks: its `expert_tensor x expert` ranks exchange tokens.
struct ImbalancedExperts {
  Stage stage = {};
  int group = 0;
  double imbalance = 1;  ///< tokens of its rank with the most over their mean
};

struct Imperfections {
  std::vector<SlowGpu> slow_gpus;
  std::vector<SlowNic> slow_nics;
  std::vector<SlowLink> slow_links;
  std::vector<ImbalancedExperts> imbalanced_experts;
  Table<Rank, Gpu> placement;  ///< empty: rank r on GPU r
  std::optional<int>
      cluster_gpus;  ///< GPUs of the cluster's part that the job shares with others; none: the part is its own
  [[nodiscard]] bool any() const { return !slow_gpus.empty() || !imbalanced_experts.empty() || moves_flows(); }
  /// Returns true when the result depends on the links that the job's bytes take.
  [[nodiscard]] bool moves_flows() const { return uneven_links() || !placement.empty(); }
  [[nodiscard]] bool uneven_links() const { return !slow_nics.empty() || !slow_links.empty(); }
  [[nodiscard]] Gpu gpu_of(Rank rank) const { return placement.empty() ? Gpu{rank.value} : placement[rank]; }
};

}  // namespace foretoken::job
