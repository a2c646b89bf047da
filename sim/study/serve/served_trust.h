// This room says how far the prediction of a service may be trusted: its place among published services, intervals, and
// the nearest of them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "sim/serve/predict.h"
#include "sim/trust/served.h"

namespace foretoken::study {

/// Returns the place of a service among all services. A disaggregated one stands where its prefill pool does.
[[nodiscard]] trust::ServedPlace place_of(const serve::Service& service);

/// Returns a predicted quantity, in seconds or output tokens a second; nothing where the service has none.
[[nodiscard]] std::optional<double> predicted(const serve::Prediction& prediction, trust::Served quantity);

struct ServiceTrust {
  std::map<trust::Served, trust::ServedInterval> intervals{};  ///< of means; without quantities nobody has published
  const trust::ServedCase* nearest = nullptr;                  ///< of `evidence`; nullptr: none was published
  std::optional<std::string> why_no_interval{};                ///< nothing where there is one

  /// Returns the interval with the nearest cases. Precondition: there is one.
  [[nodiscard]] const trust::ServedInterval& best_founded() const;
};

/// Precondition: the service fits.
[[nodiscard]] ServiceTrust trust_of(const serve::Service& service, const serve::Prediction& prediction,
                                    const trust::ServedEvidence& evidence);

}  // namespace foretoken::study
