// foretoken simulate --share-cluster: several scenarios as neighbours on one cluster.
#pragma once

#include <string>
#include <vector>

namespace foretoken::tools {

struct ShareClusterQuestion {
  std::vector<std::string> scenarios, sets;
  std::vector<std::string> nodes;  ///< "0-3,8" of each scenario; empty: one after another
  bool json = false, colour = false;
};

/// Prints what each job loses to the others; returns the exit status.
int share_cluster(const ShareClusterQuestion& question);

}  // namespace foretoken::tools
