// Fits a profile on a user's own measurements, as `foretoken calibrate fit` does.
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
  bool lines = true;         ///< corrects products of full tables by their waves, too
};

/// Fits the profile. Each part is fitted when there are enough samples (docs/modeller/calibration.md says how many).
/// Otherwise `base` lends it, scaled by datasheet ratios or, without datasheets, by the speed of the products. A lent
/// part is marked as scaled from base's GPU unless the GPUs are the same. The same samples in any order give the same
/// profile, bit for bit. Throws ConfigError when products ran faster than the datasheet's peak.
[[nodiscard]] cost::Profile fit_profile(measured::Samples samples, const FitRequest& request);

/// Returns true when any part of `profile` was fitted on samples.
[[nodiscard]] bool has_fitted_part(const cost::Profile& profile, const cost::Profile& base);

/// A profile that could lend its parts, with its GPU's datasheet.
struct Candidate {
  cost::Profile profile;
  std::optional<net::Gpu> datasheet{};
};

/// Returns the index of the candidate that lends best. The same GPU comes first. With a datasheet, the nearest peak of
/// the same architecture follows. Otherwise it is the one whose products, scaled by one factor, are nearest to the
/// measured ones. Candidates whose own products were fitted come before candidates that are scaled. Returns nothing
/// without a datasheet and without products. Precondition: at least one candidate.
[[nodiscard]] std::optional<std::size_t> nearest(const std::vector<Candidate>& candidates, const std::string& gpu,
                                                 const std::optional<net::Gpu>& datasheet,
                                                 const measured::Samples& samples);

}  // namespace foretoken::fit
