// The errors of predictions of published measurements, and the places of these cases.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/trust/place.h"

namespace foretoken::trust {

inline constexpr std::array kLevels{0.5, 0.8, 0.9, 0.95};  ///< parts of all runs that an interval can be asked to hold
inline constexpr double kUsualLevel = 0.9;

/// The parts of all runs by whose errors a distribution is described.
inline constexpr std::array kParts{0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975};

/// A published step time and its simulation.
struct Case {
  Place place{};
  Word publication{};    ///< cases with the same text share machine, method and authors
  double log_ratio = 0;  ///< log(measured / simulated)
  double weight = 1;     ///< below one in a large set, so that the set does not outweigh the others
};

/// Half the width of an interval at a validated place.
struct Width {
  double level = 0;  ///< the part of all runs that lie inside: 0.9
  double half = 0;   ///< log(high / headline)
};

/// The error that a part of all runs stays below at a validated place.
struct Quantile {
  double part = 0;   ///< 0.9
  double error = 0;  ///< log(measured / headline)
};

/// Everything that a headline and its interval are computed from. calibrate() makes it, and validate/residuals.json
/// stores it.
struct Evidence {
  std::vector<Case> cases{};
  Weights weights{};     ///< of steps away from a case
  double growth = 0.25;  ///< growth of the squared width over a distance of 1
  /// Publications without bias that are added to those near a place; nothing: biases did not help, so none is assumed.
  std::optional<double> doubt{};
  std::vector<Width> widths{};        ///< by level, ascending
  std::vector<Quantile> quantiles{};  ///< by part, ascending; they have a sign, unlike widths
};

}  // namespace foretoken::trust
