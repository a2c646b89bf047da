// Other values of a scenario's keys, and what they are worth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/report/metrics.h"
#include "sim/study/otherwise/grid.h"
#include "sim/study/otherwise/sensitivity.h"

namespace foretoken::study {

/// One combination of values.
struct WhatIfRow {
  std::vector<std::size_t> choice;  ///< by key, which of its values
  std::optional<report::Metrics> metrics;
  std::vector<Complaint> impossible;  ///< why there are no metrics
};

struct WhatIf {
  report::Metrics base;
  std::vector<Varied> keys;
  std::vector<WhatIfRow> rows;
  std::optional<std::size_t> best;  ///< the fastest row that fits; the fastest when none fits; none: all impossible
  std::vector<std::optional<Knee>> knees;  ///< by key, the others as in the best row
  double part = 0;                         ///< of the tornado
  std::vector<Sensitivity> tornado;        ///< empty: not asked for
};

/// "batch.micro = 2, recompute = full".
[[nodiscard]] std::string choice_text(const WhatIf& whatif, const WhatIfRow& row);

/// Finds the best row and the knees.
void conclude(WhatIf& whatif);

/// The reasons of the rows, ten at most and the number of the others, or once those that all rows share, in the keys as
/// they were typed; `scenario` is what its file is called. Precondition: there are rows, and none has metrics.
[[nodiscard]] std::vector<Complaint> why_all_are_impossible(const WhatIf& whatif, const std::string& scenario);

}  // namespace foretoken::study
