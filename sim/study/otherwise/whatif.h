// Predicts a scenario with other values of some keys, and with better and worse hardware.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/base/error.h"
#include "sim/report/metrics.h"
#include "sim/study/otherwise/grid.h"
#include "sim/study/otherwise/sensitivity.h"
#include "sim/study/scenario_source.h"
#include "sim/trust/evidence.h"

namespace foretoken::study {

/// One combination of values.
struct WhatIfRow {
  std::vector<std::size_t> choice;  ///< by key, the index of its value
  std::optional<report::Metrics> metrics;
  std::vector<Complaint> impossible;  ///< the reasons when there are no metrics
};

/// The question: a scenario, the keys to vary, and the change of hardware to try.
struct WhatIfQuestion {
  ScenarioSource scenario;
  std::vector<std::string> sets;  ///< overrides, in order
  std::vector<Varied> keys;
  double part = 0.1;     ///< of the tornado
  bool tornado = false;  ///< each hardware property smaller and larger by `part`
  int threads = 1;
};

struct WhatIf {
  report::Metrics base;
  std::vector<Varied> keys;
  std::vector<WhatIfRow> rows;
  std::optional<std::size_t> best;  ///< the fastest row that fits, else the fastest; nothing when all are impossible
  std::vector<std::optional<Knee>> knees;  ///< by key, with the other keys as in the best row
  double part = 0;                         ///< of the tornado
  std::vector<Sensitivity> tornado;        ///< empty when not asked for
};

/// Describes a combination: "batch.micro = 2, recompute = full".
[[nodiscard]] std::string choice_text(const WhatIf& whatif, const WhatIfRow& row);

/// Predicts every combination of values. Throws ConfigError when the scenario is wrong or all combinations are
/// impossible. The complaints are then those of at most ten rows, or once those that all rows share. Work that is
/// stopped gives the rows and properties that are done.
[[nodiscard]] WhatIf what_if(const WhatIfQuestion& question, const trust::Evidence& evidence, const Watch& watch = {});

}  // namespace foretoken::study
