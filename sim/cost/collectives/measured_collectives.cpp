// Puts measured curves in the place of a profile's curves.
#include "sim/cost/collectives/measured_collectives.h"

#include <algorithm>

namespace foretoken::cost {
namespace {

bool same_place(const CollectiveCurve& a, const CollectiveCurve& b) { return a.kind == b.kind && a.ranks == b.ranks; }
bool same_place(const AcrossNodesCurve& a, const AcrossNodesCurve& b) { return a.kind == b.kind; }
bool before(const CollectiveCurve& a, const CollectiveCurve& b) {
  return a.kind != b.kind ? a.kind < b.kind : a.ranks < b.ranks;
}
bool before(const AcrossNodesCurve& a, const AcrossNodesCurve& b) { return a.kind < b.kind; }

template <class Curve>
void put(std::vector<Curve>& curves, const Curve& curve) {
  const auto at = std::lower_bound(curves.begin(), curves.end(), curve,
                                   [](const Curve& a, const Curve& b) { return before(a, b); });
  if (at == curves.end() || !same_place(*at, curve))
    curves.insert(at, curve);
  else if (at->evidence.provenance != Provenance::kMeasured)
    *at = curve;
}

void put_inside(InsideNodeLaw& law, const std::optional<InsideNodeLaw>& measured) {
  if (!measured) return;
  const double scale = law.reference / measured->reference;
  for (CollectiveCurve curve : measured->curves) {
    curve.bandwidth = scale * curve.bandwidth;
    curve.plateau = scale * curve.plateau;
    put(law.curves, curve);
  }
}

}  // namespace

Profile with_measured(Profile profile, const MeasuredCollectives& measured) {
  put_inside(profile.nvlink, measured.nvlink);
  put_inside(profile.pcie, measured.pcie);
  if (measured.network) {
    profile.network.lone_rank_factor = measured.network->lone_rank_factor;
    for (const AcrossNodesCurve& curve : measured.network->curves) put(profile.network.curves, curve);
  }
  const auto put_path = [&](PointToPointLaw::Path& path, const std::optional<PointToPointLaw::Path>& own) {
    if (!own || path.evidence.provenance == Provenance::kMeasured) return;
    path = *own;
    path.evidence = {.provenance = Provenance::kFitted, .source = measured.source};
  };
  put_path(profile.point_to_point.nvlink, measured.nvlink_message);
  put_path(profile.point_to_point.network, measured.network_message);
  return profile;
}

}  // namespace foretoken::cost
