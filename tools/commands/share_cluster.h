// The option `foretoken simulate --share-cluster`: simulates several scenarios as neighbours on one cluster.
#pragma once

#include <string>
#include <vector>

#include "sim/report/text/layout.h"

namespace foretoken::tools {

struct ShareClusterQuestion {
  std::vector<std::string> scenarios, sets;
  std::vector<std::string> nodes;  ///< "0-3,8" for each scenario; empty: one after another
  bool json = false;
  report::Paint paint{false};
};

/// Prints the time that each job loses to the others, and returns the exit status.
int share_cluster(const ShareClusterQuestion& question);

}  // namespace foretoken::tools
