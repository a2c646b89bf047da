// The errors of predictions of published measurements, and the places of these cases.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace foretoken::trust {

inline constexpr std::array kLevels{0.5, 0.8, 0.9, 0.95};  ///< parts of all runs that an interval can be asked to hold
inline constexpr double kUsualLevel = 0.9;

/// The properties of a run that decide how much it says about another.
struct Place {
  std::string gpu;      ///< "a100-sxm4-80gb"; the text before the first "-" is its kind
  std::string runtime;  ///< "megatron-2022"
  int bits = 16;        ///< bits of an element in the matrix products
  double gpus = 1;
  double parameters = 1;

  [[nodiscard]] std::string_view gpu_kind() const { return std::string_view(gpu).substr(0, gpu.find('-')); }
};

/// A published step time and its prediction.
struct Case {
  Place place;
  double log_ratio = 0;  ///< log(measured / predicted)
  double weight = 1;     ///< below one in a large set, so that the set does not outweigh the others
};

/// Half the width of an interval, in local spreads.
struct Width {
  double level = 0;  ///< the part of all runs that lie inside: 0.9
  double spreads = 0;
};

/// Everything that an interval is computed from. calibrate() makes it, and validate/residuals.json stores it.
struct Evidence {
  std::vector<Case> cases;
  double widening = 0;        ///< spread of log(measured / predicted) that another runtime or GPU adds
  std::vector<Width> widths;  ///< by level, ascending
};

}  // namespace foretoken::trust
