// Finds the bias, the weights of steps and the widths of intervals by leaving cases out.
#pragma once

#include <string>
#include <vector>

#include "sim/trust/evidence.h"

namespace foretoken::trust {

/// A case with the text that names its copies.
struct Validated {
  Case row;
  std::string configuration;  ///< rows with the same text are copies of each other
};

/// A row as the other rows predict it.
struct Held {
  double bias = 0;   ///< log(headline / simulated)
  double error = 0;  ///< log(measured / headline)
  /// |error| over the growth of the interval. The row lies inside its interval when its width is at least the score.
  double score = 0;
};

struct Calibration {
  Evidence evidence;
  // In the order of the rows.
  std::vector<Held> without_publication;  ///< without its publication and without its copies
  std::vector<Held> without_copies;       ///< without its copies only
};

/// Chooses, in this order:
///
/// - the doubt of biases, by the squared error of rows whose publication is left out. No bias is assumed when it would
///   not help publications that took no part in the choice.
/// - weights of steps and growth, by the interval score (Gneiting and Raftery 2007, eq. 43) at the usual level, over
///   rows without their publication and without their copies.
/// - for each level the least width that covers it both ways, where a publication counts as at most twenty rows.
///   Without their publication, the width also covers the level when all rows count equally. It then covers at least
///   level - 0.15 of each publication of 15 rows or more.
/// - for each part of the rows, the error that they do not exceed, made without the row's publication and its copies. A
///   publication counts as at most twenty rows.
///
/// Deterministic. Precondition: at least one row.
[[nodiscard]] Calibration calibrate(const std::vector<Validated>& rows);

/// Returns the errors of all rows, each predicted by a calibration without its publication. The score of a row is
/// relative: 1 at the edge of its interval of the usual level.
[[nodiscard]] std::vector<Held> as_new_publications(const std::vector<Validated>& rows);

}  // namespace foretoken::trust
