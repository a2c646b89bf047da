// Brings measurements of one machine into the forms that the fits take.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit/shipped/published.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// Returns the products by precision. Where weight gradients were measured with and without fp32 accumulation, only
/// those with it count. When a sample's time includes a quantisation, the time that `quantiser` predicts for it is
/// subtracted. When less than a third then remains, the sample is left out.
[[nodiscard]] std::map<Precision, std::vector<measured::GemmSample>> gemm_samples(const measured::Samples& samples,
                                                                                  const cost::Profile& quantiser);

/// Returns one table for every kind that the model knows, for messages, and for every group, ascending. Out-of-place
/// times count where both were measured.
[[nodiscard]] std::vector<CollectiveTable> collective_tables(const measured::Samples& samples);

/// Returns the origins of the samples of one kind, in a few words.
template <class T>
[[nodiscard]] std::string source_of(const measured::Samples& samples, const std::vector<measured::From<T>>& part) {
  std::set<std::string> names;
  for (const auto& sample : part) {
    const measured::Provenance& origin = samples.origins.at(sample.origin);
    names.insert(origin.gpu.empty() ? origin.source : origin.source + " on " + origin.gpu);
  }
  if (names.empty()) return "";
  return *names.begin() + (names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : "");
}

/// Returns kFitted for published tables, which state a time but no runs, and kMeasured for samples that count their
/// runs: those of `foretoken-calibrate` and logs of nccl-tests.
template <class T>
[[nodiscard]] cost::Provenance provenance_of(const std::vector<measured::From<T>>& part) {
  for (const auto& sample : part)
    if (sample.time.runs == 0) return cost::Provenance::kFitted;
  return cost::Provenance::kMeasured;
}

/// Returns the multiprocessors that the measuring program counted, or nothing when it did not, or files disagree.
[[nodiscard]] std::optional<int> counted_multiprocessors(const measured::Samples& samples);

/// Returns the time of a product in a run of seconds over its time in a short run, at least 1. The short time comes
/// from the same product among the samples, else from the law. Returns nothing without a long run of the precision.
[[nodiscard]] std::optional<double> sustained_factor(const measured::Samples& samples, Precision precision,
                                                     const cost::GemmLaw& law);

}  // namespace foretoken::fit
