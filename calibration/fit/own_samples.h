// Measurements of one machine in the forms that the fits take.
#pragma once

#include <map>
#include <vector>

#include "calibration/fit/samples.h"
#include "calibration/import/samples.h"
#include "sim/cost/evidence.h"

namespace foretoken::fit {

/// By precision; weight gradients only with fp32 accumulation where both were measured.
[[nodiscard]] std::map<Precision, std::vector<GemmSample>> gemm_samples(const measured::Samples& samples);

/// One table for every kind that the model knows, and for messages, and every group, out of place where both were
/// measured, ascending.
[[nodiscard]] std::vector<CollectiveTable> collective_tables(const measured::Samples& samples);

/// The origins of the samples of one kind, in a few words.
template <class T>
[[nodiscard]] std::string source_of(const measured::Samples& samples, const std::vector<measured::From<T>>& part) {
  std::vector<std::string> names;
  for (const auto& sample : part) {
    const measured::Provenance& origin = samples.origins.at(sample.origin);
    const std::string name = origin.gpu.empty() ? origin.source : origin.source + " on " + origin.gpu;
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  std::string text = names.empty() ? "" : names.front();
  if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
  return text;
}

/// Published tables state a time but no runs; what `foretoken-calibrate` measured counts them.
template <class T>
[[nodiscard]] cost::Provenance provenance_of(const std::vector<measured::From<T>>& part) {
  for (const auto& sample : part)
    if (sample.time.runs == 0) return cost::Provenance::kFitted;
  return cost::Provenance::kMeasured;
}

}  // namespace foretoken::fit
