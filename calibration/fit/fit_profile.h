// A profile from one's own measurements: what `foretoken calibrate fit` calls.
#pragma once

#include <string>

#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

struct FitRequest {
  std::string gpu;           ///< name of the profile and of its GPU
  cost::Profile base;        ///< lends every part that the samples do not cover; a GPU of the same architecture
  bool over_pcie = false;    ///< the collectives inside a node ran over PCIe, not NVLink
  double link_gb_per_s = 0;  ///< rate of one GPU's links in one direction; 0: as `base` has it
  double nic_gb_per_s = 0;   ///< line rate of one node's NICs; 0: collectives across nodes are not fitted
};

/// The profile. Each part is fitted when there are samples enough (notes say how many are wanted), else lent by `base`
/// and marked as scaled from its GPU, unless that is the same. The same samples give the same profile, bit for bit.
[[nodiscard]] cost::Profile fit_profile(const measured::Samples& samples, const FitRequest& request);

}  // namespace foretoken::fit
