// Finds files that the repository ships, for the tests of fits.
#pragma once

#include <filesystem>
#include <vector>

#include "calibration/fit/shipped/published.h"

namespace foretoken::fit {

inline const std::filesystem::path kSource = FORETOKEN_SOURCE_DIR;

/// Returns every published table of collectives.
inline const std::vector<CollectiveTable>& tables() {
  static const auto all = read_collective_tables(kSource / "calibration/measurements/collectives.json");
  return all;
}

}  // namespace foretoken::fit
