// The fitted costs of one kind of GPU (calibration/profiles/NAME.json).
#pragma once

#include <string>
#include <vector>

namespace foretoken::cost {

/// Hardware constants, each with its source and its residuals.
struct Profile {
  std::string name;                ///< "a100-sxm4-80gb"
  std::string gpu;                 ///< the GPU it describes
  std::vector<std::string> notes;  ///< one line per part: source, samples, residuals
};

}  // namespace foretoken::cost
