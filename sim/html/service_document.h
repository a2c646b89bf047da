// Writes the report of a service as one HTML file.
#pragma once

#include <string>

#include "sim/serve/predict.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::html {

/// Everything that the report of a service shows.
struct ServiceReport {
  const serve::Service& service;
  const serve::Prediction& prediction;  ///< with its passes
  const study::ServiceTrust& trusted;
  std::string command, version, date;
};

/// Returns the whole file. The same data give the same bytes.
[[nodiscard]] std::string service_document(const ServiceReport& report);

}  // namespace foretoken::html
