// The answer of `foretoken serve --search`: text, JSON, and a chart of its Pareto front.
#pragma once

#include <string>
#include <vector>

#include "sim/report/text/layout.h"
#include "sim/study/serve/search_service.h"
#include "sim/study/serve/served_trust.h"

namespace foretoken::tools {

/// A finished search with its question.
struct ServiceSearchAnswer {
  const serve::Service& service;
  const study::ServiceSearch& search;
  const trust::ServedEvidence& evidence;
  study::ServiceGoal goal;
  std::size_t top = 10;
  std::vector<std::string> question;  ///< words of a command
  std::vector<std::string> sets;      ///< overrides of the question
  std::vector<std::string> varied;    ///< assumptions about what the search varies
};

[[nodiscard]] std::string service_search_text(const ServiceSearchAnswer& answer, const report::Paint& paint);
[[nodiscard]] std::string service_search_json(const ServiceSearchAnswer& answer);

/// Draws throughput a GPU against TPOT, or against the latency of static batches, as an SVG file.
[[nodiscard]] std::string service_search_svg(const ServiceSearchAnswer& answer);

/// Returns the service of a configuration.
[[nodiscard]] serve::Service service_of(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found);

/// Returns how far a configuration may be trusted.
[[nodiscard]] study::ServiceTrust trust_of(const ServiceSearchAnswer& answer, const study::ServedConfiguration& found);

/// Returns what is assumed of the recommended configuration, or of the question when nothing is found.
[[nodiscard]] std::vector<std::string> assumptions_of(const ServiceSearchAnswer& answer);

/// Returns the command that predicts a configuration again, unit by unit: "foretoken serve NAME", "--set gpus=8".
[[nodiscard]] std::vector<std::string> serve_command_of(const ServiceSearchAnswer& answer,
                                                        const study::ServedConfiguration& found);

}  // namespace foretoken::tools
