// Remarks on a job for the people who read its prediction.
#pragma once

#include <string>
#include <vector>

namespace foretoken::job {

/// Remarks that arise while a job is made. They change no number.
struct Notes {
  std::vector<std::string> assumptions;  ///< each with its source
  std::vector<std::string> warnings;
  std::vector<std::string> defaulted;  ///< JSON pointers of keys that took their default
};

}  // namespace foretoken::job
