// The rules that a pool of a service must keep: degrees that divide the model, and GPUs that make up whole instances.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/serve/service.h"

namespace foretoken::serve {

/// A rule that a pool breaks.
struct PoolFault {
  std::string_view key;  ///< "gpus", or a degree: "tensor"
  std::string text;      ///< what was expected and found
  [[nodiscard]] bool of_degree() const { return key != "gpus"; }
};

/// Returns every rule that the pool breaks. Its memory is not looked at.
[[nodiscard]] std::vector<PoolFault> faults_of(const Service& service, const Pool& pool);

}  // namespace foretoken::serve
