// Finds the width that intervals need, by leaving cases out.
#pragma once

#include <string>
#include <vector>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// A case with the two texts that name its dependent cases.
struct Validated {
  Case row;
  std::string publication;    ///< rows with the same text share machine, method and authors
  std::string configuration;  ///< rows with the same text are copies of each other
};

struct Calibration {
  Evidence evidence;
  // Scores of the rows, in the order of the rows. A score is the distance of the residual from the middle of its
  // interval, in local spreads. It is zero between the middle and the prediction. The row is covered when
  // Width::spreads is at least its score.
  std::vector<double> without_publication;  ///< without its publication and without its copies
  std::vector<double> without_copies;       ///< without its copies only
};

/// Chooses `widening` so that one width covers 90 % of the rows both ways, as nearly as it can. Chooses for each level
/// the least width that covers it both ways. Deterministic. Precondition: at least one row.
[[nodiscard]] Calibration calibrate(const std::vector<Validated>& rows);

/// Returns the part of all rows that is covered when neither widening nor widths use their publication.
[[nodiscard]] double coverage_of_new_publications(const std::vector<Validated>& rows, double level);

}  // namespace foretoken::trust
