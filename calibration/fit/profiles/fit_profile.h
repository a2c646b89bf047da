// A profile from one's own measurements: what `foretoken calibrate fit` calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"
#include "sim/net/cluster.h"

namespace foretoken::fit {

struct FitRequest {
  std::string gpu;                      ///< name of the profile and of its GPU
  std::optional<net::Gpu> datasheet{};  ///< of that GPU, when there is one
  cost::Profile base;                   ///< lends every part that the samples do not cover
  std::optional<net::Gpu> base_datasheet{};
  bool over_pcie = false;    ///< the collectives inside a node ran over PCIe, not NVLink
  double link_gb_per_s = 0;  ///< rate of one GPU's links in one direction; 0: as `base` has it
  double nic_gb_per_s = 0;   ///< line rate of one node's NICs; 0: nothing across nodes is fitted
  int nics = 8;              ///< of one node
};

/// The profile. Each part is fitted when there are samples enough (docs/modeller/calibration.md says how many), else
/// lent by `base`, scaled by datasheet ratios or, without datasheets, by the speed of the products, and marked as
/// scaled from its GPU unless that is the same. The same samples in any order give the same profile, bit for bit.
/// Throws ConfigError when products ran faster than the datasheet's peak.
[[nodiscard]] cost::Profile fit_profile(measured::Samples samples, const FitRequest& request);

/// Whether any part of `profile` was fitted on samples rather than lent by `base`.
[[nodiscard]] bool has_fitted_part(const cost::Profile& profile, const cost::Profile& base);

/// A profile that could lend, with its GPU's datasheet.
struct Candidate {
  cost::Profile profile;
  std::optional<net::Gpu> datasheet{};
};

/// Which of the `candidates` lends best: that of the same GPU; with a datasheet, of the same architecture the nearest
/// peak; else the one whose products, made faster or slower by one factor, are nearest to the measured ones. Nothing
/// without a datasheet and without products. Precondition: at least one candidate.
[[nodiscard]] std::optional<std::size_t> nearest(const std::vector<Candidate>& candidates, const std::string& gpu,
                                                 const std::optional<net::Gpu>& datasheet,
                                                 const measured::Samples& samples);

}  // namespace foretoken::fit
