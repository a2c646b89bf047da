// The numbers of a runtime that may be fitted, by the names that runtime files give them.
#pragma once

#include <string_view>

#include "sim/job/runtime.h"

namespace foretoken::fit {

struct RuntimeNumber {
  std::string_view name;                             ///< "gemm_factor"
  void (*set)(job::Runtime& runtime, double value);  ///< value in the unit of the file
};

/// Returns the number called `name`, or nullptr if there is none.
[[nodiscard]] const RuntimeNumber* find_runtime_number(std::string_view name);

}  // namespace foretoken::fit
