// Takes parts of another GPU's profile where nothing was measured.
#pragma once

#include "calibration/fit/profiles/fit_profile.h"
#include "calibration/import/samples.h"

namespace foretoken::fit {

/// The rates of a GPU relative to the GPU of the base profile.
struct Ratios {
  double compute = 1, memory = 1;  ///< rates over the base's rates
  std::optional<int> multiprocessors{};
  std::string source = "taken over";  ///< "dense peak 1.2, memory bandwidth 1.5"
};

/// Returns the ratios of both datasheets, if they are known.
[[nodiscard]] std::optional<Ratios> datasheet_ratios(const FitRequest& request);

/// Returns the median of the measured products' speed over their speed on the base. Returns nothing when the base has
/// no precision of the products.
[[nodiscard]] std::optional<Ratios> measured_ratios(const cost::Profile& base,
                                                    const std::vector<measured::GemmSample>& products);

/// Returns the base under the GPU's name: unchanged when it is of the same GPU, else scaled and marked as such.
[[nodiscard]] cost::Profile profile_from_base(const FitRequest& request, const Ratios& ratios);

/// Marks laws of exchanges as those of another GPU, and brings their rates inside a node from its links to other ones.
void lend_exchanges(std::vector<cost::ExchangeLaw>& laws, const std::string& from, BytesPerSecond links,
                    BytesPerSecond links_before);

/// Returns true when the 16-bit products of a profile are another GPU's. Such a profile lends worse than one that was
/// fitted on its own GPU: its parts would be scaled twice.
[[nodiscard]] bool has_scaled_products(const cost::Profile& profile);

/// Returns the start of a precision's fit, or nothing when neither profile nor datasheet knows a rate.
[[nodiscard]] std::optional<cost::TileWaveLaw> start_of(const FitRequest& request, const Ratios& ratios,
                                                        Precision precision);

}  // namespace foretoken::fit
