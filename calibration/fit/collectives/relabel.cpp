// Scales bandwidths in proportion to the link rate, and leaves latencies unchanged.
#include "calibration/fit/collectives/relabel.h"

#include "calibration/fit/numerics/residuals.h"

namespace foretoken::fit {

cost::InsideNodeLaw relabelled(cost::InsideNodeLaw law, double reference, const cost::Evidence& evidence) {
  const double factor = reference / (law.reference.value() / 1e9);
  law.reference = gigabytes_per_second(reference);
  for (cost::CollectiveCurve& curve : law.curves) {
    curve.bandwidth = BytesPerSecond(rounded(factor * curve.bandwidth.value()));
    curve.plateau = BytesPerSecond(rounded(factor * curve.plateau.value()));
    curve.evidence = evidence;
  }
  return law;
}

}  // namespace foretoken::fit
