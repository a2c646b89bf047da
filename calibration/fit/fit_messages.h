// Messages between two GPUs from one machine's own measurements.
#pragma once

#include "calibration/fit/fit_profile.h"

namespace foretoken::fit {

/// Replaces the path inside a node (NVLink, or PCIe when the request says so) and the path across nodes where
/// nccl-tests' sendrecv or foretoken-calibrate measured eight sizes and more, the largest at least 1 MiB. Across nodes
/// the NICs' rate must be known.
void fit_messages(cost::Profile& profile, const measured::Samples& samples, const FitRequest& request);

}  // namespace foretoken::fit
