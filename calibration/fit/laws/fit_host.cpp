// Takes the median of measured launches.
#include "calibration/fit/laws/fit_host.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "calibration/fit/numerics/residuals.h"
#include "calibration/fit/profiles/own_samples.h"

namespace foretoken::fit {

void fit_host(cost::Profile& profile, const measured::Samples& samples) {
  std::vector<measured::From<measured::HostSample>> launches;
  std::vector<double> seconds;
  for (const auto& sample : samples.host) {
    if (sample.what != "launch") continue;
    launches.push_back(sample);
    seconds.push_back(sample.time.median.value());
  }
  if (seconds.empty()) return;
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  profile.host = cost::HostLaw{.launch = Seconds(rounded(*middle)),
                               .evidence = evidence(source_of(samples, launches), seconds.size(), {})};
  profile.host->evidence.provenance = provenance_of(launches);
}

}  // namespace foretoken::fit
