// What a profile's constants rest on: measurements of this GPU, public tables, another GPU, or an assumption.
#pragma once

#include <cstdint>
#include <string>

namespace foretoken::cost {

/// How a part of a profile came about, from the strongest to the weakest.
enum class Provenance : std::uint8_t {
  kMeasured,  ///< measured on this very GPU by `foretoken-calibrate`
  kFitted,    ///< fitted on tables that others published for this kind of GPU
  kScaled,    ///< another GPU's constants, by datasheet ratios (`Evidence::scaled_from`)
  kAssumed    ///< set from a datasheet, a rule or by analogy; nothing measured it
};

/// What a law's constants rest on. Errors are |predicted / measured - 1| on samples that the fit never saw.
struct Evidence {
  Provenance provenance = Provenance::kAssumed;
  std::string scaled_from{};  ///< the GPU, when `provenance` is kScaled
  std::string source{};       ///< the measurements, or "scaled from NAME by ..." when this GPU was not measured
  int samples = 0;            ///< measurements that entered the fit
  int held_out = 0;           ///< measurements kept apart; 0: nothing was checked, and the errors below mean nothing
  double median_error = 0, p90_error = 0, worst_error = 0;
};

}  // namespace foretoken::cost
