// Which profile is fitted on which tables, and which is scaled from another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/recipes/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Everything measured that the fits use.
struct Measurements {
  std::map<std::string, std::vector<GemmSample>> gemm;  ///< by GPU name
  std::vector<OperatorSample> operators;
  std::vector<AttentionSeries> attention;
  std::vector<CollectiveTable> collectives;
};

/// The shipped profiles, sorted by name.
[[nodiscard]] std::vector<cost::Profile> build_profiles(const Measurements& measurements);

}  // namespace foretoken::fit
