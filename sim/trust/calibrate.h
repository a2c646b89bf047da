// How wide intervals must be: found by leaving cases out.
#pragma once

#include <string>
#include <vector>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// A case with what tells which others are not independent of it.
struct Validated {
  Case row;
  std::string publication;    ///< rows of one publication share machine, method and authors
  std::string configuration;  ///< rows that say the same here are copies of each other
};

struct Calibration {
  Evidence evidence;
  // A row's score is the distance of its residual from the middle of its interval, in local spreads, zero between the
  // middle and the prediction; the row is covered when Width::spreads is at least its score. In the order of the rows.
  std::vector<double> apart;   ///< without its publication and without its copies
  std::vector<double> within;  ///< without its copies only
};

/// Chooses `widening` so that one width covers 90 % of the rows both ways (as nearly as it can), and for each level the
/// least width that covers it both ways. Deterministic. Precondition: at least one row.
[[nodiscard]] Calibration calibrate(const std::vector<Validated>& rows);

/// The part of all rows covered when nothing at all, widening and widths included, was learnt from their publication.
[[nodiscard]] double coverage_of_new_publications(const std::vector<Validated>& rows, double level);

}  // namespace foretoken::trust
