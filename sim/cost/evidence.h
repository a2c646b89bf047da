// The evidence behind a profile's constants: measurements of this GPU, public tables, another GPU, or an assumption.
#pragma once

#include <cstdint>
#include <string>

namespace foretoken::cost {

/// The origin of a part of a profile, from the strongest to the weakest.
enum class Provenance : std::uint8_t {
  kMeasured,  ///< measured on this very machine by `foretoken-calibrate` or nccl-tests
  kFitted,    ///< fitted on tables that others published for this kind of GPU
  kScaled,    ///< another GPU's constants times datasheet ratios (`Evidence::scaled_from`)
  kAssumed    ///< set from a datasheet, a rule or by analogy, without a measurement
};

/// The evidence behind a law's constants. Errors are |predicted / measured - 1| on samples left out of the fit.
struct Evidence {
  Provenance provenance = Provenance::kAssumed;
  std::string scaled_from{};  ///< the GPU, when `provenance` is kScaled
  std::string source{};       ///< the measurements, or "scaled from NAME by ..." when this GPU was not measured
  int samples = 0;            ///< measurements that entered the fit
  int held_out = 0;           ///< measurements left out of the fit; 0: the errors below mean nothing
  double median_error = 0, p90_error = 0, worst_error = 0;
};

}  // namespace foretoken::cost
