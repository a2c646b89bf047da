// Measurements of one machine in the forms that the fits take.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "calibration/fit/recipes/samples.h"
#include "calibration/import/samples.h"
#include "sim/cost/profile.h"

namespace foretoken::fit {

/// By precision; weight gradients only with fp32 accumulation where both were measured. A quantisation that a sample's
/// time holds is taken off as `quantiser` has it; where less than a third is left, so is the sample.
[[nodiscard]] std::map<Precision, std::vector<GemmSample>> gemm_samples(const measured::Samples& samples,
                                                                        const cost::Profile& quantiser);

/// One table for every kind that the model knows, and for messages, and every group, out of place where both were
/// measured, ascending.
[[nodiscard]] std::vector<CollectiveTable> collective_tables(const measured::Samples& samples);

/// The origins of the samples of one kind, in a few words.
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

/// Published tables state a time but no runs; what `foretoken-calibrate` measured counts them.
template <class T>
[[nodiscard]] cost::Provenance provenance_of(const std::vector<measured::From<T>>& part) {
  for (const auto& sample : part)
    if (sample.time.runs == 0) return cost::Provenance::kFitted;
  return cost::Provenance::kMeasured;
}

/// Multiprocessors as the measuring program counted them; nothing when it did not, or files disagree.
[[nodiscard]] std::optional<int> counted_multiprocessors(const measured::Samples& samples);

/// How much longer a product takes in a run of seconds than measured briefly, at least 1: the brief time is that of the
/// same product among the samples, else the law's. Nothing without a long run of the precision.
[[nodiscard]] std::optional<double> sustained_factor(const measured::Samples& samples, Precision precision,
                                                     const cost::GemmLaw& law);

}  // namespace foretoken::fit
