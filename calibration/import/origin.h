// The origin of measurements.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace foretoken::measured {

/// The origin of samples: the facts that a reader needs to trust, or repeat, a measurement.
struct Provenance {
  std::string source;                                      ///< file, or program that measured
  std::string gpu;                                         ///< name as the driver or the tool states it; may be empty
  std::vector<std::pair<std::string, std::string>> facts;  ///< driver, versions, clocks, ...: key and text, in order
  friend bool operator==(const Provenance&, const Provenance&) = default;
};

}  // namespace foretoken::measured
