// Published latencies and throughputs of services, validate/served/SET.json, beside their predictions.
#pragma once

#include <string>
#include <vector>

#include "sim/io/json/data_path.h"
#include "sim/trust/served.h"

namespace foretoken::validate {

inline constexpr io::DataKind kServedSets{"set of published services", "validate/served"};

struct ServedRow {
  trust::ServedCase value;
  bool fitted = false;  ///< a number of its engine was fitted on rows of this group
};

/// Predicts every row of every set, in order of their names. Services that are predicted not to fit have no row. Throws
/// ConfigError for a set that cannot be read.
[[nodiscard]] std::vector<ServedRow> predict_served_sets();

/// Returns validate/serving_residuals.json: the widths of intervals, and every case.
[[nodiscard]] std::string served_residuals_json(const std::vector<ServedRow>& rows);

}  // namespace foretoken::validate
