// What another GPU's profile lends where nothing was measured.
#pragma once

#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/import/samples.h"

namespace foretoken::fit {

/// A GPU beside the one that lends.
struct Ratios {
  double compute = 1, memory = 1;  ///< rates over those of the lender
  std::optional<int> multiprocessors{};
  std::string source = "taken over";  ///< "dense peak 1.2, memory bandwidth 1.5"
};

/// From both datasheets, if they are known.
[[nodiscard]] std::optional<Ratios> datasheet_ratios(const FitRequest& request);

/// From measured products: how much faster than on the lender, at the median. Nothing without a precision in common.
[[nodiscard]] std::optional<Ratios> measured_ratios(const cost::Profile& base,
                                                    const std::vector<measured::GemmSample>& products);

/// The base under the GPU's name: unchanged when it is of the same GPU, else scaled and marked as such.
[[nodiscard]] cost::Profile lent(const FitRequest& request, const Ratios& ratios);

/// Where the fit of a precision starts; nothing when neither profile nor datasheet knows a rate.
[[nodiscard]] std::optional<cost::TileWaveLaw> start_of(const FitRequest& request, const Ratios& ratios,
                                                        Precision precision);

}  // namespace foretoken::fit
